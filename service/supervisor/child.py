"""One supervised process: started, watched, started again with growing pauses, asked to leave."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import structlog

from service.supervisor.launch import guarded

log = structlog.get_logger(__name__)
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 5.0
HEALTHY_AFTER_S = 10.0
EARLY_DEATHS = 5


class HopelessError(Exception):
    """A process that cannot be done without dies again and again right after its start."""


@dataclass(frozen=True, slots=True)
class Command:
    """How to start a process.

    Attributes:
        name: for logs.
        arguments: command line.
        environment: variables beyond those of the parent.
        descriptors: open files that it inherits.
        vital: nothing is served without it, so that its early deaths end the service; others are tried for ever.
    """

    name: str
    arguments: Sequence[str]
    environment: dict[str, str] = field(default_factory=dict)
    descriptors: tuple[int, ...] = ()
    vital: bool = False


class Child:
    """Keeps one process running. Use it in the main thread: a child dies with the thread that started it.

    Args:
        command: how to start it.
        on_death: told the process id of one that is gone.
    """

    def __init__(self, command: Command, on_death: Callable[[int], None] = lambda _: None) -> None:
        self._command, self._on_death = command, on_death
        self._process: asyncio.subprocess.Process | None = None
        self._leaving = asyncio.Event()
        self._replaced = True
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def pid(self) -> int | None:
        """Of the running process."""
        return None if self._process is None else self._process.pid

    async def run(self) -> None:
        """Start it, and again whenever it dies, until `leave`.

        Raises:
            HopelessError: it is vital and died early several times in a row.
        """
        early, pause_s = 0, FIRST_PAUSE_S
        while self._replaced and not self._leaving.is_set():
            lived_s = await self._live()
            early, pause_s = (0, FIRST_PAUSE_S) if lived_s >= HEALTHY_AFTER_S else (early + 1, pause_s * 2)
            if self._command.vital and early >= EARLY_DEATHS:
                raise HopelessError(f"{self._command.name} died {early} times in a row right after its start")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._leaving.wait(), min(pause_s, LONGEST_PAUSE_S))

    async def _live(self) -> float:
        self._idle.clear()
        try:
            return await self._start_and_wait()
        finally:
            self._idle.set()

    async def _start_and_wait(self) -> float:
        started = time.monotonic()
        self._process = await asyncio.create_subprocess_exec(
            *guarded(self._command.arguments),
            env=os.environ | self._command.environment,
            pass_fds=self._command.descriptors,
        )
        pid = self._process.pid
        log.info("process started", process=self._command.name, pid=pid)
        if self._leaving.is_set():
            self._process.terminate()
        code = await self._process.wait()
        self._process = None
        self._on_death(pid)
        if not self._leaving.is_set():
            log.error("process died", process=self._command.name, pid=pid, code=code)
        return time.monotonic() - started

    def last(self) -> None:
        """Do not start it again when it ends."""
        self._replaced = False

    async def leave(self, timeout_s: float) -> None:
        """Ask it to finish and leave, also while it is being started; kill it if it does not."""
        self._leaving.set()
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(self._idle.wait(), timeout_s)
        except TimeoutError:
            if (process := self._process) is not None:
                log.error("process killed", process=self._command.name, pid=process.pid, after_s=timeout_s)
                process.kill()
                await process.wait()


class RedisKeeper:
    """Keeps the embedded Redis running.

    Args:
        start: starts it and waits until it answers; from the main thread.
        alive: whether it runs.
    """

    def __init__(self, start: Callable[[], Awaitable[None]], alive: Callable[[], bool]) -> None:
        self._start, self._alive = start, alive

    async def run(self) -> None:
        """Start it again whenever it dies."""
        pause_s = FIRST_PAUSE_S
        while True:
            await asyncio.sleep(FIRST_PAUSE_S)
            if self._alive():
                continue
            log.error("process died", process="redis")
            try:
                await self._start()
            except Exception:
                log.exception("redis does not start")
                await asyncio.sleep(pause_s := min(2 * pause_s, LONGEST_PAUSE_S))
            else:
                pause_s = FIRST_PAUSE_S
