"""The worker: gather a batch, look again who still waits, decode in a thread, answer; meanwhile say that it lives.

While a batch is decoded the next one is read. Readiness follows batches, not the process: a worker whose batch does
not end stops its heartbeat, so nobody sends it more, and ends itself to be started anew.
"""

import asyncio
import contextlib
import time
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson
import structlog
from redis.exceptions import ResponseError

from models.retrieval import Candidates
from service.gently import gently
from service.redis.link import RedisDownError, RedisLink, end
from service.worker.config import WorkerConfig
from service.worker.decoder import Decoder, warm
from service.worker.intake import Intake
from service.worker.metrics import WorkerMetrics
from service.worker.pace import Pace
from service.worker.queue import Checked, Queue, Ticket
from service.worker.wire import NOTHING, Reply, Status

log = structlog.get_logger(__name__)


class StuckError(Exception):
    """A batch does not end; only a new process helps."""


class Worker:
    """Serves the bundle versions whose decoders it holds."""

    def __init__(self, link: RedisLink, name: str, config: WorkerConfig | None = None) -> None:
        self.config = config or WorkerConfig()
        self.metrics = WorkerMetrics()
        self.pace = Pace(self.config.max_batch)
        self._decoders: dict[str, Decoder] = {}
        self._queue = Queue(link, name)
        self._intake = Intake(link, self._queue, self.config, lambda: self.versions)
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="decode")
        self._running_since: float | None = None
        self._last_batch = time.monotonic()
        self._answering: set[asyncio.Task[None]] = set()
        self._draining = asyncio.Event()

    @property
    def versions(self) -> list[str]:
        """Bundle versions it answers for."""
        return list(self._decoders)

    def ready(self) -> bool:
        """True while it holds a decoder, its batches end, and it is not leaving."""
        return bool(self._decoders) and not self.stuck() and not self._draining.is_set()

    def stuck(self) -> bool:
        """True when the batch in the decoder does not end."""
        return self._running_since is not None and time.monotonic() - self._running_since > self.config.stall_s

    async def hold(self, decoder: Decoder) -> None:
        """Warm a decoder, then answer for its version; beside others on a thread that gives way to them, which says
        nothing of the worker's pace.

        Raises:
            ShortlistError: it does not decode.
            RedisDownError: the queue cannot be reached.
        """
        ends = (self.pace.sizes[0], self.pace.sizes[-1])
        if self._decoders:
            await gently(warm, decoder, ends)
        else:
            await asyncio.to_thread(warm, decoder, ends, self.pace.learn)
        await self._queue.join(decoder.version)
        self._decoders[decoder.version] = decoder
        self.metrics.versions.set(len(self._decoders))
        await self._beat()

    async def drop(self, version: str) -> None:
        """Answer no longer for a version; what is queued for it still is told so."""
        decoder = self._decoders.pop(version, None)
        if decoder is not None:
            self.metrics.versions.set(len(self._decoders))
            await self._beat()

    async def sweep(self) -> None:
        """Remove the streams of versions that no living worker serves."""
        await self._queue.sweep()

    def drain(self) -> None:
        """Finish what is queued, take nothing new; then `run` returns."""
        self._draining.set()

    async def run(self) -> None:
        """Serve until drained.

        Raises:
            StuckError: a batch does not end.
        """
        reading = asyncio.create_task(self._intake.run(), name="intake")
        beating = asyncio.create_task(self._keep_beating(), name="heartbeat")
        batching = asyncio.create_task(self._keep_batching(), name="batches")
        tasks = {reading, beating, batching}
        try:
            await _until_done(batching, tasks)
            await asyncio.gather(*self._answering)
        finally:
            await end(*tasks)
            self._decoders.clear()
            self._executor.shutdown(wait=False, cancel_futures=True)

    async def _keep_beating(self) -> None:
        while not self._draining.is_set():
            if self.stuck():
                raise StuckError(f"a batch has been running for more than {self.config.stall_s} s")
            await self._unless_down(self._beat())
            await self._unless_down(self._take_over())
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._draining.wait(), self.config.beat_s)
        await self._unless_down(self._queue.silence())
        self._intake.drain()
        await asyncio.Event().wait()

    @staticmethod
    async def _unless_down(step: Coroutine[Any, Any, None]) -> None:
        try:
            await step
        except RedisDownError as error:
            log.debug("queue_unreachable", error=str(error))

    async def _beat(self) -> None:
        if not self._decoders:
            await self._queue.silence()
            return
        heartbeat = {
            "versions": self.versions,
            "single_ms": self.pace.predict(1),
            "full_ms": self.pace.predict(self.config.max_batch),
            "max_batch": self.config.max_batch,
            "max_wait_ms": self.config.max_wait_ms,
        }
        await self._queue.beat(orjson.dumps(heartbeat))

    async def _take_over(self) -> None:
        idle_ms = int(max(self.config.claim_idle_ms, 4 * self.pace.predict(self.config.max_batch)))
        for version in self.versions:
            try:
                await self._intake.add(await self._queue.claim(version, idle_ms=idle_ms, now=time.monotonic()))
            except ResponseError:
                await self._queue.join(version)

    async def _keep_batching(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self.config.probe_s):
                    batch = await self._intake.batch()
            except TimeoutError:
                await self._probe()
                continue
            if not batch:
                return
            await self._unless_down(self._serve(batch))

    async def _probe(self) -> None:
        for decoder in list(self._decoders.values()):
            took_ms, _ = await self._decode(decoder, [decoder.sample()])
            self.pace.learn(1, took_ms)

    async def _serve(self, batch: list[Ticket]) -> None:
        started = time.perf_counter()
        checked = await self._queue.check(batch)
        self._note(checked)
        decoder = self._decoders.get(batch[0].version)
        if not checked.alive:
            return
        if decoder is None:
            self._answer(checked, _failures(checked.alive))
            return
        try:
            took_ms, found = await self._decode(decoder, [ticket.query() for ticket in checked.alive])
        except Exception:
            log.exception("batch_failed", size=len(checked.alive), bundle=decoder.version)
            self.metrics.failed.inc()
            self._answer(checked, _failures(checked.alive))
            return
        self.pace.learn(len(checked.alive), (time.perf_counter() - started) * 1000)
        self._answer(checked, _replies(checked, found, took_ms))

    def _note(self, checked: Checked) -> None:
        self.metrics.dropped.labels("cancelled").inc(checked.cancelled)
        self.metrics.dropped.labels("expired").inc(checked.expired)
        if checked.alive:
            self.metrics.batch_size.observe(len(checked.alive))
        for ticket in checked.alive:
            self.metrics.queue_wait.observe(max(0.0, checked.now_ms - ticket.arrived_ms()) / 1000)

    async def _decode(self, decoder: Decoder, queries: Sequence[Any]) -> tuple[float, list[Candidates]]:
        self._running_since = time.monotonic()
        started = time.perf_counter()
        try:
            found = await asyncio.get_running_loop().run_in_executor(self._executor, decoder.decode, queries)
        finally:
            self._running_since = None
        took_s = time.perf_counter() - started
        self.metrics.decode.observe(took_s)
        self.metrics.last_batch.set_to_current_time()
        return took_s * 1000, found

    def _answer(self, checked: Checked, replies: list[Reply]) -> None:
        task = asyncio.create_task(self._unless_down(self._queue.answer(checked.alive, replies)))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)


async def _until_done(main: "asyncio.Task[None]", tasks: set["asyncio.Task[None]"]) -> None:
    """Wait for one task, unless another of them fails first."""
    waiting = set(tasks)
    while main in waiting:
        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()


def _failures(tickets: Sequence[Ticket]) -> list[Reply]:
    return [Reply(ticket.id, Status.FAILED, NOTHING) for ticket in tickets]


def _replies(checked: Checked, found: Sequence[Candidates], took_ms: float) -> list[Reply]:
    return [
        Reply(
            ticket.id,
            Status.OK,
            candidates,
            max(0.0, checked.now_ms - ticket.arrived_ms()),
            took_ms,
            len(checked.alive),
        )
        for ticket, candidates in zip(checked.alive, found, strict=True)
    ]
