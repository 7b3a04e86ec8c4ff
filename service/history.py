"""Users' histories in Redis: what `POST /events` appends to and `/recommend` reads.

One sorted set a user, scored by the events' own time, so order of arrival does not matter; equal times keep the order
of arrival. A second sorted set remembers digests of the event ids that were applied lately, which makes a repeated
event a no-op. Both are written by one script, capped, and leave together when the user is silent for the time to live.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import xxhash

from service.redis import keys
from service.redis.link import RedisLink
from service.redis.together import Together

_APPEND = """
local history, seen = KEYS[1], KEYS[2]
local cap, remembered, ttl_s = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local now = redis.call('TIME')
local arrival = string.format('%010d%06d', now[1], now[2])
local applied = {}
for i = 4, #ARGV, 3 do
  local fresh = redis.call('ZADD', seen, 'NX', arrival, ARGV[i])
  applied[#applied + 1] = fresh
  if fresh == 1 and ARGV[i + 2] ~= '' then
    redis.call('ZADD', history, ARGV[i + 1], arrival .. string.format('%05d', i) .. ARGV[i + 2])
  end
end
redis.call('ZREMRANGEBYRANK', history, 0, -cap - 1)
redis.call('ZREMRANGEBYRANK', seen, 0, -remembered - 1)
redis.call('EXPIRE', history, ttl_s)
redis.call('EXPIRE', seen, ttl_s)
return applied
"""

_ERASE = """
local held = redis.call('ZCARD', KEYS[1])
redis.call('DEL', KEYS[1], KEYS[2])
return held
"""

_ARRIVAL_DIGITS = 21
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class HistoryConfig:
    """What a history holds.

    Attributes:
        cap: newest events kept a user.
        remembered: event ids remembered a user; a repeat beyond it is applied again.
        ttl_s: seconds after the last event until the history leaves.
        weights: weight of each event type; an event of weight 0 is logged but does not enter the history.
        default_weight: weight of a type that is not listed.
        write_timeout_s: the longest a caller waits for a write.
    """

    cap: int = 200
    remembered: int = 400
    ttl_s: int = 90 * 24 * 3600
    weights: Mapping[str, float] = field(default_factory=dict)
    default_weight: float = 1.0
    write_timeout_s: float = 1.0

    def weight(self, event: str) -> float:
        """Weight of one event type."""
        return self.weights.get(event, self.default_weight)


@dataclass(frozen=True, slots=True)
class Event:
    """One thing a user did.

    Attributes:
        event_id: the caller's id of it; the same id again is the same event.
        user_id, item_id: opaque ids.
        timestamp: when, with offset.
        event: view, cart, purchase...
        request_id: the list that led to it.
    """

    event_id: str
    user_id: str
    item_id: str
    timestamp: datetime
    event: str = "view"
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """One entry of a history."""

    item_id: str
    event: str
    timestamp: datetime


def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // _EPOCH.resolution


def _entry(member: bytes, score: float) -> Seen:
    event, _, item_id = member[_ARRIVAL_DIGITS:].decode().partition("\0")
    return Seen(item_id, event, _EPOCH + int(score) * _EPOCH.resolution)


def counted(members: Sequence[bytes]) -> list[str]:
    """Item ids of a history as a retriever takes it: consecutive entries of one item with different events are one.

    >>> arrival = b"0" * 21
    >>> counted([arrival + entry for entry in (b"view\\0a", b"cart\\0a", b"view\\0b", b"view\\0b")])
    ['a', 'b', 'b']
    """
    kept, before_event, before_item = [], "", ""
    for member in members:
        event, _, item_id = member[_ARRIVAL_DIGITS:].decode().partition("\0")
        if item_id != before_item or event == before_event:
            kept.append(item_id)
        before_event, before_item = event, item_id
    return kept


class HistoryStore:
    """Append, read, erase."""

    def __init__(self, link: RedisLink, config: HistoryConfig | None = None) -> None:
        self.config = config or HistoryConfig()
        self._link = link
        self._append = link.client.register_script(_APPEND)
        self._erase = link.client.register_script(_ERASE)
        self._together = Together(link, self.config.cap)

    async def append(self, user_id: str, events: Sequence[Event]) -> list[bool]:
        """Add one user's events, all or none. Returns which of them were new.

        Raises:
            RedisDownError: not acknowledged; sending them again is safe.
        """
        config = self.config
        arguments: list[str | bytes | int] = [config.cap, config.remembered, config.ttl_s]
        for event in events:
            arguments += [
                xxhash.xxh3_128_digest(event.event_id.encode()),
                _microseconds(event.timestamp),
                self._member(event),
            ]
        applied = await self._link.call(
            lambda client: self._append(self._user_keys(user_id), arguments, client),
            timeout_s=config.write_timeout_s,
        )
        return [bool(fresh) for fresh in applied]

    def _member(self, event: Event) -> str:
        return f"{event.event}\0{event.item_id}" if self.config.weight(event.event) > 0 else ""

    async def read(self, user_id: str, *, timeout_s: float | None = None) -> list[Seen]:
        """The user's entries, oldest first; empty for an unknown user.

        Raises:
            RedisDownError: no answer in time.
        """
        found: Any = await self._link.call(
            lambda client: client.zrange(keys.history(user_id), -self.config.cap, -1, withscores=True),
            timeout_s=timeout_s,
        )
        return [_entry(member, score) for member, score in found]

    async def item_ids(self, user_id: str, *, timeout_s: float) -> list[str]:
        """The user's items as a retriever takes them: see `counted`.

        Raises:
            RedisDownError: no answer in time.
        """
        return counted(await self._together.newest(keys.history(user_id), timeout_s))

    async def erase(self, user_id: str) -> int:
        """Remove the user from every key. Returns how many entries there were.

        Raises:
            RedisDownError: not acknowledged.
        """
        return int(await self._link.call(lambda client: self._erase(self._user_keys(user_id), [], client)))

    @staticmethod
    def _user_keys(user_id: str) -> list[str]:
        return [keys.history(user_id), keys.seen_events(user_id)]
