"""Processor time and memory of processes, and where they run."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Memory:
    """Memory of some processes, in MiB.

    Attributes:
        resident: all pages in memory; those that processes share count for each of them.
        private: pages that no other process has; of a mapped file too, while nobody else maps it.
        own: pages of no file, which the process alone answers for.
        shared: pages of mapped files, and pages shared with others.
    """

    resident: float
    private: float
    own: float
    shared: float


def family(pid: int) -> list[psutil.Process]:
    """A process and all below it that still live."""
    parent = psutil.Process(pid)
    return [parent, *parent.children(recursive=True)]


def cpu_s(pid: int) -> float:
    """Processor time that a process and those below it have used, in seconds."""
    total = 0.0
    for process in family(pid):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


def memory(pid: int) -> Memory:
    """Memory of one process, from `smaps_rollup`."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    kib = {name: int(found[1]) for name in FIELDS if (found := re.search(rf"(?m)^{name}:\s+(\d+) kB", text))}
    private = kib["Private_Clean"] + kib["Private_Dirty"]
    return Memory(kib["Rss"] / 1024, private / 1024, kib["Anonymous"] / 1024, (kib["Rss"] - private) / 1024)


FIELDS = ("Rss", "Private_Clean", "Private_Dirty", "Anonymous")


@contextmanager
def on_core(core: int | None) -> Iterator[None]:
    """What is started in the block runs on one core; None, or a machine of one core = anywhere."""
    before = os.sched_getaffinity(0)
    if core is not None and core in before and len(before) > 1:
        os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def one_thread() -> dict[str, str]:
    """Variables that keep numeric libraries from starting threads of their own."""
    return dict.fromkeys(THREAD_VARIABLES, "1")
