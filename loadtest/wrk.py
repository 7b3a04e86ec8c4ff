"""wrk, the generator that a Python service cannot outrun, and what it found."""

import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from loadtest.machine import cpu_s, on_core

SCRIPT = Path(__file__).with_name("wrk.lua")
SATURATED = 0.9
"""Share of a core; a generator beyond it measures itself."""


@dataclass(frozen=True)
class Load:
    """How wrk asks.

    Attributes:
        connections: open at once.
        seconds: length of one measurement.
        pause_ms: mean pause between an answer and the next request of its connection (exponential); 0 = none.
        core: where wrk runs.
    """

    connections: int = 16
    seconds: float = 3
    pause_ms: float = 0
    core: int | None = 1


@dataclass(frozen=True)
class Figures:
    """What one measurement found.

    Attributes:
        rate: requests a second.
        p50_ms, p99_ms, worst_ms: latency.
        cpu_us: processor time of the server a request, in microseconds; other programs disturb it less than the rate.
        failed: answers that were not 2xx, and connections that broke.
        generator: share of a core that wrk used.
    """

    rate: float
    p50_ms: float
    p99_ms: float
    worst_ms: float
    cpu_us: float
    failed: int
    generator: float

    @property
    def saturated(self) -> bool:
        """Whether the generator, not the service, was the limit."""
        return self.generator > SATURATED

    def plain(self) -> dict[str, float]:
        """For a table."""
        return {name: round(value, 3) for name, value in asdict(self).items()}


def has_wrk() -> bool:
    """Whether wrk is installed."""
    return shutil.which("wrk") is not None


def require_wrk() -> None:
    """Say how to get it.

    Raises:
        SystemExit: it is not installed.
    """
    if not has_wrk():
        raise SystemExit("wrk is not installed: apt-get install wrk, or brew install wrk")


def _ms(text: str) -> float:
    """wrk's way to write a time."""
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s|m)", text).groups()  # type: ignore[union-attr]
    return float(number) * {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4}[unit]


def _failures(output: str) -> int:
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
    broken = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", output)
    return (int(bad[1]) if bad else 0) + (sum(map(int, broken.groups())) if broken else 0)


def _number(pattern: str, output: str) -> str:
    found = re.search(pattern, output)
    if found is None:
        raise SystemExit(f"wrk said what was not expected:\n{output}")
    return found[1]


def _run(command: Sequence[str], core: int | None) -> tuple[str, float]:
    """Its output, and the share of a core that it used."""
    with on_core(core), tempfile.TemporaryFile("w+") as output:
        started = time.perf_counter()
        process = psutil.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        used = 0.0
        while process.poll() is None:
            try:
                times = process.cpu_times()
                used = times.user + times.system
            except psutil.NoSuchProcess:
                break
            time.sleep(0.02)
        code, took = process.wait(), time.perf_counter() - started
        output.seek(0)
        text = output.read()
    if code:
        raise SystemExit(f"wrk failed:\n{text}")
    return text, used / took


def ask(url: str, bodies: Path, load: Load, pid: int) -> Figures:
    """One run of wrk.

    Args:
        url: what to ask.
        bodies: a file of JSON bodies, one a line, which are sent in turn.
        load: how.
        pid: process of the server, or the parent of its processes.
    """
    seconds = max(1, round(load.seconds))
    command = ["wrk", "-t1", f"-c{load.connections}", f"-d{seconds}s", "--latency", "--timeout", "10s"]
    command += ["-s", str(SCRIPT), url, "--", str(bodies), str(load.pause_ms)]
    before = cpu_s(pid)
    output, generator = _run(command, load.core)
    requests = int(_number(r"(\d+) requests in", output))
    return Figures(
        rate=float(_number(r"Requests/sec:\s+([\d.]+)", output)),
        p50_ms=_ms(_number(r"(?m)^\s+50%\s+(\S+)", output)),
        p99_ms=_ms(_number(r"(?m)^\s+99%\s+(\S+)", output)),
        worst_ms=_ms(_number(r"(?m)^\s+Latency\s+\S+\s+\S+\s+(\S+)", output)),
        cpu_us=(cpu_s(pid) - before) / max(requests, 1) * 1e6,
        failed=_failures(output),
        generator=generator,
    )
