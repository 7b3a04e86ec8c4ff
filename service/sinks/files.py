"""A rotated JSONL file a process, written by a thread; optionally each full file becomes Parquet.

`forget` rewrites files while they are written to. Both sides hold the file's lock, and the writer opens its file anew
when the name has come to mean another file.
"""

import fcntl
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.json
import pyarrow.parquet as pq

from service.live.settings import SinkFormat

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SinkConfig:
    """How records are kept.

    Attributes:
        folder: one for each kind of record.
        waiting: records that may wait to be written; one more is dropped and counted.
        flush_s: the longest a record waits.
        rotate_bytes, rotate_s: a file that is larger or older is closed and a new one begun.
        keep_s: closed files older than this are deleted.
        format: of closed files.
    """

    folder: Path
    waiting: int = 10_000
    flush_s: float = 0.25
    rotate_bytes: int = 64 << 20
    rotate_s: float = 3600.0
    keep_s: float = 90 * 24 * 3600.0
    format: SinkFormat = SinkFormat.JSONL


class FileSink:
    """`put` from any thread; a thread of its own writes. Start it after a fork, close it before leaving."""

    def __init__(self, config: SinkConfig, *, on_drop: Callable[[int], None] = lambda _: None) -> None:
        self._config, self._on_drop = config, on_drop
        self._waiting: deque[Record] = deque()
        self._wake = threading.Event()
        self._closing = False
        self._number = 0
        self._path: Path | None = None
        self._file = -1
        self._opened_at = 0.0
        self._thread = threading.Thread(target=self._run, name=f"sink-{config.folder.name}", daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._config.folder.mkdir(parents=True, exist_ok=True)
        self._thread.start()

    def put(self, record: Record) -> bool:
        """Take a record without waiting. False: too many wait, the record is dropped and counted."""
        if len(self._waiting) >= self._config.waiting:
            self._on_drop(1)
            return False
        self._waiting.append(record)
        return True

    def close(self) -> None:
        """Write what waits and close the file."""
        self._closing = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._closing:
            self._wake.wait(self._config.flush_s)
            self._flush()
        self._flush()
        self._finish()

    def _flush(self) -> None:
        batch = [self._waiting.popleft() for _ in range(len(self._waiting))]
        try:
            if batch:
                self._write(b"".join(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE) for record in batch))
            self._rotate()
        except OSError:
            self._on_drop(len(batch))

    def _write(self, data: bytes) -> None:
        if self._file < 0:
            self._open()
        fcntl.flock(self._file, fcntl.LOCK_EX)
        if self._replaced():
            os.close(self._file)
            self._open(self._path)
            fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._file, view) :]
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def _replaced(self) -> bool:
        assert self._path is not None
        with suppress(FileNotFoundError):
            return self._path.stat().st_ino != os.fstat(self._file).st_ino
        return True

    def _open(self, path: Path | None = None) -> None:
        if path is None:
            self._number += 1
            stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}-{self._number}"
            self._path = self._config.folder / f"{self._config.folder.name}-{stamp}.jsonl"
            self._opened_at = time.monotonic()
        assert self._path is not None
        self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def _rotate(self) -> None:
        if self._file < 0:
            return
        old = time.monotonic() - self._opened_at >= self._config.rotate_s
        if old or os.fstat(self._file).st_size >= self._config.rotate_bytes:
            self._finish()

    def _finish(self) -> None:
        if self._file < 0 or self._path is None:
            return
        os.close(self._file)
        self._file = -1
        if self._config.format is SinkFormat.PARQUET:
            to_parquet(self._path)
        self._expire()

    def _expire(self) -> None:
        limit = time.time() - self._config.keep_s
        for path in self._config.folder.glob(f"{self._config.folder.name}-*"):
            with suppress(FileNotFoundError):
                if path.stat().st_mtime < limit:
                    path.unlink()


def to_parquet(path: Path) -> Path:
    """Replace a closed JSONL file by a Parquet file beside it."""
    table = pa.json.read_json(path)
    target = path.with_suffix(".parquet")
    staging = path.with_suffix(".parquet.part")
    pq.write_table(table, staging, compression="zstd")
    staging.rename(target)
    path.unlink()
    return target
