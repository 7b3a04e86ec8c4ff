"""Work on a catalogue in blocks of items: here, in several processes, or on Spark; a block that fails is redone alone.

Each block is computed by the same function from the same memory-mapped arrays, whoever computes it, so results do not
depend on where that is.
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy.typing as npt

from models.bundle.reader import map_array
from models.bundle.stream import write_array
from offline.config import EngineKind, EngineRules

Array = npt.NDArray[Any]
Arrays = Mapping[str, Array]
Result = tuple[Array, ...]
TRIES = 3
"""How often a block is begun before its failure is the job's."""


@dataclass(frozen=True, slots=True)
class Shards:
    """Blocks of one job.

    Attributes:
        function: arrays and number of a block -> the block's arrays; can be pickled, reads nothing else.
        paths: the arrays' `.npy` files by name.
        blocks: how many there are.
    """

    function: Callable[[Arrays, int], Result]
    paths: Mapping[str, Path]
    blocks: int


def run_shards(shards: Shards, rules: EngineRules) -> Iterator[Result]:
    """Results of all blocks in the order of their numbers."""
    if rules.kind is EngineKind.SPARK:
        from offline.spark.shards import on_spark

        return on_spark(shards, rules)
    if rules.processes > 1 and shards.blocks > 1:
        return _in_processes(shards, min(rules.processes, shards.blocks))
    return _here(shards)


def spread(
    function: Callable[[Arrays, int], Result],
    files: Mapping[str, Path],
    arrays: Mapping[str, Array],
    blocks: int,
    rules: EngineRules,
) -> Iterator[Result]:
    """As `run_shards`, over `.npy` files and over arrays, which become temporary ones."""
    with tempfile.TemporaryDirectory(prefix="shortlist-blocks-") as folder:
        paths = dict(files)
        for name, array in arrays.items():
            paths[name] = Path(folder) / f"{name}.npy"
            write_array(paths[name], array)
        yield from run_shards(Shards(function, paths, blocks), rules)


def _here(shards: Shards) -> Iterator[Result]:
    try:
        for block in range(shards.blocks):
            yield compute(shards.function, tuple(shards.paths.items()), block)
    finally:
        _mapped.cache_clear()


@lru_cache(maxsize=1)
def _mapped(paths: tuple[tuple[str, Path], ...]) -> Arrays:
    return {name: map_array(path) for name, path in paths}


def compute(function: Callable[[Arrays, int], Result], paths: tuple[tuple[str, Path], ...], block: int) -> Result:
    """One block; a process maps the arrays once."""
    return function(_mapped(paths), block)


def _in_processes(shards: Shards, processes: int) -> Iterator[Result]:
    """A window of blocks is at work or waits for its turn to be yielded, so memory does not grow with their number."""
    with _Pool(shards, processes) as pool:
        for block in range(shards.blocks):
            pool.fill(block + 2 * processes)
            yield pool.take(block)


class _Pool:
    """Processes at work on blocks. One that dies takes the others' pool with it: what was not done is begun again."""

    def __init__(self, shards: Shards, processes: int) -> None:
        self._shards, self._processes = shards, processes
        self._begun = 0
        self._running: dict[Future[Result], int] = {}
        self._ready: dict[int, Result] = {}
        self._tries = Counter[int]()
        self._start()

    def _start(self) -> None:
        self._executor = ProcessPoolExecutor(self._processes, mp_context=get_context("spawn"))

    def __enter__(self) -> "_Pool":
        return self

    def __exit__(self, *error: object) -> None:
        self._executor.shutdown(cancel_futures=True)

    def fill(self, end: int) -> None:
        """Begin blocks up to a number."""
        while self._begun < min(end, self._shards.blocks):
            self._begin(self._begun)
            self._begun += 1

    def _begin(self, block: int) -> None:
        self._tries[block] += 1
        paths = tuple(self._shards.paths.items())
        self._running[self._executor.submit(compute, self._shards.function, paths, block)] = block

    def take(self, block: int) -> Result:
        """The result of a block that was begun."""
        while block not in self._ready:
            self._collect(wait(self._running, return_when=FIRST_COMPLETED).done)
        return self._ready.pop(block)

    def _collect(self, done: set[Future[Result]]) -> None:
        failed = []
        for future in done:
            block, error = self._running.pop(future), future.exception()
            if error is None:
                self._ready[block] = future.result()
                continue
            if self._tries[block] >= TRIES:
                raise error
            failed.append(block)
            if isinstance(error, BrokenProcessPool):
                failed.extend(self._running.values())
                self._running.clear()
                self._executor.shutdown()
                self._start()
                break
        for block in sorted(set(failed)):
            self._begin(block)
