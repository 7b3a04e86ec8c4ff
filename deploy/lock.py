"""Write `deploy/locks/*.txt`: every package of every image, pinned, with the hashes of its files.

    pip install uv && python deploy/lock.py [--torch-wheel FILE]

Versions are the newest that the project admits. One resolution over all extras comes first, so that the images agree
with each other. The locks name no index: they hold for PyPI and for any mirror of it. PyTorch's CPU build is not on
PyPI; `torch-cpu.txt` pins the file of PyTorch's own CPU index, whose hash is read from a wheel given with
`--torch-wheel`.
"""

import argparse
import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOCKS = ROOT / "deploy" / "locks"
PLATFORM = ("--python-version", "3.11", "--python-platform", "x86_64-manylinux_2_28")
EXTRAS = ("build", "train", "s3", "gcs")
WORKER = "torch==2.13.*\n"
BUILD = "setuptools>=77\nwheel\n"
HEADER = "# Written by deploy/lock.py; do not edit.\n"


def compile_lock(sources: list[str], *flags: str, hashes: bool = True, text: str | None = None) -> str:
    """What uv resolves, as the text of a requirements file."""
    command = [sys.executable, "-m", "uv", "pip", "compile", *sources, *PLATFORM, *flags, "--quiet", "--no-header"]
    command += ["--no-annotate", *(["--generate-hashes"] if hashes else [])]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT, input=text).stdout


def extras(*names: str) -> list[str]:
    """Flags that choose extras of this project."""
    return [part for name in names for part in ("--extra", name)]


def pins(lock: str) -> list[str]:
    """Entries of a lock, each with its hashes."""
    entries: list[str] = []
    for line in lock.splitlines(keepends=True):
        if line[:1].isspace() and entries:
            entries[-1] += line
        elif line.strip() and not line.startswith("#"):
            entries.append(line)
    return entries


def without(lock: str, other: str) -> str:
    """Entries of a lock whose packages another one does not hold."""
    held = {entry.partition("==")[0] for entry in pins(other)}
    return "".join(entry for entry in pins(lock) if entry.partition("==")[0] not in held)


def torch_cpu(full: str, wheel: Path | None) -> str:
    """The pin of PyTorch's CPU build; without a wheel the hash that is there stays."""
    target = LOCKS / "torch-cpu.txt"
    version = next(entry for entry in pins(full) if entry.startswith("torch==")).split()[0]
    if wheel is None:
        return target.read_text().removeprefix(HEADER)
    return f"{version} \\\n    --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"


def locks(wheel: Path | None) -> dict[str, str]:
    """Text of every lock by name."""
    full = compile_lock(["pyproject.toml"], *extras(*EXTRAS))
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as constraints:
        constraints.write("".join(f"{entry.split()[0]}\n" for entry in pins(full)))
        constraints.flush()
        agree = ("--constraint", constraints.name)
        api = compile_lock(["pyproject.toml"], *agree)
        torch = compile_lock(["-"], *agree, text=WORKER)
        cpu_only = compile_lock(["-"], *agree, text="".join(_plain_torch_needs(torch)))
        jobs = compile_lock(["pyproject.toml"], *agree, *extras("build", "train"))
        stores = {name: compile_lock(["pyproject.toml"], *agree, *extras(name)) for name in ("s3", "gcs")}
    return {
        "api": api,
        "worker": without(cpu_only, api),
        "jobs": without(without(jobs, api), "".join(_only_cuda(torch))),
        "torch-cpu": torch_cpu(full, wheel),
        "torch-cuda": "".join(_only_cuda(torch)),
        **{name: without(lock, api) for name, lock in stores.items()},
        "build": compile_lock(["-"], text=BUILD),
    }


def _is_cuda(entry: str) -> bool:
    return entry.startswith(("torch==", "triton==", "nvidia-", "cuda-"))


def _only_cuda(lock: str) -> list[str]:
    return [entry for entry in pins(lock) if _is_cuda(entry)]


def _plain_torch_needs(lock: str) -> list[str]:
    return [f"{entry.split()[0]}\n" for entry in pins(lock) if not _is_cuda(entry)]


def main() -> None:
    """Write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch-wheel", type=Path, help="PyTorch's CPU wheel, for its hash.")
    arguments = parser.parse_args()
    LOCKS.mkdir(exist_ok=True)
    for name, text in locks(arguments.torch_wheel).items():
        (LOCKS / f"{name}.txt").write_text(HEADER + text)


if __name__ == "__main__":
    main()
