"""The worker's end of the queue: read, look again before a batch, answer, take over from the dead."""

import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from models.retrieval import Query
from service.redis import keys
from service.redis.link import RedisLink
from service.worker import scripts
from service.worker.scripts import GROUP
from service.worker.wire import Reply, decode_query, encode_reply

COMMAND_TIMEOUT_S = 5.0
SILENT_FOR_GOOD_MS = 60_000
CLAIMED_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Ticket:
    """One request as it was read.

    Attributes:
        version: bundle it speaks of.
        entry: its place in the stream.
        id, channel: whom to answer.
        deadline_ms: on Redis's clock.
        body: the query, still packed.
        read_at: when this worker read it, monotonic seconds.
    """

    version: str
    entry: str
    id: bytes
    channel: str
    deadline_ms: str
    body: bytes
    read_at: float

    def query(self) -> Query:
        """Unpacked."""
        return decode_query(self.body)

    def arrived_ms(self) -> float:
        """When it was enqueued, on Redis's clock."""
        return float(self.entry.split("-")[0])


@dataclass(frozen=True, slots=True)
class Checked:
    """What the last look before a batch found.

    Attributes:
        alive: those to decode.
        cancelled, expired: how many were dropped.
        now_ms: Redis's clock.
    """

    alive: list[Ticket]
    cancelled: int
    expired: int
    now_ms: float


def _ticket(version: str, entry: bytes, fields: Mapping[bytes, bytes], now: float) -> Ticket:
    return Ticket(
        version,
        entry.decode(),
        fields[b"id"],
        fields[b"channel"].decode(),
        fields[b"deadline"].decode(),
        fields[b"query"],
        now,
    )


class Queue:
    """One worker's view of the request streams."""

    def __init__(self, link: RedisLink, name: str) -> None:
        self._link, self.name = link, name
        self._begin = link.client.register_script(scripts.BEGIN)
        self._claim = link.client.register_script(scripts.CLAIM)
        self._beat = link.client.register_script(scripts.BEAT)

    async def _call(self, command: Callable[[Redis], Awaitable[Any]]) -> Any:
        return await self._link.call(command, timeout_s=COMMAND_TIMEOUT_S)

    async def join(self, version: str) -> None:
        """Make sure that the version's stream and the group exist."""
        with contextlib.suppress(ResponseError):
            stream = keys.gr_requests(version)
            await self._call(lambda client: client.xgroup_create(stream, GROUP, id="0", mkstream=True))
        await self._call(lambda client: client.sadd(keys.GR_VERSIONS, version))

    async def sweep(self) -> None:
        """Delete the streams of versions that no living worker serves."""
        beats = await self._call(lambda client: client.hvals(keys.GR_WORKERS))
        served = {version for beat in beats for version in orjson.loads(beat)["versions"]}
        for version in await self._call(lambda client: client.smembers(keys.GR_VERSIONS)):
            if version.decode() not in served:
                await self._forget(version.decode())

    async def _forget(self, version: str) -> None:
        await self._call(lambda client: client.delete(keys.gr_requests(version)))
        await self._call(lambda client: client.srem(keys.GR_VERSIONS, version))

    async def read(
        self, client: Redis, versions: Sequence[str], *, most: int, block_ms: int | None, now: float
    ) -> list[Ticket]:
        """Up to `most` waiting requests of each version; waits for the first one at most `block_ms`, None = not at all.
        Not to be cancelled: what was read would stay with this worker."""
        streams: Any = {keys.gr_requests(version): ">" for version in versions}
        found: Any = await client.xreadgroup(GROUP, self.name, streams, count=most, block=block_ms)
        names = {keys.gr_requests(version).encode(): version for version in versions}
        return [
            _ticket(names[stream], entry, fields, now)
            for stream, entries in found or []
            for entry, fields in entries
            if fields
        ]

    async def check(self, tickets: Sequence[Ticket]) -> Checked:
        """Who of a batch (of one version) still waits; the others leave the stream."""
        arguments = [part for ticket in tickets for part in (ticket.entry, ticket.deadline_ms)]
        stream = [keys.gr_requests(tickets[0].version)]
        now, *words = await self._call(lambda client: self._begin(stream, [GROUP, *arguments], client))
        alive = [ticket for ticket, word in zip(tickets, words, strict=True) if word == b"alive"]
        return Checked(alive, words.count(b"cancelled"), words.count(b"expired"), float(now))

    async def answer(self, tickets: Sequence[Ticket], replies: Sequence[Reply]) -> None:
        """Publish replies and let their requests leave the stream: one node of a cluster, since channels and stream
        share a hash tag. (A cluster's pipeline has no `publish`, but takes the command.)"""
        stream = keys.gr_requests(tickets[0].version)
        entries = [ticket.entry for ticket in tickets]

        def send(client: Redis) -> Awaitable[Any]:
            pipeline = client.pipeline(transaction=False)
            for ticket, reply in zip(tickets, replies, strict=True):
                pipeline.execute_command("PUBLISH", ticket.channel, encode_reply(reply))
            pipeline.xack(stream, GROUP, *entries)
            pipeline.xdel(stream, *entries)
            return pipeline.execute()

        await self._call(send)

    async def claim(self, version: str, *, idle_ms: int, now: float) -> list[Ticket]:
        """Requests that another worker read and left for `idle_ms`, each handed on once and only if unexpired."""
        stream = [keys.gr_requests(version)]
        arguments: list[str | int] = [GROUP, self.name, idle_ms, CLAIMED_AT_ONCE]
        found = await self._call(lambda client: self._claim(stream, arguments, client))
        return [
            _ticket(version, entry, dict(zip(fields[::2], fields[1::2], strict=True)), now) for entry, fields in found
        ]

    async def beat(self, heartbeat: bytes) -> None:
        """Say that this worker lives, and what it can do."""
        arguments: list[str | bytes | int] = [self.name, heartbeat, SILENT_FOR_GOOD_MS]
        await self._call(lambda client: self._beat([keys.GR_WORKERS], arguments, client))

    async def silence(self) -> None:
        """Say that this worker takes no further requests."""
        await self._call(lambda client: client.hdel(keys.GR_WORKERS, self.name))
