"""Which bundle versions a worker holds: the current one and those that running experiments name.

A version that is wanted no longer is kept for a while, because API processes switch at their own pace.
"""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import structlog

from models.bundle import versions
from models.errors import MissingArtifactError, ShortlistError
from service.gently import gently
from service.redis.link import RedisDownError
from service.worker.decoder import Decoder, Opener
from service.worker.worker import Worker

log = structlog.get_logger(__name__)
RETRY_S = 30.0


class Holding:
    """Keeps a worker's decoders at what is wanted; opens them in a thread.

    Args:
        worker: whose decoders.
        root: folder of bundles.
        open_version: opens a decoder.
        also: further versions that are wanted.
        poll_s: how often it looks.
        keep_s: how long a version is kept that is wanted no longer.
        opened: a decoder that was opened already.
    """

    def __init__(
        self,
        worker: Worker,
        root: Path,
        open_version: Opener,
        also: Callable[[], frozenset[str]],
        *,
        poll_s: float = 0.5,
        keep_s: float = 30.0,
        opened: Decoder | None = None,
    ) -> None:
        self._worker, self._root, self._open, self._also = worker, root, open_version, also
        self._poll_s, self._keep_s = poll_s, keep_s
        self._opened = opened
        self._refused: dict[str, float] = {}
        self._unwanted: dict[str, float] = {}

    async def run(self) -> None:
        """Follow what is wanted."""
        while True:
            try:
                await self.follow()
            except RedisDownError as error:
                log.debug("queue_unreachable", error=str(error))
            await asyncio.sleep(self._poll_s)

    async def follow(self) -> None:
        """Open what is wanted and not held, drop what has not been wanted for long enough.

        Raises:
            RedisDownError: the queue cannot be reached.
        """
        wanted = await asyncio.to_thread(self._wanted)
        for version in sorted(wanted - set(self._worker.versions)):
            if time.monotonic() - self._refused.get(version, -RETRY_S) >= RETRY_S:
                await self._hold(version)
        for version in self._worker.versions:
            await self._keep_or_drop(version, wanted=version in wanted)

    async def _keep_or_drop(self, version: str, *, wanted: bool) -> None:
        if wanted:
            self._unwanted.pop(version, None)
        elif time.monotonic() - self._unwanted.setdefault(version, time.monotonic()) >= self._keep_s:
            await self._worker.drop(version)
            await self._worker.sweep()
            self._unwanted.pop(version)

    def _wanted(self) -> frozenset[str]:
        try:
            current = versions.current(self._root)
        except (ShortlistError, OSError):
            current = None
        return self._also() | (frozenset() if current is None else {current})

    async def _decoder(self, version: str) -> Decoder:
        opened, self._opened = self._opened, None
        if opened is not None and opened.version == version:
            return opened
        return await gently(self._open, version)

    async def _hold(self, version: str) -> None:
        started = time.perf_counter()
        try:
            await self._worker.hold(await self._decoder(version))
        except MissingArtifactError:
            self._refused[version] = time.monotonic()
            log.info("bundle without a generator", bundle=version)
        except (ShortlistError, OSError) as error:
            self._refused[version] = time.monotonic()
            log.error("bundle refused", bundle=version, reason=str(error))
        else:
            log.info("bundle held", bundle=version, took_s=round(time.perf_counter() - started, 3))
