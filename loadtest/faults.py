"""Faults under load: what is lost when parts are killed, and how long until all is well again.

    python -m loadtest.faults --bundles DIR [--processes 2] [--callers 4] [--seconds 5] [--kills 3] [--swaps 3]

Starts `shortlist serve` on a copy of DIR (files linked) and asks it without a pause, a connection for each request,
while it kills Redis, an API process and (where the bundle has a generator) a gr worker with SIGKILL, lets Redis and
the worker hang, flips stock, switches bundles where DIR holds two, and ends with SIGTERM. Prints one JSON object.
"""

import argparse
import json
import os
import signal
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from loadtest.asking import popular_ids
from loadtest.running import KINDS, Service, linked_copy, run_shortlist, whole_service

LONGEST_S = 600.0
POLL_S = 0.005


@dataclass
class Load:
    """Callers and what they got."""

    url: str
    path: str
    body: dict[str, object]
    statuses: Counter[int] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    latencies_ms: list[float] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def ask(self) -> None:
        """Ask until told to stop. A refused connection was not accepted; anything else that breaks is lost."""
        while not self.ended.is_set():
            started = time.perf_counter()
            try:
                answer = httpx.post(f"{self.url}{self.path}", json=self.body, timeout=60)
            except httpx.ConnectError:
                self.ended.wait(0.01)
            except httpx.TransportError as error:
                self.lost[type(error).__name__] += 1
            else:
                self.statuses[answer.status_code] += 1
                self.latencies_ms.append((time.perf_counter() - started) * 1e3)
                if answer.status_code == 200:
                    self.reasons[str(answer.json()["retriever"]["fallback_reason"])] += 1

    def figures(self) -> dict[str, object]:
        """Counts and latency."""
        ranked = sorted(self.latencies_ms)
        return {
            "requests": sum(self.statuses.values()),
            "statuses": dict(self.statuses),
            "lost": dict(self.lost),
            "fallback_reasons": dict(self.reasons),
            "p50_ms": round(statistics.median(ranked), 1) if ranked else None,
            "p99_ms": round(ranked[int(len(ranked) * 0.99)], 1) if ranked else None,
        }


@contextmanager
def load(url: str, callers: int, path: str, body: dict[str, object]) -> Iterator[Load]:
    """Requests without a pause while the block runs."""
    work = Load(url, path, body)
    threads = [threading.Thread(target=work.ask) for _ in range(callers)]
    for thread in threads:
        thread.start()
    try:
        yield work
    finally:
        work.ended.set()
        for thread in threads:
            thread.join()


def wait(condition: Callable[[], bool]) -> float:
    """Seconds until a condition holds."""
    started = time.perf_counter()
    while not condition():
        if time.perf_counter() - started > LONGEST_S:
            raise SystemExit("a condition did not come to hold; see the log of the service")
        time.sleep(POLL_S)
    return time.perf_counter() - started


def memory_mb(service: Service) -> dict[str, float]:
    """Resident memory by kind of process."""
    return {kind: round(sum(part.memory_info().rss for part in service.parts(kind)) / 2**20, 1) for kind in KINDS}


def recovered(service: Service, path: str, body: dict[str, object]) -> bool:
    """Whether a request is answered as it should be."""
    try:
        answer = httpx.post(f"{service.url}{path}", json=body, timeout=60)
    except httpx.TransportError:
        return False
    return answer.status_code == 200 and answer.json()["retriever"]["fallback_reason"] is None


def hang(service: Service, kind: str, path: str, body: dict[str, object], seconds: float) -> float:
    """Stop one process of a kind without killing it; seconds from its going on until all is as it should be."""
    victim = service.parts(kind)[0]
    victim.suspend()
    time.sleep(seconds)
    victim.resume()
    return wait(lambda: recovered(service, path, body))


def kill(service: Service, kind: str, path: str, body: dict[str, object]) -> float:
    """Kill one process of a kind; seconds until another runs and requests are answered as they should be."""
    before = {child.pid for child in service.parts(kind)}
    victim = min(before)
    os.kill(victim, signal.SIGKILL)
    started = time.perf_counter()
    wait(lambda: len({child.pid for child in service.parts(kind)} - {victim}) == len(before))
    wait(lambda: recovered(service, path, body))
    return time.perf_counter() - started


def store_history(service: Service, items: list[str]) -> None:
    """Give one user a history."""
    events = [
        {"event_id": f"e{n}", "user_id": "faults", "item_id": item, "timestamp": f"2026-01-01T00:00:0{n}Z"}
        for n, item in enumerate(items)
    ]
    httpx.post(f"{service.url}/events", json=events, timeout=60).raise_for_status()


def fault_figures(service: Service, kind: str, path: str, arguments: argparse.Namespace) -> dict[str, object]:
    """Kill a kind of process several times under load, then let one hang."""
    body: dict[str, object] = {"user_id": "faults", "k": 20}
    wait(lambda: recovered(service, path, body))
    with load(service.url, arguments.callers, path, body) as work:
        times = [kill(service, kind, path, body) for _ in range(arguments.kills)]
        time.sleep(1.0)
    figures: dict[str, object] = {"recovered_s": [round(took, 2) for took in times], **work.figures()}
    if kind != "api":  # whoever is connected to an API process that hangs waits for it
        with load(service.url, arguments.callers, path, body) as work:
            took = hang(service, kind, path, body, arguments.seconds)
        figures["hung"] = {"recovered_s": round(took, 2), **work.figures()}
    return figures


def flip_figures(service: Service, path: str, body: dict[str, object], item: str) -> dict[str, float]:
    """Milliseconds from the answer to a flip until every of 10 answers in a row, whoever gives them, obeys it.

    What a worker still returns is replaced on its way by a popular item with the source `backfill`; such an answer
    counts as one that does not obey.
    """
    took = []
    for available in [False, True] * 5:
        flip = {"available": available}
        httpx.put(f"{service.url}/items/{item}/availability", json=flip, timeout=60).raise_for_status()
        started, last_wrong = time.perf_counter(), 0.0
        for _ in range(10):
            asked = (time.perf_counter() - started) * 1e3
            found = httpx.post(f"{service.url}{path}", json=body, timeout=60).json()["items"]
            replaced = any(entry["source"] == "backfill" for entry in found)
            if replaced or (item in {entry["item_id"] for entry in found}) is not available:
                last_wrong = asked
        took.append(last_wrong)
    return {"median_ms": round(statistics.median(took), 1), "worst_ms": round(max(took), 1)}


def worker_flip_figures(service: Service, items: list[str]) -> dict[str, float]:
    """The same for what a worker generates."""
    body: dict[str, object] = {"history": items, "k": 20, "exclude_seen": False}
    wait(lambda: recovered(service, "/recommend/gr", body))
    first = httpx.post(f"{service.url}/recommend/gr", json=body, timeout=60).json()["items"][0]["item_id"]
    return flip_figures(service, "/recommend/gr", body, first)


def swap_figures(service: Service, bundles: Path, arguments: argparse.Namespace) -> dict[str, object]:
    """Switch between the two newest versions under load."""
    versions = sorted(path.name for path in bundles.iterdir() if (path / "manifest.json").exists())[-2:]
    if len(versions) < 2:
        return {"skipped": "the folder holds one version"}
    body = {"history": popular_ids(service.url, 2), "k": 20}
    times = []
    with load(service.url, arguments.callers, "/recommend", body) as work:
        for version in (versions * arguments.swaps)[: 2 * arguments.swaps]:
            run_shortlist("bundles", "use", version, "--bundles", str(bundles))
            times.append(wait(lambda v=version: _serves(service, v)))
    return {"seconds": [round(took, 2) for took in times], **work.figures()}


def _serves(service: Service, version: str) -> bool:
    return httpx.get(f"{service.url}/readyz", timeout=60).json().get("bundle") == version


def drain_figures(service: Service, arguments: argparse.Namespace) -> dict[str, object]:
    """SIGTERM under load."""
    with load(service.url, arguments.callers, "/recommend", {"history": popular_ids(service.url, 2), "k": 20}) as work:
        time.sleep(arguments.seconds)
        started = time.perf_counter()
        service.process.send_signal(signal.SIGTERM)
        code = service.process.wait(60)
        took = time.perf_counter() - started
    return {"exit_code": code, "seconds": round(took, 2), **work.figures()}


class Figures(dict[str, object]):
    """What was measured so far, each part told on standard error as it comes."""

    def __setitem__(self, name: str, figure: object) -> None:
        super().__setitem__(name, figure)
        print(json.dumps({name: figure}), file=sys.stderr, flush=True)


def run(arguments: argparse.Namespace, service: Service, bundles: Path) -> dict[str, object]:
    """Every fault in turn."""
    figures = Figures()
    items = popular_ids(service.url, 2)
    store_history(service, items)
    with load(service.url, arguments.callers, "/recommend", {"user_id": "faults", "k": 20}) as calm:
        time.sleep(arguments.seconds)
    figures["calm"], figures["memory_mb_before"] = calm.figures(), memory_mb(service)
    figures["stock_flip"] = flip_figures(service, "/recommend/popular", {"k": 500}, items[0])
    if service.parts("worker"):
        figures["stock_flip_worker"] = worker_flip_figures(service, items)
    figures["redis_killed"] = fault_figures(service, "redis", "/recommend", arguments)
    if service.parts("worker"):
        figures["worker_killed"] = fault_figures(service, "worker", "/recommend/gr", arguments)
    figures["swaps"] = swap_figures(service, bundles, arguments)
    figures["api_killed"] = fault_figures(service, "api", "/recommend", arguments)
    figures["memory_mb_after"] = memory_mb(service)
    figures["sigterm"] = drain_figures(service, arguments)
    return figures


def main() -> None:
    """Parse the arguments, run, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundles", type=Path, required=True)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--callers", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--swaps", type=int, default=3)
    arguments = parser.parse_args()
    with (
        linked_copy(arguments.bundles) as bundles,
        whole_service(bundles, workers=arguments.processes, deadline_ms=1000) as service,
    ):
        print(json.dumps(run(arguments, service, bundles), indent=2))


if __name__ == "__main__":
    main()
