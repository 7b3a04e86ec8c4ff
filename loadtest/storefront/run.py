"""One test with Locust as a library: users, shape, statistics, files."""

import csv
import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gevent
import psutil
from locust.env import Environment
from locust.html import get_html_report
from locust.stats import PERCENTILES_TO_REPORT, StatsCSVFileWriter, StatsEntry, stats_history

from loadtest.machine import cpu_s, memory
from loadtest.running import Service
from loadtest.storefront.plan import Plan
from loadtest.storefront.shapes import Staged
from loadtest.storefront.stages import Stage
from loadtest.storefront.tallies import Tallies
from loadtest.storefront.users import Visitor

WATCH_S = 2.0
RECOMMEND = "recommend, "
SEED = 7


class Watch:
    """The generator's share of a core, and the service's processor time and memory, looked at every two seconds.

    Args:
        service: the service.
    """

    def __init__(self, service: Service) -> None:
        self._service, self._own = service, psutil.Process()
        self.shares: list[float] = []
        self.own_mib: list[float] = []
        self._cpu_before = cpu_s(service.pid)

    def run(self) -> None:
        """Until it is killed."""
        self._own.cpu_percent()
        while True:
            gevent.sleep(WATCH_S)
            self.shares.append(self._own.cpu_percent() / 100)
            self.own_mib.append(sum(memory(pid).own for pid in self._service.api_pids()))

    def facts(self, seconds: float) -> dict[str, Any]:
        """For the summary."""
        shares, own = self.shares or [0.0], self.own_mib or [0.0]
        return {
            "generator_mean": round(sum(shares) / len(shares), 3),
            "generator_busiest": round(max(shares), 3),
            "service_cores": round((cpu_s(self._service.pid) - self._cpu_before) / seconds, 3),
            "api_own_mib_first": round(own[0], 1),
            "api_own_mib_last": round(own[-1], 1),
        }


@contextmanager
def _greenlets(*functions: Any) -> Iterator[None]:
    running = [gevent.spawn(function) for function in functions]
    try:
        yield
    finally:
        gevent.killall(running)


def run(service: Service, plan: Plan, parts: list[Stage], out: Path) -> dict[str, Any]:
    """Visit the service in the stages' way; write CSV, HTML and JSON files; the summary.

    Args:
        service: where.
        plan: what visitors do.
        parts: how many there are when.
        out: folder of `storefront_*.csv`, `retrievers.csv`, `report.html` and `summary.json`.
    """
    out.mkdir(parents=True, exist_ok=True)
    random.seed(SEED)
    Visitor.plan, Visitor.tallies, Visitor.host = plan, Tallies(), service.url
    environment = Environment(user_classes=[Visitor], shape_class=Staged(parts), host=service.url)
    runner = environment.create_local_runner()
    writer = StatsCSVFileWriter(environment, PERCENTILES_TO_REPORT, str(out / "storefront"), full_history=True)
    watch = Watch(service)
    with _greenlets(lambda: stats_history(runner), writer.stats_writer, watch.run):
        environment.events.test_start.fire(environment=environment)
        runner.start_shape()
        assert runner.shape_greenlet is not None
        runner.shape_greenlet.join()
        runner.quit()
    writer.requests_flush()
    summary = _summary(environment, Visitor.tallies, watch, parts[-1].until_s)
    _write(environment, Visitor.tallies, summary, out)
    return summary


def _entry(entry: StatsEntry, seconds: float) -> dict[str, float]:
    return {
        "requests": entry.num_requests,
        "failures": entry.num_failures,
        "per_s": round(entry.num_requests / seconds, 1),
        "p50_ms": entry.get_response_time_percentile(0.5),
        "p95_ms": entry.get_response_time_percentile(0.95),
        "p99_ms": entry.get_response_time_percentile(0.99),
    }


def _summary(environment: Environment, tallies: Tallies, watch: Watch, seconds: float) -> dict[str, Any]:
    entries = environment.stats.entries.values()
    lists = StatsEntry(environment.stats, "recommend", "POST")
    for entry in entries:
        if entry.name.startswith(RECOMMEND):
            lists.extend(entry)
    return {
        "recommendations": lists.num_requests,
        "recommend_per_s": round(lists.num_requests / seconds, 1),
        "recommend_p50_ms": lists.get_response_time_percentile(0.5),
        "recommend_p99_ms": lists.get_response_time_percentile(0.99),
        "failure_share": environment.stats.total.fail_ratio,
        "fallback_share": round(tallies.fallback_share(), 5),
        **watch.facts(seconds),
        "requests": {entry.name: _entry(entry, seconds) for entry in sorted(entries, key=lambda one: one.name)},
        "retrievers": tallies.rows(),
        "variants": dict(tallies.variants),
        "sources": dict(tallies.sources),
        "bundles": dict(tallies.bundles),
        "errors": [error.to_dict() for error in environment.stats.errors.values()],
    }


def _write(environment: Environment, tallies: Tallies, summary: dict[str, Any], out: Path) -> None:
    with (out / "retrievers.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ("assigned", "served", "fallback_reason", "lists"))
        writer.writeheader()
        writer.writerows(tallies.rows())
    (out / "report.html").write_text(get_html_report(environment, show_download_link=False))
    (out / "summary.json").write_text(json.dumps(summary, indent=2, default=str))
