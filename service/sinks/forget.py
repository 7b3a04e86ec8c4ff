"""Erasing a user everywhere: the history, the streams, the files."""

import fcntl
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from redis.asyncio import Redis

from service.history import HistoryStore
from service.redis.link import RedisLink
from service.sinks.pseudonym import pseudonym
from service.sinks.stream import USER_FIELD

PAGE = 1000


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was erased of a user.

    Attributes:
        history: entries of the history.
        streamed: records of streams.
        written: records of files.
    """

    history: int
    streamed: int
    written: int


async def forget(link: RedisLink, user_id: str, *, key: bytes, streams: list[str], folder: Path) -> Forgotten:
    """Erase a user from Redis and from every sink below `folder`. Records that other processes still hold in memory are
    written within a fraction of a second: stop the user's traffic first, or run it twice.

    Raises:
        RedisDownError: Redis did not acknowledge; files are untouched, run it again.
    """
    hashed = pseudonym(key, user_id)
    history = await HistoryStore(link).erase(user_id)
    streamed = sum([await link.call(_erase_from(stream, hashed), timeout_s=600.0) for stream in streams])
    return Forgotten(history, streamed, forget_files(folder, hashed))


def _erase_from(stream: str, hashed: str) -> Callable[[Redis], Awaitable[int]]:
    async def erase(client: Redis) -> int:
        erased, start = 0, "-"
        while True:
            page: Any = await client.xrange(stream, min=start, max="+", count=PAGE)
            if not page:
                return erased
            mine = [entry for entry, fields in page if fields[USER_FIELD.encode()] == hashed.encode()]
            start = f"({page[-1][0].decode()}"
            erased += int(await client.xdel(stream, *mine)) if mine else 0

    return erase


def forget_files(folder: Path, hashed: str) -> int:
    """Rewrite every JSONL and Parquet file below `folder` without the user. Returns the number of records erased."""
    erased = sum(_rewrite_jsonl(path, hashed) for path in sorted(folder.glob("*/*.jsonl")))
    return erased + sum(_rewrite_parquet(path, hashed) for path in sorted(folder.glob("*/*.parquet")))


def _rewrite_jsonl(path: Path, hashed: str) -> int:
    with _locked(path) as file:
        lines = file.read_bytes().splitlines(keepends=True)
        kept = [line for line in lines if hashed.encode() not in line or orjson.loads(line)[USER_FIELD] != hashed]
        if len(kept) < len(lines):
            _replace(path, b"".join(kept))
    return len(lines) - len(kept)


@contextmanager
def _locked(path: Path) -> Iterator[Path]:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield path
    finally:
        os.close(descriptor)


def _replace(path: Path, data: bytes) -> None:
    staging = path.with_name(f".{path.name}.part")
    with staging.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    staging.rename(path)


def _rewrite_parquet(path: Path, hashed: str) -> int:
    table = pq.read_table(path)
    mine = pc.fill_null(pc.equal(table[USER_FIELD].cast(pa.string()), hashed), False)
    kept = table.filter(pc.invert(mine))
    if kept.num_rows < table.num_rows:
        staging = path.with_name(f".{path.name}.part")
        pq.write_table(kept, staging, compression="zstd")
        staging.rename(path)
    return int(table.num_rows - kept.num_rows)
