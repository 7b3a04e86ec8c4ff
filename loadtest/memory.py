"""Memory under load: does any process of the service grow once everything that is bounded is full?

    python -m loadtest.memory --bundles DIR [--minutes 10] [--processes 2] [--callers 4] [--users 2000]

Starts `shortlist serve` on a copy of DIR with short histories and streams, so that they are full within the first
minutes, and keeps asking: lists for users, events, filters that differ each time, `gr`, searches, flips of stock,
metrics. Prints private memory (USS, MiB) of each kind of process by the minute, and how much it grew from the third
minute to the last.
"""

import argparse
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import httpx
import psutil

from loadtest.asking import popular_ids
from loadtest.faults import recovered, wait
from loadtest.running import KINDS, Service, linked_copy, whole_service

SETTLED_MINUTES = 3
SAMPLE_S = 5.0
EVENTS = 20
LIMITS = {"history_limit": 50, "sink_stream_length": 5000}
"""Settings that are full soon."""


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


def run(arguments: argparse.Namespace, service: Service) -> dict[str, object]:
    """Load, and what memory did meanwhile."""
    items = popular_ids(service.url, 100)
    wait(lambda: recovered(service, "/recommend", {"history": items[:2]}))
    shoppers = [Shopper(service.url, items, arguments.users, seed) for seed in range(arguments.callers)]
    ended = threading.Event()
    threads = [threading.Thread(target=shop, args=(one, ended)) for one in shoppers]
    for thread in threads:
        thread.start()
    means = by_minute(service, arguments.minutes)
    ended.set()
    for thread in threads:
        thread.join()
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
    arguments = parser.parse_args()
    settings = {"workers": arguments.processes, "deadline_ms": 1000, **LIMITS}
    with linked_copy(arguments.bundles) as bundles, whole_service(bundles, **settings) as service:
        print(json.dumps(run(arguments, service), indent=2))


if __name__ == "__main__":
    main()
