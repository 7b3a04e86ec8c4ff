"""A bundle's lists of `gr` are made by workers: a bundle begins to serve when one of them is warm on it."""

import asyncio
import time

import orjson
import structlog

from models.bundle import layout
from service.engine import Engine
from service.redis import keys
from service.redis.link import RedisDownError, RedisLink

log = structlog.get_logger(__name__)
POLL_S = 0.1
PATIENCE_S = 15.0
"""Then it serves without: `gr` falls back until a worker has come."""
LIVING_MS = 5000.0
"""A worker that has been silent for longer may be dead. Workers beat several times a second by the clock of Redis."""


async def held_versions(link: RedisLink) -> list[frozenset[str]]:
    """The bundle versions of each worker that has lately said that it lives.

    Raises:
        RedisDownError: nobody can be asked.
    """
    beats = await link.call(lambda client: client.hvals(keys.GR_WORKERS))
    told, since = map(orjson.loads, beats), time.time() * 1000 - LIVING_MS
    return [frozenset(beat["versions"]) for beat in told if beat["at"] > since]


async def worker_awaited(link: RedisLink, engine: Engine, *, expected: bool, patience_s: float = PATIENCE_S) -> None:
    """Wait until a worker holds an engine's bundle, unless the bundle has no generator, there is no worker and none is
    expected, or Redis is down.

    Args:
        link: to Redis.
        engine: what is about to serve.
        expected: whether workers start beside this process.
        patience_s: the longest wait, in seconds.
    """
    if layout.GENERATOR not in engine.bundle.manifest.files:
        return
    until = time.monotonic() + patience_s
    while time.monotonic() < until:
        try:
            held = await held_versions(link)
        except RedisDownError:
            return
        if any(engine.version in versions for versions in held) or not (held or expected):
            return
        await asyncio.sleep(POLL_S)
    log.warning("no worker holds the bundle yet", bundle=engine.version, waited_s=patience_s)
