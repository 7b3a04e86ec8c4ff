"""Requests of a storefront: which items, which users, which bodies."""

import bisect
import itertools
import json
import random
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

PAGE = 100
POLL_S = 0.1
START_TIMEOUT_S = 180.0


def fetch(url: str, body: bytes | None = None, method: str | None = None, key: str | None = None) -> bytes:
    """The answer's bytes.

    Raises:
        OSError: no answer, or not a 2xx.
    """
    headers = {"Content-Type": "application/json"} | ({} if key is None else {"X-API-Key": key})
    request = urllib.request.Request(url, body, headers, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return bytes(answer.read())


def fetch_json(url: str, body: Any = None, method: str | None = None, key: str | None = None) -> Any:
    """The answer as a document."""
    return json.loads(fetch(url, None if body is None else json.dumps(body).encode(), method, key) or "null")


def wait_ready(base: str, alive: Any) -> dict[str, Any]:
    """The answer of `/readyz`.

    Args:
        base: address of the service.
        alive: whether its process still runs.

    Raises:
        SystemExit: it ended, or did not become ready.
    """
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline and alive():
        try:
            return dict(fetch_json(f"{base}/readyz"))
        except (OSError, urllib.error.URLError):
            time.sleep(POLL_S)
    raise SystemExit(f"{base} did not become ready within {START_TIMEOUT_S:g} s; its log says why")


def catalogue(base: str, n: int) -> list[dict[str, Any]]:
    """The n most popular items as `/items` describes them, or all."""
    items: list[dict[str, Any]] = []
    cursor = ""
    while len(items) < n:
        page = fetch_json(f"{base}/items?limit={PAGE}{cursor}")
        items += page["items"]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    return items[:n]


def popular_ids(base: str, n: int) -> list[str]:
    """Ids of the n most popular items, or of all."""
    return [item["item_id"] for item in catalogue(base, n)]


@dataclass(frozen=True)
class Zipf:
    """Draws from a list whose entry of rank r is asked for in proportion to 1 / r ** exponent."""

    entries: Sequence[str]
    cumulative: tuple[float, ...]

    @classmethod
    def over(cls, entries: Sequence[str], exponent: float) -> "Zipf":
        """Entries in falling popularity."""
        return cls(entries, tuple(itertools.accumulate(1 / rank**exponent for rank in range(1, len(entries) + 1))))

    def draw(self, chance: random.Random) -> str:
        """One entry."""
        return self.entries[bisect.bisect(self.cumulative, chance.random() * self.cumulative[-1])]


def histories(ids: Sequence[str], n: int, *, shortest: int = 2, longest: int = 10, seed: int = 7) -> list[list[str]]:
    """Histories of different items, lengths evenly spread, from a fixed seed."""
    chance = random.Random(seed)
    return [chance.sample(ids, min(len(ids), chance.randint(shortest, longest))) for _ in range(n)]
