"""Wall time, processor time and peak memory of a piece of work."""

import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

RESET_PEAK = "5"
"""Written to clear_refs, this sets the kernel's high-water mark back to the memory in use (man 5 proc)."""


@dataclass(slots=True)
class Cost:
    """What a piece of work took; filled when it ends.

    Attributes:
        seconds: wall time.
        cpu_seconds: processor time of all threads; unlike wall time it tells little of who else was busy.
        peak_mib: greatest resident memory of the process meanwhile, MiB, what it held before included; where the
            kernel cannot reset its mark, the greatest since the process started.
    """

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_mib: float = 0.0

    def facts(self) -> dict[str, float]:
        """For the manifest."""
        return {name: round(value, 2) for name, value in asdict(self).items()}


def _reset_peak() -> None:
    try:
        Path("/proc/self/clear_refs").write_text(RESET_PEAK)
    except OSError:
        return


def peak_mib() -> float:
    """Greatest resident memory, MiB, since the mark was last reset."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    except (OSError, StopIteration):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / 2**20 if sys.platform == "darwin" else peak / 1024


@contextmanager
def measured() -> Iterator[Cost]:
    """Measure the body."""
    cost = Cost()
    _reset_peak()
    start, cpu_start = time.perf_counter(), time.process_time()
    try:
        yield cost
    finally:
        cost.seconds, cost.cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
        cost.peak_mib = peak_mib()
