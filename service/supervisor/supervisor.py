"""`shortlist serve`: one parent that starts Redis (unless one is configured), GR workers and API processes, replaces
those that die, drains them in order on SIGTERM and answers with everybody's metrics."""

import asyncio
import os
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import structlog

from models.bundle import layout, versions
from models.bundle.manifest import read_manifest
from models.errors import ShortlistError
from service.redis.server import EmbeddedRedis, EmbeddedRedisConfig
from service.settings import Settings
from service.supervisor.child import Child, Command, HopelessError, RedisKeeper
from service.supervisor.following import mirror_command
from service.supervisor.gather import Totals, answer_on, parse, process_socket, read_socket
from service.supervisor.listening import listen, turn_away

log = structlog.get_logger(__name__)
GRACE_S = 5.0
LOOK_S = 1.0
ANNOUNCE_POLL_S = 0.05
PROGRAM = (sys.executable, "-P", "-m")


def wants_worker(bundles: Path) -> bool:
    """Whether the current bundle holds a generator."""
    try:
        current = versions.current(bundles)
        return current is not None and layout.GENERATOR in read_manifest(bundles / current).files
    except (ShortlistError, OSError):
        return False


class Supervisor:
    """The parent."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._run_dir = Path(tempfile.mkdtemp(prefix="shortlist-run-"))
        self._redis: EmbeddedRedis | None = None
        self._apis: list[Child] = []
        self._workers: list[Child] = []
        self._mirrors: list[Child] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._totals = Totals()
        self._stopping = asyncio.Event()
        self._hopeless: HopelessError | None = None

    async def run(self) -> int:
        """Serve until SIGTERM or SIGINT. Returns the exit code: 0 when everything was drained.

        Raises:
            ConfigError: the address or the data folder cannot be had.
            ShortlistError: Redis does not start.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._stopping.set)
        sockets = self._listen()
        try:
            await self._start(sockets)
            await self._stopping.wait()
            for bound in sockets:
                turn_away(bound)
                bound.close()
            await self._drain()
        finally:
            for bound in sockets:
                bound.close()
            self._clean()
        return 0 if self._hopeless is None else 1

    def _listen(self) -> list[socket.socket]:
        settings = self._settings
        sockets = [listen(settings.host, settings.port)]
        if settings.admin_port is not None:
            sockets.append(listen(settings.admin_host, settings.admin_port))
        return sockets

    async def _start(self, sockets: list[socket.socket]) -> None:
        await self._start_redis()
        await answer_on(self._run_dir / "metrics.sock", self._gather)
        if self._settings.remote_bundles is not None:
            self._mirrors.append(Child(mirror_command(self._settings)))
            self._spawn(self._watched(self._mirrors[-1]))
        for number in range(self._settings.workers):
            self._apis.append(Child(self._api_command(number, sockets), self._died))
        for api in self._apis:
            self._spawn(self._watched(api))
        self._spawn(self._start_workers())
        self._spawn(self._announce(sockets[0]))

    async def _announce(self, bound: socket.socket) -> None:
        """Say where the service answers once every API process does."""
        while not all(api.pid and process_socket(self._run_dir, api.pid).exists() for api in self._apis):
            await asyncio.sleep(ANNOUNCE_POLL_S)
        host, port = bound.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        log.info(f"running on http://{shown}:{port} with {self._settings.workers} API processes")

    async def _start_redis(self) -> None:
        if self._settings.redis_url is not None:
            return
        config = EmbeddedRedisConfig(self._settings.data / "redis", maxmemory_mb=self._settings.redis_maxmemory_mb)
        self._redis = EmbeddedRedis(config)
        await self._launch_redis()
        self._spawn(RedisKeeper(self._launch_redis, self._redis.alive).run())

    async def _launch_redis(self) -> None:
        if self._redis is not None:
            self._redis.launch()
            await asyncio.to_thread(self._redis.wait_ready)

    def _environment(self) -> dict[str, str]:
        shared = {"SHORTLIST_RUN_DIR": str(self._run_dir), "SHORTLIST_BUNDLES": str(self._settings.bundles)}
        if self._settings.remote_bundles is not None:
            shared["SHORTLIST_REMOTE_BUNDLES"] = self._settings.remote_bundles
        return shared if self._redis is None else shared | {"SHORTLIST_REDIS_URL": self._redis.url}

    def _api_command(self, number: int, sockets: list[socket.socket]) -> Command:
        descriptors = tuple(bound.fileno() for bound in sockets)
        arguments = (*PROGRAM, "service.supervisor.api", *map(str, descriptors))
        return Command(f"api-{number}", arguments, self._environment(), descriptors, vital=True)

    def _worker_command(self, number: int) -> Command:
        arguments = (sys.executable, "-P", "-c", "from models.cli import main; main()", "worker")
        return Command(f"worker-{number}", arguments, self._environment())

    async def _start_workers(self) -> None:
        while self._settings.gr_workers and not await asyncio.to_thread(wants_worker, self._settings.bundles):
            await asyncio.sleep(LOOK_S)
        for number in range(self._settings.gr_workers):
            self._workers.append(Child(self._worker_command(number), self._died))
            self._spawn(self._watched(self._workers[-1]))

    async def _watched(self, child: Child) -> None:
        try:
            await child.run()
        except HopelessError as error:
            log.error("giving up", reason=str(error))
            self._hopeless = error
            self._stopping.set()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _died(self, pid: int) -> None:
        self._totals.died(str(pid))
        process_socket(self._run_dir, pid).unlink(missing_ok=True)

    async def _gather(self) -> bytes:
        pids = [child.pid for child in (*self._apis, *self._workers) if child.pid is not None]
        await asyncio.gather(*(self._ask(pid) for pid in pids))
        return self._totals.exposition()

    async def _ask(self, pid: int) -> None:
        try:
            said = await read_socket(process_socket(self._run_dir, pid))
        except (OSError, TimeoutError):
            return
        self._totals.heard(str(pid), parse(said.decode()))

    async def _drain(self) -> None:
        """The API first, while workers and Redis still answer it. Our own copies of the sockets are closed by now: they
        would keep on taking connections that nobody accepts."""
        timeout_s = self._settings.drain_timeout_s + GRACE_S
        log.info("draining")
        for child in (*self._apis, *self._workers, *self._mirrors):
            child.last()
        await asyncio.gather(*(child.leave(timeout_s) for child in (*self._apis, *self._mirrors)))
        await asyncio.gather(*(worker.leave(timeout_s) for worker in self._workers))
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        log.info("drained")

    def _clean(self) -> None:
        if self._redis is not None:
            self._redis.stop()
        shutil.rmtree(self._run_dir, ignore_errors=True)


def supervise(settings: Settings) -> int:
    """Run the supervisor. Returns the exit code."""
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    return asyncio.run(_supervise(settings))


async def _supervise(settings: Settings) -> int:
    return await Supervisor(settings).run()
