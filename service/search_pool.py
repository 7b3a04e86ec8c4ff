"""Threads for retrievers that search; what waits for one, or comes in one turn of the loop, goes together."""

import asyncio
import contextlib
import os
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from models.retrieval import Candidates, Query, Retriever, at_once
from models.words import FallbackReason, RetrieverName
from service.engine import Engine
from service.ports import StageError

QUIET_TURNS = 2
"""Turns of the loop without another search before the first ones start: a request is read in one turn, handled in the
next. A turn of an idle loop takes microseconds."""
GATHERED = 16
"""Searches that start without looking for more."""


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """One query, and who waits for its list."""

    retriever: Retriever
    query: Query
    answer: "asyncio.Future[Candidates]"

    def expire(self) -> None:
        """The deadline passed."""
        if not self.answer.done():
            self.answer.set_exception(StageError(FallbackReason.DEADLINE))


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class SearchPool:
    """Admission before work; nothing waits for others to come.

    With a core for the threads, what waits starts as soon as one is free; a process that has a single core first hands
    out the answers that are there, so that the next searches go together with those that wait.

    Args:
        threads: searches, or batches of them, at once.
        limit: searches that may run or wait.
    """

    def __init__(self, *, threads: int, limit: int) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="search")
        self._limit, self._admitted, self._idle = limit, 0, threads
        self._waiting: deque[Search] = deque()
        self._gathering, self._quiet = False, 0
        self._overlaps = cores() > 1

    async def run(self, engine: Engine, name: RetrieverName, query: Query, deadline: float) -> Candidates:
        """The retriever's list.

        Args:
            engine: the bundle.
            name: of the retriever.
            query: the query.
            deadline: on the clock of `time.monotonic`, in seconds.

        Raises:
            StageError: the pool is full, or the deadline passed; a search that runs is left to finish by itself.
        """
        if self._admitted >= self._limit:
            raise StageError(FallbackReason.FULL)
        loop = asyncio.get_running_loop()
        search = Search(engine.retrievers[name], query, loop.create_future())
        self._admitted += 1
        self._waiting.append(search)
        self._quiet = 0
        if self._idle:
            self._gather_soon(loop)
        timer = loop.call_later(deadline - time.monotonic(), search.expire)
        try:
            return await search.answer
        finally:
            timer.cancel()
            self._leave(search)

    @property
    def admitted(self) -> int:
        """Searches that run or wait now."""
        return self._admitted

    def _leave(self, search: Search) -> None:
        """Give up the place of one that nobody waits for any more and that has not begun."""
        if self._waiting and search in self._waiting:
            self._waiting.remove(search)
            self._admitted -= 1

    def _gather_soon(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._gathering:
            self._gathering = True
            loop.call_soon(self._gather, loop)

    def _gather(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start when the loop has nothing else to do, so that what has arrived by now goes together."""
        self._quiet += 1
        if self._quiet > QUIET_TURNS or len(self._waiting) >= GATHERED:
            self._gathering = False
            self._start(loop)
        else:
            loop.call_soon(self._gather, loop)

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Hand what waits to idle threads."""
        while self._idle and self._waiting:
            batch = self._take()
            self._idle -= 1
            self._executor.submit(self._work, loop, batch)

    def _take(self) -> list[Search]:
        """The oldest, and of those that go with it this thread's share."""
        retriever = self._waiting[0].retriever
        alike = [search for search in self._waiting if search.retriever is retriever]
        batch = alike[: min(at_once(retriever), -(-len(alike) // self._idle))]
        for search in batch:
            self._waiting.remove(search)
        return batch

    def _work(self, loop: asyncio.AbstractEventLoop, batch: list[Search]) -> None:
        found = _lists(batch)
        with contextlib.suppress(RuntimeError):  # a search that outlives the loop has nobody to tell
            loop.call_soon_threadsafe(self._finish, loop, batch, found)

    def _finish(
        self, loop: asyncio.AbstractEventLoop, batch: list[Search], found: Sequence[Candidates | BaseException]
    ) -> None:
        self._idle += 1
        self._admitted -= len(batch)
        if self._overlaps:
            self._start(loop)
        elif self._waiting:
            self._gather_soon(loop)
        for search, one in zip(batch, found, strict=True):
            if search.answer.done():
                continue
            if isinstance(one, BaseException):
                search.answer.set_exception(one)
            else:
                search.answer.set_result(one)

    def shutdown(self) -> None:
        """Let running searches end, start no further ones."""
        self._executor.shutdown(wait=False, cancel_futures=True)


def _lists(batch: list[Search]) -> Sequence[Candidates | BaseException]:
    """Together; one by one where that fails, so that a search fails alone."""
    if len(batch) > 1:
        with contextlib.suppress(Exception):
            return batch[0].retriever.retrieve_batch([search.query for search in batch])
    return [_list(search) for search in batch]


def _list(search: Search) -> Candidates | BaseException:
    try:
        return search.retriever.retrieve(search.query)
    except Exception as error:  # noqa: BLE001 - whoever waits for it is told
        return error
