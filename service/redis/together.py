"""Reads that are asked for in the same turn of the event loop travel to Redis together, in one pipeline.

A busy process serves many requests a turn; a pipeline for all of them costs little more than one command for one. Each
caller keeps its own patience, and one that gives up or is cancelled leaves the others alone.
"""

import asyncio
from typing import Any, TypeAlias

from redis.asyncio import Redis

from service.redis.link import RedisDownError, RedisLink

Members: TypeAlias = "asyncio.Future[list[bytes]]"
GRACE_TURNS = 6
"""Turns of the event loop that a late answer gets: after a stall of the loop itself it lies in the socket already."""


class Together:
    """One process's reads of the ends of sorted sets.

    Args:
        link: the way to Redis.
        count: members wanted of each, those of the highest scores.
    """

    def __init__(self, link: RedisLink, count: int) -> None:
        self._link, self._count = link, count
        self._waiting: list[tuple[str, Members]] = []
        self._longest_s = 0.0
        self._sent: set[asyncio.Task[None]] = set()

    async def newest(self, key: str, timeout_s: float) -> list[bytes]:
        """The members of the highest scores, lowest first; none where there is no such key.

        Raises:
            RedisDownError: no answer in time, no connection, or the breaker is open.
        """
        loop = asyncio.get_running_loop()
        future: Members = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._send)
        self._waiting.append((key, future))
        self._longest_s = max(self._longest_s, timeout_s)
        patience = loop.call_later(timeout_s, _give_up, future, timeout_s, GRACE_TURNS)
        try:
            return await future
        finally:
            patience.cancel()

    def _send(self) -> None:
        batch, timeout_s = self._waiting, self._longest_s
        self._waiting, self._longest_s = [], 0.0
        task = asyncio.ensure_future(self._fetch(batch, timeout_s))
        self._sent.add(task)
        task.add_done_callback(self._sent.discard)

    async def _fetch(self, batch: list[tuple[str, Members]], timeout_s: float) -> None:
        keys = [key for key, _ in batch]
        replies: list[Any]
        try:
            replies = await self._link.call(lambda client: self._ask(client, keys), timeout_s=timeout_s)
        except RedisDownError as error:
            replies = [error] * len(batch)
        for (_, future), reply in zip(batch, replies, strict=True):
            if future.done():
                continue
            if isinstance(reply, list):
                future.set_result(reply)
            else:
                future.set_exception(RedisDownError(f"Redis: {reply}"))

    async def _ask(self, client: Redis, keys: list[str]) -> list[Any]:
        pipeline = client.pipeline(transaction=False)
        for key in keys:
            pipeline.execute_command("ZRANGE", key, -self._count, -1)
        return list(await pipeline.execute(raise_on_error=False))


def _give_up(future: Members, timeout_s: float, turns: int) -> None:
    if future.done():
        return
    if turns:
        asyncio.get_running_loop().call_soon(_give_up, future, timeout_s, turns - 1)
        return
    future.set_exception(RedisDownError(f"no answer from Redis in {timeout_s * 1000:.0f} ms"))
