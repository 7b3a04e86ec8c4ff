"""A bounded Redis stream, fed in batches from the event loop; what Redis does not take is dropped and counted."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import orjson
from redis.asyncio import Redis

from service.redis.link import RedisDownError, RedisLink
from service.sinks.files import Record

USER_FIELD = "user_id"


@dataclass(frozen=True, slots=True)
class StreamConfig:
    """How much a stream holds.

    Attributes:
        key: its name in Redis.
        length: records kept, approximately.
        waiting: records that may wait to be sent.
        flush_s: pause between batches.
        batch: records sent at once.
    """

    key: str
    length: int = 100_000
    waiting: int = 10_000
    flush_s: float = 0.05
    batch: int = 500


class StreamSink:
    """`put` from the event loop."""

    def __init__(
        self, link: RedisLink, config: StreamConfig, *, on_drop: Callable[[int], None] = lambda _: None
    ) -> None:
        self._link, self._config, self._on_drop = link, config, on_drop
        self._waiting: deque[Record] = deque()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to send."""
        self._task = asyncio.create_task(self._run(), name=f"stream-{self._config.key}")

    def put(self, record: Record) -> bool:
        """Take a record without waiting. False: too many wait, the record is dropped and counted."""
        if len(self._waiting) >= self._config.waiting:
            self._on_drop(1)
            return False
        self._waiting.append(record)
        return True

    async def close(self) -> None:
        """Send what waits, once, and stop."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        while self._waiting and await self._send():
            pass

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._config.flush_s)
            while self._waiting and await self._send():
                pass

    async def _send(self) -> bool:
        batch = [self._waiting.popleft() for _ in range(min(self._config.batch, len(self._waiting)))]
        try:
            await self._link.call(lambda client: self._add(client, batch), timeout_s=1.0)
        except RedisDownError:
            self._on_drop(len(batch))
            return False
        return True

    def _add(self, client: Redis, batch: list[Record]) -> Awaitable[list[Any]]:
        pipeline = client.pipeline(transaction=False)
        for record in batch:
            fields: Any = {USER_FIELD: record.get(USER_FIELD) or "", "record": orjson.dumps(record)}
            pipeline.xadd(self._config.key, fields, maxlen=self._config.length, approximate=True)
        return pipeline.execute()
