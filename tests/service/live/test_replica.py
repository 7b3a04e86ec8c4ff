"""A table in Redis reaches every reader, outlives Redis, and heals when Redis forgot."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from service.redis.link import LinkConfig, RedisDownError, RedisLink
from service.redis.replica import Replica, ReplicaConfig
from service.redis.server import EmbeddedRedis, EmbeddedRedisConfig

from .conftest import until

pytestmark = pytest.mark.anyio


async def test_a_write_reaches_another_process_within_50_ms(redis_url: str) -> None:
    here, there = (
        RedisLink(LinkConfig(redis_url, timeout_s=5.0)),
        RedisLink(LinkConfig(redis_url, timeout_s=5.0)),
    )
    writer, reader = Replica(here, "t"), Replica(there, "t")
    reader.start()
    await reader.synced.wait()
    delays = []
    for number in range(20):
        await writer.put({"field": b"%d" % number})
        delays.append(await until(lambda n=number: reader.values.get("field") == b"%d" % n))
    assert sorted(delays)[len(delays) // 2] < 0.05
    await writer.put({"field": None})
    await until(lambda: reader.values == {})
    assert writer.values == {}
    await reader.stop()
    await here.aclose()
    await there.aclose()


async def test_a_lost_message_is_made_up_by_the_next_look(link: RedisLink) -> None:
    reader = Replica(link, "t", ReplicaConfig(poll_s=0.02))
    reader._bell = "no such bell"
    reader.start()
    await reader.synced.wait()
    await Replica(link, "t").put({"a": b"1"})
    await until(lambda: reader.values == {"a": b"1"})
    await reader.stop()


async def test_the_last_known_state_holds_without_redis_and_follows_again_afterwards(tmp_path: Path) -> None:
    server = EmbeddedRedis(EmbeddedRedisConfig(tmp_path))
    server.start()
    link = RedisLink(LinkConfig(server.url))
    reader = Replica(link, "t", ReplicaConfig(poll_s=0.05, retry_s=0.01))
    reader.start()
    await reader.put({"a": b"1", "b": b"2"})
    os.kill(server.pid, signal.SIGKILL)
    server.stop()
    with pytest.raises(RedisDownError):
        await reader.put({"a": b"9"})
    assert reader.values == {"a": b"1", "b": b"2"}
    server.start()
    await until(link.alive)
    other = RedisLink(LinkConfig(server.url))
    await Replica(other, "t").put({"a": b"3"})
    await until(lambda: reader.values == {"a": b"3", "b": b"2"})
    await reader.stop()
    await other.aclose()
    await link.aclose()
    server.stop()


async def test_a_reader_gives_back_what_redis_forgot_and_newer_writes_win(link: RedisLink) -> None:
    reader = Replica(link, "t")
    await reader.put({"a": b"1", "b": b"2"})
    await link.call(lambda client: client.flushall())
    await Replica(link, "t").put({"a": b"new"})
    await reader.refresh()
    newcomer = Replica(link, "t")
    await newcomer.refresh()
    assert reader.values == newcomer.values == {"a": b"new", "b": b"2"}


async def test_listeners_hear_only_what_changed(link: RedisLink) -> None:
    heard: list[dict[str, bytes | None]] = []
    writer, reader = Replica(link, "t"), Replica(link, "t")
    reader.on_change.append(lambda changes: heard.append(dict(changes)))
    await writer.put({"a": b"1", "b": b"2"})
    await reader.refresh()
    await writer.put({"b": b"2", "c": b"3"})
    await asyncio.gather(reader.refresh(), reader.refresh())
    assert heard == [{"a": b"1", "b": b"2"}, {"c": b"3"}]
