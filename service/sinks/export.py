"""The streams as sink files: what all hosts wrote down lately, where each keeps only its own files."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from redis.asyncio import Redis

from service.redis.link import RedisLink

PAGE = 1000
PAGE_TIMEOUT_S = 10.0


async def export_streams(link: RedisLink, streams: dict[str, str], folder: Path) -> int:
    """Write each stream to `folder/<name>/<name>-stream.jsonl`. Returns the number of records.

    Args:
        link: the way to Redis.
        streams: key of each stream, by the name of its sink.
        folder: where to; made if absent.

    Raises:
        RedisDownError: Redis did not answer.
    """
    return sum([await _export(link, key, folder / name / f"{name}-stream.jsonl") for name, key in streams.items()])


async def _export(link: RedisLink, stream: str, path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    count, start = 0, "-"
    with path.open("wb") as file:
        while page := await link.call(_page(stream, start), timeout_s=PAGE_TIMEOUT_S):
            file.writelines(fields[b"record"] + b"\n" for _, fields in page)
            count, start = count + len(page), f"({page[-1][0].decode()}"
    return count


def _page(stream: str, start: str) -> Callable[[Redis], Awaitable[Any]]:
    return lambda client: client.xrange(stream, min=start, max="+", count=PAGE)
