"""Memory under load: does any process of the service grow once everything that is bounded is full?

    python -m loadtest.memory --bundles DIR [--minutes 10] [--processes 2] [--callers 4] [--users 2000]

Starts `shortlist serve` on a copy of DIR with short histories and streams, so that they are full within the first
minutes, and keeps asking: lists for users, events, filters that differ each time, `gr`, searches, flips of stock,
metrics. Prints private memory (USS, MiB) of each kind of process by the minute, and how much it grew from the third
minute to the last.
"""

import argparse
import json
import os
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import httpx
import psutil

from loadtest.faults import KINDS, Service, linked_copy, wait

SETTLED_MINUTES = 3
SAMPLE_S = 5.0
EVENTS = 20
LIMITS = {"SHORTLIST_HISTORY_LIMIT": "50", "SHORTLIST_SINK_STREAM_LENGTH": "5000"}


class Shopper:
    """One caller: what it asks is drawn from its own seed."""

    def __init__(self, url: str, items: list[str], users: int, seed: int) -> None:
        self._client = httpx.Client(base_url=url, timeout=60)
        self._items, self._users, self._draw = items, users, random.Random(seed)
        self._events = 0
        self.statuses: Counter[int] = Counter()
        self._asks: list[tuple[float, Callable[[], httpx.Response]]] = [
            (0.50, self._list),
            (0.15, self._happened),
            (0.15, self._filtered),
            (0.10, self._generated),
            (0.05, self._search),
            (0.04, self._flip),
            (0.01, self._metrics),
        ]

    def once(self) -> None:
        """One request."""
        (ask,) = self._draw.choices([ask for _, ask in self._asks], [share for share, _ in self._asks])
        self.statuses[ask().status_code] += 1

    def _user(self) -> str:
        return f"user-{self._draw.randrange(self._users)}"

    def _list(self) -> httpx.Response:
        return self._client.post("/recommend", json={"user_id": self._user(), "k": self._draw.choice([10, 50, 200])})

    def _happened(self) -> httpx.Response:
        user, events = self._user(), []
        for _ in range(EVENTS):
            self._events += 1
            item, stamp = self._draw.choice(self._items), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            name = f"{id(self)}-{self._events}"
            events.append({"event_id": name, "user_id": user, "item_id": item, "timestamp": stamp})
        return self._client.post("/events", json=events)

    def _filtered(self) -> httpx.Response:
        price = {"gte": round(self._draw.random() * 5, 4)}
        return self._client.post(
            "/recommend", json={"history": [self._draw.choice(self._items)], "filter": {"price": price}}
        )

    def _generated(self) -> httpx.Response:
        return self._client.post("/recommend/gr", json={"history": self._draw.sample(self._items, 3), "k": 20})

    def _search(self) -> httpx.Response:
        return self._client.get("/items", params={"q": self._draw.choice("abcdefghij"), "limit": 20})

    def _flip(self) -> httpx.Response:
        flip = {"available": self._draw.random() < 0.8}
        return self._client.put(f"/items/{self._draw.choice(self._items)}/availability", json=flip)

    def _metrics(self) -> httpx.Response:
        return self._client.get("/metrics")


def private_mb(service: Service) -> dict[str, float]:
    """Private memory by kind of process."""
    found = {}
    for kind in KINDS:
        sizes = []
        for part in service.parts(kind):
            try:
                sizes.append(part.memory_full_info().uss)
            except psutil.NoSuchProcess:
                continue
        found[kind] = sum(sizes) / 2**20
    return found


def shop(shopper: Shopper, ended: threading.Event) -> None:
    """Ask until told to stop."""
    while not ended.is_set():
        shopper.once()


def by_minute(service: Service, minutes: float) -> list[dict[str, float]]:
    """Mean private memory by kind for each minute."""
    means = []
    started = time.monotonic()
    while time.monotonic() - started < 60 * minutes:
        samples = []
        while time.monotonic() - started < 60 * (len(means) + 1):
            samples.append(private_mb(service))
            time.sleep(SAMPLE_S)
        means.append({kind: round(sum(one[kind] for one in samples) / len(samples), 1) for kind in KINDS})
    return means


def run(arguments: argparse.Namespace, folder: Path) -> dict[str, object]:
    """Load, and what memory did meanwhile."""
    os.environ.update(LIMITS)
    service = Service(linked_copy(arguments.bundles, folder), folder, arguments.processes, arguments.port)
    try:
        items = [item["item_id"] for item in httpx.get(f"{service.url}/items?limit=100", timeout=60).json()["items"]]
        wait(lambda: service.recovered("/recommend", {"history": items[:2]}))
        shoppers = [Shopper(service.url, items, arguments.users, seed) for seed in range(arguments.callers)]
        ended = threading.Event()
        threads = [threading.Thread(target=shop, args=(one, ended)) for one in shoppers]
        for thread in threads:
            thread.start()
        means = by_minute(service, arguments.minutes)
        ended.set()
        for thread in threads:
            thread.join()
    finally:
        service.process.terminate()
        service.process.wait()
    settled = means[min(SETTLED_MINUTES, len(means)) - 1]
    return {
        "statuses": dict(sum((one.statuses for one in shoppers), Counter())),
        "private_mb_by_minute": means,
        "grown_percent": {
            kind: round(100 * (means[-1][kind] / settled[kind] - 1), 1) for kind in KINDS if settled[kind]
        },
    }


def main() -> None:
    """Parse the arguments, run, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundles", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--callers", type=int, default=4)
    parser.add_argument("--users", type=int, default=2000)
    parser.add_argument("--port", type=int, default=8098)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.bundles.resolve().parent, prefix=".memory-") as folder:
        print(json.dumps(run(arguments, Path(folder)), indent=2))


if __name__ == "__main__":
    main()
