"""Second bundles, each served to the variants of running experiments that name it."""

import asyncio
import contextlib
import math
import time

import structlog

from models.errors import BundleError
from service.experiments.book import ExperimentBook
from service.runtime import Runtime

log = structlog.get_logger(__name__)
POLL_S = 1.0
RETRY_S = 30.0
"""A version that was refused is tried again after this time: it may be on its way from a remote root."""


def wanted_bundles(book: ExperimentBook) -> frozenset[str]:
    """Versions that variants of running experiments name."""
    return frozenset(variant.bundle for one in book.active() for variant in one.variants if variant.bundle is not None)


class Shadows:
    """Keeps `runtime.shadows` at what the running experiments want; opens off the request path."""

    def __init__(self, runtime: Runtime, book: ExperimentBook) -> None:
        self._runtime, self._book = runtime, book
        self._refused: dict[str, float] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to follow the experiments."""
        self._task = asyncio.create_task(self._run(), name="second bundles")

    async def stop(self) -> None:
        """Stop following."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        while True:
            await self.follow()
            await asyncio.sleep(POLL_S)

    async def follow(self) -> None:
        """Open what is wanted and not there, let go of what is not wanted any more."""
        wanted = wanted_bundles(self._book)
        self._refused = {version: at for version, at in self._refused.items() if version in wanted}
        for version in wanted - self._runtime.shadows.keys():
            if time.monotonic() - self._refused.get(version, -math.inf) >= RETRY_S:
                await self._open(version)
        for version in self._runtime.shadows.keys() - wanted:
            del self._runtime.shadows[version]

    async def _open(self, version: str) -> None:
        try:
            engine = await self._runtime.open(version)
        except (BundleError, OSError) as error:
            if version not in self._refused:
                log.error("second bundle refused", bundle=version, reason=str(error))
            self._refused[version] = time.monotonic()
            return
        self._runtime.attach(engine)
        self._runtime.shadows[version] = engine
