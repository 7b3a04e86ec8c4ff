"""One API process of the supervisor: `python -m service.supervisor.api DESCRIPTOR [ADMIN_DESCRIPTOR]`."""

import asyncio
import contextlib
import gc
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import FrameType

import uvicorn

from service.access import admin_door
from service.app import Service, create_app
from service.logs import configure_logs
from service.server import server_config
from service.settings import Settings
from service.stalled import Patience, Stalled
from service.supervisor.gather import answer_on, process_socket
from service.supervisor.launch import leave_now

STARTED_POLL_S = 0.01
SWITCH_S = 0.0005
"""How long a thread that opens a bundle may keep the interpreter while requests wait for it; Python's own is 5 ms."""
LAST_WORDS_S = 0.25
"""How long a connection that was just made has to send its request when the process is asked to leave."""


class Main(uvicorn.Server):
    """The server that SIGTERM drains; uvicorn's own would raise the signal again and so skip what comes after.

    Args:
        config: uvicorn's.
        patience: how long a client may stop in the middle.
    """

    def __init__(self, config: uvicorn.Config, patience: Patience) -> None:
        super().__init__(config)
        self._stalled = Stalled(patience)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open the bundle, listen, and let the garbage collector pass over all that was made until now and stays.

        A full collection of it holds up requests for a tenth of a second, and opening a bundle sets off several.
        """
        await super().startup(sockets)
        gc.collect()
        gc.freeze()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Finish what is in flight; while the first bundle is still being opened nothing is, so leave at once."""
        if not self.started:
            leave_now()
        super().handle_exit(sig, frame)

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second."""
        self._stalled.look(self.server_state.connections)
        return await super().on_tick(counter)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals while serving; afterwards nothing is left to stop."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.handle_exit)
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept who waits already, then nothing more, and let those who came last still send their request."""
        await asyncio.sleep(LAST_WORDS_S)
        for server in self.servers:
            server.close()
        for bound in sockets or ():
            bound.close()
        await asyncio.sleep(LAST_WORDS_S)
        await super().shutdown(sockets)


class Beside(uvicorn.Server):
    """A second server in one process: signals belong to the first."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave them alone."""
        yield


async def serve(settings: Settings, descriptors: list[int]) -> None:
    """Serve on inherited sockets until SIGTERM, finish what is in flight, return."""
    app = create_app(settings)
    sockets = [socket.socket(fileno=descriptor) for descriptor in descriptors]
    patience = Patience(silent=settings.keep_alive_s, headers=settings.body_timeout_s)
    main = Main(server_config(app, settings), patience)
    async with contextlib.AsyncExitStack() as stack:
        if settings.run_dir is not None:
            path = process_socket(settings.run_dir, os.getpid())
            await stack.enter_async_context(_answering(path, app, main))
        if len(sockets) > 1:
            await stack.enter_async_context(_admin(app, settings, sockets[1]))
        await main.serve(sockets=sockets[:1])
    if not main.started:
        raise SystemExit(1)


@contextlib.asynccontextmanager
async def _answering(path: Path, app: Service, server: uvicorn.Server) -> AsyncIterator[None]:
    """Metrics for the supervisor, from the moment that the server answers: by it the supervisor knows that it does."""

    async def once_started() -> asyncio.Server:
        while not server.started:
            await asyncio.sleep(STARTED_POLL_S)
        return await answer_on(path, app.metrics.exposition)

    task = asyncio.create_task(once_started())
    try:
        yield
    finally:
        task.cancel()
        if task.done() and not task.cancelled():
            task.result().close()


@contextlib.asynccontextmanager
async def _admin(app: Service, settings: Settings, bound: socket.socket) -> AsyncIterator[None]:
    config = server_config(admin_door(app), settings)
    config.lifespan = "off"
    server = Beside(config)
    task = asyncio.create_task(server.serve(sockets=[bound]))
    try:
        yield
    finally:
        server.should_exit = True
        await task


def main() -> None:
    """Read the settings from the environment and serve."""
    settings = Settings()
    configure_logs(settings.log_level, settings.log_format)
    sys.setswitchinterval(SWITCH_S)
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(settings, [int(argument) for argument in sys.argv[1:]]))
    leave_now()


if __name__ == "__main__":
    main()
