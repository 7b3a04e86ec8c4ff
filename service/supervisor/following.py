"""The process that brings bundles from elsewhere, beside a service or a worker that wants them."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from service.settings import Settings
from service.supervisor.child import Child, Command

LEAVE_S = 5.0


def mirror_command(settings: Settings) -> Command:
    """How it is started; `service.mirror` is imported there only, with the storage's client."""
    environment = {
        "SHORTLIST_BUNDLES": str(settings.bundles),
        "SHORTLIST_REMOTE_BUNDLES": str(settings.remote_bundles),
    }
    return Command("mirror", (sys.executable, "-P", "-m", "service.mirror"), environment)


@asynccontextmanager
async def mirrored(settings: Settings) -> AsyncIterator[None]:
    """Bundles are followed meanwhile, unless they are local or a supervisor sees to it."""
    if settings.remote_bundles is None or settings.run_dir is not None:
        yield
        return
    child = Child(mirror_command(settings))
    running = asyncio.create_task(child.run(), name="mirror")
    try:
        yield
    finally:
        await child.leave(LEAVE_S)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
