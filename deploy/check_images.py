"""Carry out each Dockerfile's own install and start steps in clean environments, where no Docker engine is at hand.

    python deploy/check_images.py api worker jobs [--bundles DIR] [--build-arg NAME=VALUE] [--report FILE]

Every RUN of the stage that makes `/opt/venv` runs as written, in a fresh folder that stands for the image's root; the
image's own Python is a fresh virtual environment. Then the image's CMD starts with the image's ENV, its HEALTHCHECK
must succeed and SIGTERM must end it with exit code 0; the image of jobs builds, trains, verifies and publishes. Needs
`dockerfile-parse`, and `redis-server` on PATH.
"""

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from recipe import Step, command_of, environment, last, lineage, read_stages, stage_named

ROOT = Path(__file__).parent.parent
IMAGES = ("api", "worker", "jobs")
FOLDERS = ("/opt/venv", "/src", "/wheels", "/var/lib/shortlist")
START_S = 400


class Image:
    """A folder that stands for an image's root."""

    def __init__(self, name: str, build_args: dict[str, str], root: Path) -> None:
        self.name, self.root = name, root
        self._stages = read_stages(ROOT / "deploy" / "images" / f"{name}.Dockerfile", build_args)
        self.final = self._stages[-1].steps
        self.python = root / "python"

    def here(self, text: str) -> str:
        """The image's paths as they lie on this machine."""
        for folder in FOLDERS:
            text = text.replace(folder, f"{self.root}{folder}")
        return text

    def build(self) -> None:
        """Run the steps of the stage that makes the environment."""
        subprocess.run([sys.executable, "-m", "venv", self.python], check=True)
        (self.root / "src").mkdir(parents=True)
        for step in lineage(self._stages, stage_named(self._stages, "environment")):
            if step.kind == "RUN":
                self._run(step)
            elif step.kind == "COPY":
                self._copy(step)

    def _run(self, step: Step) -> None:
        variables = os.environ | {"PATH": f"{self.python}/bin:{os.environ['PATH']}"}
        subprocess.run(["sh", "-euc", self.here(step.value)], check=True, cwd=self.root / "src", env=variables)

    def _copy(self, step: Step) -> None:
        *sources, target = step.value.split()
        for source in sources:
            into = Path(self.here(target)) / (Path(source).name if target.endswith("/") else "")
            into.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, self.here(target), ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copyfile(ROOT / source, into)

    def measure(self) -> dict[str, object]:
        """Installed bytes, and the greatest packages of them."""
        site = next((self.root / "opt/venv/lib").glob("python3*/site-packages"))
        sizes = {entry.name: _bytes(entry) for entry in site.iterdir()}
        greatest = dict(sorted(sizes.items(), key=lambda pair: -pair[1])[:8])
        return {"installed_bytes": _bytes(self.root / "opt/venv"), "greatest": greatest}

    def variables(self, **overrides: str) -> dict[str, str]:
        """The image's environment, with addresses of this machine."""
        image = {name: self.here(value) for name, value in environment(self.final).items()}
        image["PATH"] = f"{self.root}/opt/venv/bin:/usr/bin:/bin"
        return image | {"HOME": "/nonexistent"} | overrides


def _bytes(path: Path) -> int:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.lstat().st_size for file in files)


def free_port() -> int:
    """A TCP port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    """A Redis server of its own. Its address."""
    port = free_port()
    folder.mkdir(parents=True, exist_ok=True)
    command = ["redis-server", "--port", str(port), "--dir", str(folder), "--save", "", "--bind", "127.0.0.1"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.terminate()
        server.wait(10)


def check_start(image: Image, bundles: Path | None, redis_url: str) -> float:
    """Start what CMD says until HEALTHCHECK succeeds, then end it. Seconds from start to health."""
    port = str(free_port())
    state = Path(image.here("/var/lib/shortlist"))
    state.mkdir(parents=True, exist_ok=True)
    if bundles is not None:
        shutil.copytree(bundles, state / "bundles", dirs_exist_ok=True)
    names = {"SHORTLIST_PORT": port, "SHORTLIST_GR_HEALTH_PORT": port, "SHORTLIST_HOST": "127.0.0.1"}
    variables = image.variables(**names, SHORTLIST_REDIS_URL=redis_url)
    started = time.monotonic()
    process = subprocess.Popen(command_of(last(image.final, "CMD")), cwd=state, env=variables)
    try:
        _wait_healthy(command_of(last(image.final, "HEALTHCHECK")), process, variables)
        took_s = time.monotonic() - started
    finally:
        process.send_signal(signal.SIGTERM)
        code = process.wait(60)
    if code:
        raise SystemExit(f"{image.name}: exit code {code} after SIGTERM, expected 0")
    return round(took_s, 2)


def check_jobs(image: Image, folder: Path) -> dict[str, float]:
    """Carry out the nightly job's steps over a small made-up shop. Seconds of each."""
    items, interactions = folder / "items.csv", folder / "interactions.csv"
    products = (f"i{n},Product {n},Brand {n % 5},{n}" for n in range(60))
    items.write_text("\n".join(["item_id,title,brand,price", *products]))
    walks = ((user, (user * 7 + step * (1 + user % 3)) % 60, step) for user in range(80) for step in range(8))
    views = (f"u{user},i{item},{step}" for user, item, step in walks)
    interactions.write_text("\n".join(["user_id,item_id,timestamp", *views]))
    bundles = ["--bundles", image.here("/var/lib/shortlist/bundles")]
    steps = {
        "build": ["build", "--interactions", str(interactions), "--items", str(items), *bundles],
        "train": ["train", "--interactions", str(interactions), *bundles, "--epochs", "1"],
        "verify": ["bundles", "verify", *bundles],
        "publish": ["bundles", "push", *bundles, "--to", (folder / "remote").as_uri()],
    }
    state, took_s = Path(image.here("/var/lib/shortlist")), {}
    state.mkdir(parents=True, exist_ok=True)
    for name, arguments in steps.items():
        started = time.monotonic()
        command = [*command_of(last(image.final, "ENTRYPOINT")), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=state, env=image.variables())
        took_s[name] = round(time.monotonic() - started, 2)
    return took_s


def _wait_healthy(check: list[str], process: subprocess.Popen[bytes], variables: dict[str, str]) -> None:
    deadline = time.monotonic() + START_S
    while process.poll() is None and time.monotonic() < deadline:
        if subprocess.run(check, env=variables, stderr=subprocess.DEVNULL, check=False).returncode == 0:
            return
        time.sleep(0.1)
    raise SystemExit(f"not healthy: exit code {process.poll()}")


def check(name: str, build_args: dict[str, str], bundles: Path | None, folder: Path) -> dict[str, object]:
    """Build and start one image's contents. What was measured."""
    image = Image(name, build_args, folder / name)
    image.build()
    python = folder / name / "opt/venv/bin/python"
    found = subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode == 0
    if found == (name == "api"):
        raise SystemExit(f"{name}: torch {'is' if found else 'is not'} installed")
    subprocess.run([python, "-m", "pip", "check"], check=True)
    facts = {"image": name, **image.measure()}
    if name == "jobs":
        return facts | {"job_s": check_jobs(image, folder)}
    with redis_server(folder / "redis") as redis_url:
        return facts | {"healthy_after_s": check_start(image, bundles, redis_url)}


def main() -> None:
    """Check the images that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("images", nargs="+", choices=IMAGES)
    parser.add_argument("--bundles", type=Path, help="A folder of bundles to serve.")
    parser.add_argument("--build-arg", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--report", type=Path, help="Where the figures go, as JSON.")
    arguments = parser.parse_args()
    build_args = dict(pair.split("=", 1) for pair in arguments.build_arg)
    with tempfile.TemporaryDirectory(prefix="shortlist-images-") as folder:
        facts = [check(name, build_args, arguments.bundles, Path(folder)) for name in arguments.images]
    text = json.dumps(facts, indent=2)
    if arguments.report is not None:
        arguments.report.write_text(f"{text}\n")
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    main()
