"""The API process's end of the queue: submit, await, cancel. Implements `service.ports.Generator`.

Every process has a reply channel of its own and every request an id of its own; a reply whose id nobody awaits any more
is dropped, so replies never cross.
"""

import asyncio
import contextlib
import math
import os
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from models.retrieval import Candidates, Query
from models.words import FallbackReason
from service.breaker import Breaker, BreakerConfig
from service.ports import StageError
from service.redis import keys
from service.redis.link import RedisDownError, RedisLink, end
from service.worker import scripts
from service.worker.wire import Reply, Status, decode_reply, encode_query

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """How the API asks workers.

    Attributes:
        reserve_ms: kept back from the deadline, so that another retriever can still answer.
        beat_age_ms: a worker silent for longer is dead.
        breaker: admitted requests that nobody answered in time open it.
    """

    reserve_ms: float = 10.0
    beat_age_ms: int = 1500
    breaker: BreakerConfig = field(default_factory=lambda: BreakerConfig(failures=20, cooldown_s=0.5))


class GrClient:
    """Start it in the event loop that asks.

    Args:
        link: the way to Redis.
        config: how to ask.
        is_stock: whether a mask is a bundle's stock and nothing else.
    """

    def __init__(
        self,
        link: RedisLink,
        config: ClientConfig | None = None,
        *,
        is_stock: Callable[[npt.NDArray[np.bool_]], bool] = lambda _: False,
    ) -> None:
        self._link, self._config, self._is_stock = link, config or ClientConfig(), is_stock
        self._channel = keys.gr_replies(os.urandom(8).hex())
        self._waiting: dict[bytes, asyncio.Future[Reply]] = {}
        self._background: set[asyncio.Task[Any]] = set()
        self._listening = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._submit = link.client.register_script(scripts.SUBMIT)
        self._cancel = link.client.register_script(scripts.CANCEL)
        self.breaker = Breaker(self._config.breaker)
        self.strays = 0
        """Replies that came after their caller had left."""

    def start(self) -> None:
        """Begin to listen for replies."""
        self._task = asyncio.create_task(self._listen(), name="gr-replies")

    async def ready(self) -> None:
        """Wait until replies can arrive."""
        await self._listening.wait()

    async def stop(self) -> None:
        """Stop listening; whoever still waits is told that there is no worker."""
        if self._task is not None:
            await end(self._task)
        self._fail_all(FallbackReason.WORKER)
        if self._background:
            await asyncio.wait(self._background)

    async def retrieve(self, bundle: str, query: Query, *, deadline: float) -> tuple[Candidates, Mapping[str, float]]:
        """The worker's list and its `queue` and `decode` milliseconds.

        Args:
            bundle: version of the bundle whose item indices the query speaks.
            query: the query.
            deadline: on the clock of `time.monotonic`, in seconds.

        Raises:
            StageError: no worker, none that holds the bundle, full, late, failed, or Redis is down.
        """
        limit = deadline - self._config.reserve_ms / 1000
        if not self._listening.is_set():
            raise StageError(FallbackReason.REDIS)
        if not self.breaker.allows():
            raise StageError(FallbackReason.WORKER)
        name = os.urandom(16)
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting[name] = reply
        try:
            answer = await self._ask(bundle, name, query, limit, reply)
        finally:
            self._waiting.pop(name, None)
            reply.cancel()
        return answer.candidates, {"queue": answer.queue_ms, "decode": answer.decode_ms}

    async def _ask(
        self, version: str, name: bytes, query: Query, limit: float, reply: "asyncio.Future[Reply]"
    ) -> Reply:
        submitting = asyncio.ensure_future(self._admit(version, name, query, limit))
        try:
            await asyncio.shield(submitting)
            async with asyncio.timeout_at(asyncio.get_running_loop().time() + limit - time.monotonic()):
                answer = await reply
        except TimeoutError:
            self._withdraw(version, submitting)
            self.breaker.failed()
            raise StageError(FallbackReason.DEADLINE) from None
        except asyncio.CancelledError:
            self._withdraw(version, submitting)
            raise
        self.breaker.succeeded()
        if answer.status is not Status.OK:
            raise StageError(FallbackReason.WORKER)
        return answer

    async def _admit(self, version: str, name: bytes, query: Query, limit: float) -> bytes:
        where = [keys.gr_requests(version), keys.GR_WORKERS]
        body = encode_query(self._without_stock(query))

        def submit(client: Redis) -> Awaitable[Any]:
            left_ms = max(0, math.floor((limit - time.monotonic()) * 1000))
            arguments: list[str | bytes | int] = [version, left_ms, self._config.beat_age_ms, name, self._channel, body]
            return self._submit(where, arguments, client)

        if (left_s := limit - time.monotonic()) <= 0:
            raise StageError(FallbackReason.DEADLINE)
        try:
            verdict, detail = await self._link.call(submit, timeout_s=left_s)
        except RedisDownError:
            late = time.monotonic() >= limit
            raise StageError(FallbackReason.DEADLINE if late else FallbackReason.REDIS) from None
        if verdict != b"ok":
            raise StageError(FallbackReason(verdict.decode()))
        entry: bytes = detail
        return entry

    def _without_stock(self, query: Query) -> Query:
        """Workers follow the stock themselves, so a mask that is nothing else need not travel."""
        mask = query.eligible.mask
        if mask is None or not self._is_stock(mask):
            return query
        return replace(query, eligible=replace(query.eligible, mask=None))

    def _withdraw(self, version: str, submitting: "asyncio.Future[bytes]") -> None:
        self._later(self._withdraw_entry(version, submitting))

    async def _withdraw_entry(self, version: str, submitting: "asyncio.Future[bytes]") -> None:
        with contextlib.suppress(RedisDownError, StageError):
            entry = await submitting
            where = [keys.gr_requests(version)]
            await self._link.call(lambda client: self._cancel(where, [scripts.GROUP, entry], client))

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _listen(self) -> None:
        while True:
            client: Redis | None = None
            try:
                client = await self._link.dedicated(self._channel)
                await self._deliver(client)
            except (RedisError, RedisDownError, OSError) as error:
                log.debug("replies_unreachable", error=type(error).__name__)
                self._listening.clear()
                self._fail_all(FallbackReason.REDIS)
                await asyncio.sleep(0.05)
            finally:
                self._listening.clear()
                if client is not None:
                    await client.aclose()

    async def _deliver(self, client: Redis) -> None:
        async with client.pubsub() as replies:
            await replies.subscribe(self._channel)
            while True:
                message = await replies.get_message(timeout=1.0)
                if message is None:
                    await replies.ping()
                elif message["type"] == "subscribe":
                    self._subscribed()
                elif message["type"] == "message":
                    self._arrived(decode_reply(message["data"]))

    def _subscribed(self) -> None:
        """For the first time, or again after the connection broke: what was published in between is lost."""
        if self._listening.is_set():
            self._fail_all(FallbackReason.REDIS)
        self._listening.set()

    def _arrived(self, reply: Reply) -> None:
        waiting = self._waiting.pop(reply.id, None)
        if waiting is None or waiting.done():
            self.strays += 1
        else:
            waiting.set_result(reply)

    def _fail_all(self, reason: FallbackReason) -> None:
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(StageError(reason))
        self._waiting.clear()
