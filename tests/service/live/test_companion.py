"""A bundle with a generator begins to serve when a worker holds it, and no later than patience allows."""

import asyncio
import json
import time
from pathlib import Path

import pytest

from models.bundle.versions import current
from service.engine import Engine, open_engine
from service.live.companion import held_versions, worker_awaited
from service.redis import keys
from service.redis.link import RedisLink
from tests import shop
from tests.neural_shop import add_neural

from .conftest import running, settings_for, until

pytestmark = pytest.mark.anyio


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    one = shop.odd_shop(1)
    root = tmp_path / "bundles"
    shop.build(root, one, lambda writer, _: add_neural(writer, one.embeddings, one.popularity))
    return root


async def beat(link: RedisLink, *versions: str, ago_s: float = 0.0) -> None:
    said = json.dumps({"at": (time.time() - ago_s) * 1000, "versions": versions})
    await link.call(lambda redis: redis.hset(keys.GR_WORKERS, "w", said))  # type: ignore[arg-type]


async def waited(link: RedisLink, engine: Engine, *, expected: bool, patience_s: float) -> float:
    started = time.monotonic()
    await worker_awaited(link, engine, expected=expected, patience_s=patience_s)
    return time.monotonic() - started


async def test_who_expects_no_worker_does_not_wait_and_who_does_waits_for_the_bundle(
    link: RedisLink, trained: Path
) -> None:
    engine = open_engine(trained)
    assert await waited(link, engine, expected=False, patience_s=60) < 30
    assert await waited(link, engine, expected=True, patience_s=0.3) >= 0.3
    await beat(link, engine.version, ago_s=60)
    assert await held_versions(link) == []
    await beat(link, "another")
    assert await waited(link, engine, expected=False, patience_s=0.3) >= 0.3
    waiting = asyncio.create_task(waited(link, engine, expected=True, patience_s=60))
    await asyncio.sleep(0.2)
    assert not waiting.done()
    await beat(link, engine.version)
    assert await waiting < 30


async def test_a_swap_waits_for_the_worker(link: RedisLink, redis_url: str, trained: Path) -> None:
    first = current(trained)
    assert first is not None
    await beat(link, first)
    async with running(settings_for(trained, redis_url)) as (service, _):
        one = shop.odd_shop(2)
        shop.build(trained, one, lambda writer, _: add_neural(writer, one.embeddings, one.popularity))
        second = current(trained)
        assert second is not None
        for _ in range(4):
            await asyncio.sleep(0.1)
            await beat(link, first)
        assert service.runtime.require_engine().version == first
        await beat(link, first, second)
        await until(lambda: service.runtime.require_engine().version == second)
