"""The link to Redis is bounded in time, survives cancels, and recovers by itself."""

import asyncio
import os
import random
import signal
from pathlib import Path

import pytest
import redis
import redis.asyncio
from redis.exceptions import ResponseError
from structlog.testing import capture_logs

from service.breaker import Breaker, BreakerConfig, BreakerState
from service.redis.link import LinkConfig, RedisDownError, RedisLink
from service.redis.server import EmbeddedRedis, EmbeddedRedisConfig
from service.worker.config import WorkerConfig
from service.worker.intake import Intake
from service.worker.queue import Queue

from .conftest import until

pytestmark = pytest.mark.anyio


async def test_cancelled_and_late_callers_never_leave_a_reply_for_the_next_one(link: RedisLink) -> None:
    chance = random.Random(5)

    async def ask(word: str) -> None:
        assert (
            await link.call(lambda client: client.echo(word), timeout_s=chance.choice([0.0, 0.0005, 0.25]))
            == word.encode()
        )

    async def disturbed(number: int) -> str:
        task = asyncio.create_task(ask(f"word-{number}"))
        await asyncio.sleep(chance.random() * 0.002)
        if chance.random() < 0.5:
            task.cancel()
        try:
            await task
        except (asyncio.CancelledError, RedisDownError) as error:
            return type(error).__name__
        return "answered"

    outcomes: list[str] = []
    for start in range(0, 3000, 100):
        outcomes += await asyncio.gather(*(disturbed(number) for number in range(start, start + 100)))
    assert set(outcomes) == {"answered", "CancelledError", "RedisDownError"}
    await until(lambda: not link._running)
    assert not link.client.connection_pool._in_use_connections
    await asyncio.gather(*(ask_plainly(link, number) for number in range(200)))


async def ask_plainly(link: RedisLink, number: int) -> None:
    assert await link.call(lambda client: client.echo(str(number))) == str(number).encode()


async def test_a_stopped_server_costs_one_timeout_then_nothing_and_the_link_recovers(tmp_path: Path) -> None:
    with EmbeddedRedis(EmbeddedRedisConfig(tmp_path)) as server:
        config = LinkConfig(server.url, timeout_s=0.05, socket_timeout_s=0.2, breaker=BreakerConfig(2, 0.1))
        link = RedisLink(config)
        assert await link.alive()
        os.kill(server.pid, signal.SIGSTOP)
        for _ in range(2):
            with pytest.raises(RedisDownError, match="no answer"):
                await link.call(lambda client: client.ping())
        with pytest.raises(RedisDownError, match="not being asked"):
            await link.call(lambda client: client.ping())
        os.kill(server.pid, signal.SIGCONT)
        await until(link.alive)
        assert link.breaker.state is BreakerState.CLOSED
        await link.aclose()


async def test_a_killed_server_that_comes_back_is_used_again(tmp_path: Path) -> None:
    server = EmbeddedRedis(EmbeddedRedisConfig(tmp_path))
    server.start()
    link = RedisLink(LinkConfig(server.url))
    await link.call(lambda client: client.set("a", 1))
    os.kill(server.pid, signal.SIGKILL)
    server.stop()
    with pytest.raises(RedisDownError):
        await link.call(lambda client: client.get("a"))
    server.start()
    await until(link.alive)
    assert await link.call(lambda client: client.get("a")) == b"1"
    await link.aclose()
    server.stop()


async def test_a_redis_that_is_gone_is_told_once_and_once_when_it_is_back(tmp_path: Path) -> None:
    server = EmbeddedRedis(EmbeddedRedisConfig(tmp_path))
    server.start()
    link = RedisLink(LinkConfig(server.url, breaker=BreakerConfig(failures=2, cooldown_s=0.05)))
    assert await link.alive()
    with capture_logs() as told:
        server.stop()
        for _ in range(12):
            assert not await link.alive()
            await asyncio.sleep(0.03)
        server.start()
        await until(link.alive)
        assert await link.alive()
    await link.aclose()
    server.stop()
    assert [each["event"] for each in told] == ["redis_unreachable", "redis_reachable"]


async def test_a_redis_that_answers_too_late_is_told_once(redis_url: str) -> None:
    config = LinkConfig(redis_url, timeout_s=0.02, socket_timeout_s=0.5, breaker=BreakerConfig(2, 0.02))
    link = RedisLink(config)

    async def late(client: redis.asyncio.Redis) -> bool:
        await asyncio.sleep(0.05)
        return await client.ping()

    with capture_logs() as told:
        for _ in range(30):
            with pytest.raises(RedisDownError):
                await link.call(late)
            await asyncio.sleep(0.01)
        assert [each["event"] for each in told] == ["redis_unreachable"]
        await until(link.alive)
    await link.aclose()
    assert [each["event"] for each in told] == ["redis_unreachable", "redis_reachable"]


async def test_a_worker_that_may_not_read_its_queue_says_so_once(tmp_path: Path) -> None:
    with EmbeddedRedis(EmbeddedRedisConfig(tmp_path)) as server, capture_logs() as told:
        admin = redis.Redis.from_url(server.url)
        link = RedisLink(LinkConfig(server.url))
        queue = Queue(link, "reader")
        await queue.join("v1")
        intake = Intake(link, queue, WorkerConfig(), lambda: ["v1"])
        admin.execute_command("ACL", "SETUSER", "default", "-xreadgroup")
        reading = asyncio.create_task(intake.run())
        await until(lambda: bool(told))
        await asyncio.sleep(0.3)
        admin.execute_command("ACL", "SETUSER", "default", "+xreadgroup")
        await until(lambda: len(told) > 1)
        intake.drain()
        await reading
        admin.close()
        await link.aclose()
    assert [(each["log_level"], each["event"]) for each in told] == [
        ("warning", "queue_unreachable"),
        ("info", "queue_reachable"),
    ]


async def test_a_hurried_caller_does_not_open_the_breaker(link: RedisLink) -> None:
    for _ in range(20):
        with pytest.raises(RedisDownError):
            await link.call(lambda client: client.blpop(["nobody-pushes"], 5), timeout_s=0.01)
    assert link.breaker.state is BreakerState.CLOSED


async def test_a_mistaken_command_is_an_error_of_the_caller_not_of_redis(link: RedisLink) -> None:
    for _ in range(10):
        with pytest.raises(ResponseError):
            await link.call(lambda client: client.execute_command("NONSENSE"))
    assert link.breaker.state is BreakerState.CLOSED


async def test_a_full_read_only_or_locked_redis_counts_as_down(tmp_path: Path) -> None:
    with EmbeddedRedis(EmbeddedRedisConfig(tmp_path / "redis")) as server:
        link = RedisLink(LinkConfig(server.url))
        with redis.Redis.from_url(server.url) as operator:
            operator.config_set("maxmemory-policy", "noeviction")
            for spoil, mend in SPOILT:
                operator.execute_command(*spoil)
                with pytest.raises(RedisDownError):
                    await link.call(lambda client: client.set("a", "b"))
                operator.execute_command(*mend)
                assert await link.call(lambda client: client.set("a", "b"))
        await link.aclose()


SPOILT = (
    (("CONFIG", "SET", "maxmemory", "1"), ("CONFIG", "SET", "maxmemory", "0")),
    (("REPLICAOF", "127.0.0.1", "1"), ("REPLICAOF", "NO", "ONE")),
    (("ACL", "SETUSER", "default", "-set"), ("ACL", "SETUSER", "default", "+set")),
    (("CONFIG", "SET", "min-replicas-to-write", "1"), ("CONFIG", "SET", "min-replicas-to-write", "0")),
)
"""What an operator may do to a Redis, and how it is undone."""


async def test_a_burst_beyond_the_connections_waits_instead_of_failing(redis_url: str) -> None:
    link = RedisLink(LinkConfig(redis_url, timeout_s=5, connections=4))
    assert all(await asyncio.gather(*(link.call(lambda client: client.ping()) for _ in range(500))))
    await link.aclose()


def test_an_open_breaker_lets_one_trial_through_each_cooldown() -> None:
    now = [0.0]
    breaker = Breaker(BreakerConfig(failures=3, cooldown_s=1.0), clock=lambda: now[0])
    for _ in range(3):
        assert breaker.allows()
        breaker.failed()
    assert not breaker.allows()
    now[0] = 1.0
    assert [breaker.allows() for _ in range(3)] == [True, False, False]
    breaker.failed()
    now[0] = 1.5
    assert not breaker.allows()
    now[0] = 2.0
    assert breaker.allows()
    breaker.succeeded()
    assert breaker.allows()
    assert breaker.allows()
