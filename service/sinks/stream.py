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
SMOOTHING = 0.1
"""Weight of the newest batch in the size of a record."""
OVERHEAD_BYTES = 64
"""Of a record in Redis besides its JSON: ids, field names, the user's hash."""


@dataclass(frozen=True, slots=True)
class StreamConfig:
    """How much a stream holds.

    Attributes:
        key: its name in Redis.
        length: records kept, approximately.
        max_bytes: of all records kept, approximately; long records make the stream shorter.
        waiting: records that may wait to be sent.
        flush_s: pause between batches.
        batch: records sent at once.
    """

    key: str
    length: int = 100_000
    max_bytes: int = 64 << 20
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
        self._record_bytes = 0.0
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
        encoded = [(record.get(USER_FIELD) or "", orjson.dumps(record)) for record in batch]
        length = self._length(sum(len(data) for _, data in encoded) / len(encoded))
        pipeline = client.pipeline(transaction=False)
        for user, data in encoded:
            fields: Any = {USER_FIELD: user, "record": data}
            pipeline.xadd(self._config.key, fields, maxlen=length, approximate=True)
        return pipeline.execute()

    def _length(self, mean_bytes: float) -> int:
        """Records that fit, by the smoothed size of a record."""
        known = self._record_bytes or mean_bytes
        self._record_bytes = known + SMOOTHING * (mean_bytes - known)
        return min(self._config.length, int(self._config.max_bytes / (self._record_bytes + OVERHEAD_BYTES)) + 1)
