"""The way to Redis: bounded in time and in connections, behind a breaker, and never left with a foreign reply.

A caller that is cancelled or runs out of time abandons its command; the command itself is never cancelled. It ends by
itself within the socket timeout and hands back a clean connection. So no unread reply can be left for the next caller
(redis-py issues 2624 and 2665), and no connection is lost by a cancel that lands while it is being handed back.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import structlog
from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.cluster import RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import (
    AskError,
    ClusterDownError,
    MasterDownError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisClusterException,
    RedisError,
    ResponseError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as RedisConnectionError

from service.breaker import Breaker, BreakerConfig, BreakerState
from service.redis.cluster import is_cluster, open_cluster, read_address

T = TypeVar("T")
log = structlog.get_logger(__name__)
FAILURES = (RedisError, RedisClusterException, OSError)
"""What redis-py raises when a command fails."""
UNABLE = (
    OutOfMemoryError,
    ReadOnlyError,
    MasterDownError,
    ClusterDownError,
    NoPermissionError,
    AskError,
    TryAgainError,
)
UNABLE_WORDS = frozenset({"MISCONF", "BUSY", "NOREPLICAS", "UNKILLABLE"})
"""Errors that redis-py has no class for begin with one of these."""
CANCEL_AGAIN_S = 0.2
GRACE_TURNS = 2
"""Turns of the event loop that a late answer gets: after a stall of the loop itself it lies in the socket already."""


@dataclass(frozen=True, slots=True)
class LinkConfig:
    """How the service talks to Redis.

    Attributes:
        url: `redis://`, `rediss://` or `unix://`; of a cluster `redis+cluster://` or `rediss+cluster://`.
        timeout_s: the longest a caller waits for one command.
        socket_timeout_s: the longest an abandoned command holds its connection.
        connections: most connections of one process.
        breaker: when to stop asking.
    """

    url: str
    timeout_s: float = 0.25
    socket_timeout_s: float = 0.5
    connections: int = 16
    breaker: BreakerConfig = field(default_factory=BreakerConfig)


class RedisDownError(Exception):
    """Redis did not answer in time, refused, or is not being asked because it failed just now."""


class RedisLink:
    """One process's connections to one Redis or one Redis Cluster.

    Attributes:
        client: the commands; a cluster's client has the same ones and finds the node by the keys.
        breaker: whether Redis is being asked.
    """

    def __init__(self, config: LinkConfig) -> None:
        self._config = config
        self._slots = asyncio.Semaphore(config.connections)
        self._running: set[asyncio.Task[Any]] = set()
        self.breaker = Breaker(config.breaker)
        self._reachable = True
        self._cluster: RedisCluster | None = None
        if is_cluster(config.url):
            self._address = read_address(config.url)
            self._cluster = open_cluster(
                self._address, connections=config.connections, timeout_s=config.socket_timeout_s
            )
            self.client = cast(Redis, self._cluster)
        else:
            self.client = Redis.from_pool(self._pool(config.url, config.connections + 1))

    def _pool(self, url: str, connections: int) -> ConnectionPool:
        return ConnectionPool.from_url(
            url,
            max_connections=connections,
            socket_timeout=self._config.socket_timeout_s,
            socket_connect_timeout=self._config.socket_timeout_s,
            retry=Retry(NoBackoff(), 1, supported_errors=(RedisConnectionError,)),
            protocol=2,
        )

    async def dedicated(self, key: str) -> Redis:
        """A client with its own connections for blocking reads of a key or a subscription. The caller closes it.

        On a cluster it speaks to the node that owns the key now. A channel of the key's hash tag is published there,
        and on all other nodes. Where the key moves away, reads fail with MOVED; the next client finds the new node.

        Raises:
            RedisDownError: no node of the cluster answers for the key.
        """
        if self._cluster is None:
            return Redis.from_pool(self._pool(self._config.url, 4))
        await self.call(lambda client: client.ttl(key))
        node = self._cluster.get_node_from_key(key)
        if node is None:
            raise RedisDownError("no node of the cluster owns the key")
        return Redis.from_pool(self._pool(self._address.url(str(node.host), int(node.port)), 4))

    async def call(self, command: Callable[[Redis], Awaitable[T]], *, timeout_s: float | None = None) -> T:
        """Run one command (or one pipeline or script) and wait at most `timeout_s` for it.

        Raises:
            RedisDownError: no answer in time, no connection, or the breaker is open.
        """
        if not self.breaker.allows():
            raise RedisDownError("Redis is not being asked: it failed just now")
        task = asyncio.ensure_future(self._guarded(command))
        self._running.add(task)
        task.add_done_callback(self._forget)
        limit = self._config.timeout_s if timeout_s is None else timeout_s
        await asyncio.wait({task}, timeout=limit)
        for _ in range(GRACE_TURNS):
            if task.done():
                break
            await asyncio.sleep(0)
        if not task.done():
            self._late(limit)
            raise RedisDownError(f"no answer from Redis in {limit * 1000:.0f} ms")
        result = task.result()
        self._answered()
        return result

    def _late(self, limit: float) -> None:
        """A caller in a hurry says nothing about Redis; one that waited the usual time does."""
        if limit >= self._config.timeout_s:
            self._failed(f"no answer in {limit * 1000:.0f} ms")

    def _failed(self, why: str) -> None:
        """Told once, when it is asked no longer."""
        self.breaker.failed()
        if self._reachable and self.breaker.state is BreakerState.OPEN:
            log.warning("redis_unreachable", error=why)
            self._reachable = False

    def _answered(self) -> None:
        """Told once, when a caller has an answer in time again."""
        if not self._reachable:
            log.info("redis_reachable")
            self._reachable = True

    async def _guarded(self, command: Callable[[Redis], Awaitable[T]]) -> T:
        async with self._slots:
            try:
                result = await command(self.client)
            except FAILURES as error:
                if isinstance(error, ResponseError) and not _unable(error):
                    raise
                self._failed(type(error).__name__)
                raise RedisDownError(f"Redis: {type(error).__name__}") from error
        self.breaker.succeeded()
        return result

    def _forget(self, task: "asyncio.Task[Any]") -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()

    async def warm(self) -> None:
        """Open the connections before the first request needs them; without Redis nothing happens."""
        pings = (self.call(lambda client: client.ping(), timeout_s=1.0) for _ in range(self._config.connections))
        await asyncio.gather(*pings, return_exceptions=True)

    async def alive(self) -> bool:
        """True if Redis answers a ping now."""
        try:
            await self.call(lambda client: client.ping())
        except RedisDownError:
            return False
        return True

    async def aclose(self) -> None:
        """Let running commands end (each is bounded by the socket timeout), then close every connection."""
        if self._running:
            await asyncio.wait(self._running, timeout=self._config.socket_timeout_s * 2)
        await self.client.aclose()


async def end(*tasks: "asyncio.Task[Any]") -> None:
    """Cancel tasks that read from Redis until they end, whatever they raise. Before Python 3.12 one cancel may be lost
    in `asyncio.wait_for`, through which redis-py sends."""
    waiting = {task for task in tasks if not task.done()}
    while waiting:
        for task in waiting:
            task.cancel()
        _, waiting = await asyncio.wait(waiting, timeout=CANCEL_AGAIN_S)
    await asyncio.gather(*tasks, return_exceptions=True)


def _unable(error: ResponseError) -> bool:
    """True for answers that mean "not now": out of memory, a demoted primary, a disk that cannot be written, rights
    taken away."""
    return isinstance(error, UNABLE) or str(error).split(" ", 1)[0] in UNABLE_WORDS
