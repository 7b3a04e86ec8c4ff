"""Every retriever of a bundle in this process, without HTTP: alone, in batches, and what it adds to the memory."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from models.bundle.reader import Bundle
from models.registry import open_retriever
from models.retrieval import Query, Retriever
from models.words import RetrieverName

BATCH = 32
STATUS = Path("/proc/self/status")


@dataclass(frozen=True, slots=True)
class InProcess:
    """What one retriever took.

    Attributes:
        retriever: its name.
        median_ms, p99_ms: one request after another.
        per_s: requests a second, one after another.
        batch_per_s: requests a second in batches of 32.
        open_s: opening and compiling, or loading compiled kernels.
        private_mib: memory that only this process has and that opening and asking added; 0 where it cannot be known.
    """

    retriever: RetrieverName
    median_ms: float
    p99_ms: float
    per_s: float
    batch_per_s: float
    open_s: float
    private_mib: float


def private_mib() -> float:
    """Anonymous memory of this process; 0 where the system does not say."""
    found = re.search(r"RssAnon:\s+(\d+)", STATUS.read_text()) if STATUS.exists() else None
    return int(found[1]) / 1024 if found else 0.0


def _alone(retriever: Retriever, asked: Sequence[Query], seconds: float) -> npt.NDArray[np.float64]:
    took: list[float] = []
    ends = time.perf_counter() + seconds
    while (started := time.perf_counter()) < ends:
        retriever.retrieve(asked[len(took) % len(asked)])
        took.append(time.perf_counter() - started)
    return np.array(took)


def _batches(retriever: Retriever, asked: Sequence[Query], seconds: float) -> float:
    done, started = 0, time.perf_counter()
    while time.perf_counter() - started < seconds:
        first = done % (len(asked) - BATCH + 1)
        done += len(retriever.retrieve_batch(asked[first : first + BATCH]))
    return done / (time.perf_counter() - started)


def measure(bundle: Bundle, name: RetrieverName, asked: Sequence[Query], seconds: float) -> InProcess:
    """Open a retriever and ask it.

    Args:
        bundle: the bundle.
        name: of the retriever.
        asked: at least 32 queries, asked in turn.
        seconds: length of each of the two measurements.
    """
    before, started = private_mib(), time.perf_counter()
    retriever = open_retriever(bundle, name)
    opened = time.perf_counter() - started
    retriever.retrieve_batch(asked[:BATCH])
    took = _alone(retriever, asked, seconds)
    batched = _batches(retriever, asked, seconds)
    return InProcess(
        name,
        median_ms=round(float(np.median(took)) * 1e3, 4),
        p99_ms=round(float(np.quantile(took, 0.99)) * 1e3, 4),
        per_s=round(len(took) / float(took.sum()), 1),
        batch_per_s=round(batched, 1),
        open_s=round(opened, 3),
        private_mib=round(private_mib() - before, 1),
    )
