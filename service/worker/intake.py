"""From the request streams to batches: reads ahead by at most one batch, so that other workers get their share."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from service.redis import keys
from service.redis.link import RedisDownError, RedisLink
from service.worker.config import WorkerConfig
from service.worker.queue import Queue, Ticket

log = structlog.get_logger(__name__)
READ_BLOCK_MS = 100
PAUSE_S = 0.05


class Intake:
    """Tickets that were read and not yet given out."""

    def __init__(self, link: RedisLink, queue: Queue, config: WorkerConfig, versions: Callable[[], list[str]]) -> None:
        self._link, self._queue, self._config, self._versions = link, queue, config, versions
        self._tickets: deque[Ticket] = deque()
        self._changed = asyncio.Condition()
        self._draining = False
        self._ended = False
        self._reads = True

    def drain(self) -> None:
        """Read what is queued already, then end."""
        self._draining = True

    async def add(self, tickets: list[Ticket]) -> None:
        """Take in tickets."""
        if tickets:
            async with self._changed:
                self._tickets.extend(tickets)
                self._changed.notify_all()

    async def run(self) -> None:
        """Read until drained. Not to be cancelled while it reads: what was read would be lost for a while."""
        while not self._ended:
            client: Redis | None = None
            try:
                client = await self._link.dedicated(keys.GR_WORKERS)
                await self._read_all(client)
            except (RedisError, RedisDownError, OSError) as error:
                await self._unreachable(error)
            finally:
                if client is not None:
                    await client.aclose()

    async def _read_all(self, client: Redis) -> None:
        while not self._ended:
            await self._room()
            await self._read(client)

    async def _room(self) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: len(self._tickets) < self._config.max_batch)

    async def _read(self, client: Redis) -> None:
        versions = self._versions()
        if not versions and not self._draining:
            await asyncio.sleep(PAUSE_S)
            return
        draining = self._draining
        found = await self._read_from(client, versions, block_ms=None if draining else READ_BLOCK_MS)
        if not self._reads:
            log.info("queue_reachable")
            self._reads = True
        await self.add(found)
        if draining and not found:
            await self._end()

    async def _read_from(self, client: Redis, versions: list[str], *, block_ms: int | None) -> list[Ticket]:
        if not versions:
            return []
        room = max(1, self._config.max_batch - len(self._tickets))
        return await self._queue.read(client, versions, most=room, block_ms=block_ms, now=time.monotonic())

    async def _unreachable(self, error: Exception) -> None:
        if self._reads:
            log.warning("queue_unreachable", error=type(error).__name__)
            self._reads = False
        await asyncio.sleep(PAUSE_S)
        if self._draining:
            await self._end()
        elif isinstance(error, ResponseError):
            with suppress(RedisDownError):
                for version in self._versions():
                    await self._queue.join(version)

    async def _end(self) -> None:
        async with self._changed:
            self._ended = True
            self._changed.notify_all()

    async def batch(self) -> list[Ticket]:
        """The next batch: of one version, full or old enough. Empty once drained."""
        async with self._changed:
            await self._changed.wait_for(lambda: bool(self._tickets) or self._ended)
            if not self._tickets:
                return []
            await self._companions(self._tickets[0])
            return self._take(self._tickets[0].version)

    async def _companions(self, oldest: Ticket) -> None:
        wait_s = oldest.read_at + self._config.max_wait_ms / 1000 - time.monotonic()
        if wait_s <= 0 or self._draining:
            return
        try:
            async with asyncio.timeout(wait_s):
                await self._changed.wait_for(lambda: len(self._tickets) >= self._config.max_batch)
        except TimeoutError:
            return

    def _take(self, version: str) -> list[Ticket]:
        batch: list[Ticket] = []
        rest: deque[Ticket] = deque()
        for ticket in self._tickets:
            wanted = ticket.version == version and len(batch) < self._config.max_batch
            (batch if wanted else rest).append(ticket)
        self._tickets = rest
        self._changed.notify_all()
        return batch
