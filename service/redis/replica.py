"""A small table in Redis that every process holds in memory: stock overrides, experiments.

A write takes one script: it gives the table a new revision, notes it beside each changed field and rings a bell. A
reader asks for what changed since the revision it holds: when the bell rings, when it reconnects, and once a second
in any case. Messages carry no data, so a lost one costs at most that second. Without Redis the last known state holds.

A table that comes back older than what a reader holds, or under another epoch, lost writes: the reader keeps what it
holds and gives back what the table lacks.
"""

import asyncio
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from service.redis.keys import PREFIX
from service.redis.link import RedisDownError, RedisLink, end

log = structlog.get_logger(__name__)

_WRITE = """
redis.call('SET', KEYS[4], ARGV[1], 'NX')
local revision = redis.call('INCR', KEYS[3])
for i = 4, #ARGV, 3 do
  local field, value = ARGV[i], ARGV[i + 2]
  if ARGV[2] == 'put' or redis.call('ZSCORE', KEYS[2], field) == false then
    if ARGV[i + 1] == 'drop' then redis.call('HDEL', KEYS[1], field) else redis.call('HSET', KEYS[1], field, value) end
    redis.call('ZADD', KEYS[2], revision, field)
  end
end
redis.call('PUBLISH', ARGV[3], revision)
return revision
"""

_READ = """
local epoch = redis.call('GET', KEYS[4]) or ''
local revision = tonumber(redis.call('GET', KEYS[3]) or '0')
local since = tonumber(ARGV[2])
if epoch ~= ARGV[1] or revision < since then since = 0 end
local changed = {}
if revision > since then
  changed = redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. since, '+inf')
end
local reply = {epoch, revision}
for _, field in ipairs(changed) do
  reply[#reply + 1] = field
  reply[#reply + 1] = redis.call('HGET', KEYS[1], field)
end
return reply
"""

Changes = Mapping[str, bytes | None]
"""Field -> its new value, None = dropped."""


@dataclass(frozen=True, slots=True)
class ReplicaConfig:
    """How often a reader looks without being told.

    Attributes:
        poll_s: the longest a lost message goes unnoticed.
        retry_s: pause before it connects again.
        write_timeout_s: the longest a caller waits for a write.
    """

    poll_s: float = 1.0
    retry_s: float = 0.1
    write_timeout_s: float = 2.0


class Replica:
    """One process's copy of a table. `values` may be read at any time; `on_change` is told what changed."""

    def __init__(self, link: RedisLink, name: str, config: ReplicaConfig | None = None) -> None:
        base = f"{PREFIX}:{{{name}}}"
        self.name = name
        self.values: dict[str, bytes] = {}
        self.revision = 0
        self.on_change: list[Callable[[Changes], None]] = []
        self.synced = asyncio.Event()
        self._link, self._config = link, config or ReplicaConfig()
        self._keys = [f"{base}:values", f"{base}:log", f"{base}:revision", f"{base}:epoch"]
        self._bell = f"{base}:bell"
        self._epoch = b""
        self._reading = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._write = link.client.register_script(_WRITE)
        self._read = link.client.register_script(_READ)

    async def put(self, changes: Changes) -> int:
        """Write fields and wait until this process sees them. Returns the revision.

        Raises:
            RedisDownError: nothing was acknowledged.
        """
        revision = await self._send("put", changes)
        await self.refresh()
        return revision

    async def _send(self, mode: str, changes: Changes) -> int:
        arguments: list[str | bytes] = [uuid.uuid4().hex, mode, self._bell]
        for field, value in changes.items():
            arguments += [field, "drop", b""] if value is None else [field, "set", value]
        wait_s = self._config.write_timeout_s
        return int(await self._link.call(lambda client: self._write(self._keys, arguments, client), timeout_s=wait_s))

    async def refresh(self) -> None:
        """Read what changed since the revision held.

        Raises:
            RedisDownError: Redis did not answer; what is held stays.
        """
        async with self._reading:
            reply = await self._link.call(lambda client: self._read(self._keys, [self._epoch, self.revision], client))
            epoch, revision = reply[0], int(reply[1])
            lost = self.revision > 0 and (epoch != self._epoch or revision < self.revision)
            changes = {field.decode(): value for field, value in zip(reply[2::2], reply[3::2], strict=True)}
            if lost:
                await self._give_back(changes)
            self._epoch, self.revision = epoch, revision
            self._apply(changes)
        self.synced.set()

    async def _give_back(self, found: Changes) -> None:
        missing: dict[str, bytes | None] = {name: held for name, held in self.values.items() if name not in found}
        log.warning("table_lost_writes", table=self.name, held=len(self.values), given_back=len(missing))
        if missing:
            await self._send("restore", missing)

    def _apply(self, changes: Changes) -> None:
        changed = {field: value for field, value in changes.items() if self.values.get(field) != value}
        for field, value in changed.items():
            if value is None:
                del self.values[field]
            else:
                self.values[field] = value
        if changed:
            for listener in self.on_change:
                listener(changed)

    def start(self) -> None:
        """Follow the table in the background."""
        self._task = asyncio.create_task(self._follow(), name=f"replica-{self.name}")

    async def stop(self) -> None:
        """Stop following."""
        if self._task is not None:
            await end(self._task)

    async def _follow(self) -> None:
        while True:
            client: Redis | None = None
            try:
                client = await self._link.dedicated(self._keys[0])
                await self._listen(client)
            except (RedisError, RedisDownError, OSError) as error:
                log.debug("table_unreachable", table=self.name, error=type(error).__name__)
                await asyncio.sleep(self._config.retry_s)
            except Exception:  # what a listener cannot use must not end the following
                log.exception("table_not_followed", table=self.name)
                await asyncio.sleep(self._config.poll_s)
            finally:
                if client is not None:
                    await client.aclose()

    async def _listen(self, client: Redis) -> None:
        async with client.pubsub(ignore_subscribe_messages=True) as bell:
            await bell.subscribe(self._bell)
            while True:
                await self.refresh()
                await bell.get_message(timeout=self._config.poll_s)
