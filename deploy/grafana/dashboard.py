"""Write `deploy/grafana/dashboards/shortlist.json`: the panels stand here in a form that people can read and change.

python deploy/grafana/dashboard.py
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parent / "dashboards" / "shortlist.json"
RECOMMEND = 'route=~".*/recommend.*"'
WIDTH, HEIGHT = 8, 8


@dataclass(frozen=True)
class Panel:
    """One graph: a title, what it tells, its unit, and queries with the names of their lines."""

    title: str
    tells: str
    unit: str
    queries: tuple[tuple[str, str], ...]
    kind: str = "timeseries"


def quantile(q: float, metric: str, *by: str, where: str = "") -> str:
    """A quantile of a histogram over five minutes."""
    labels = ", ".join(("le", *by))
    return f"histogram_quantile({q}, sum by ({labels}) (rate({metric}_bucket{{{where}}}[5m])))"


PANELS = (
    Panel(
        "Requests",
        "Recommendations a second, by the retriever that answered.",
        "reqps",
        ((f"sum by (retriever) (rate(shortlist_request_seconds_count{{{RECOMMEND}}}[5m]))", "{{retriever}}"),),
    ),
    Panel(
        "Latency",
        "From a request's headers to the end of its answer; the alert is at 100 ms for the 99th percentile.",
        "s",
        tuple((quantile(q, "shortlist_request_seconds", where=RECOMMEND), f"p{q * 100:g}") for q in (0.5, 0.95, 0.99)),
    ),
    Panel(
        "Latency by retriever",
        "99th percentile by the retriever that answered.",
        "s",
        ((quantile(0.99, "shortlist_request_seconds", "retriever", where=RECOMMEND), "{{retriever}}"),),
    ),
    Panel(
        "Errors",
        "Answers that are no 2xx, by route and status.",
        "reqps",
        (
            (
                'sum by (route, status) (rate(shortlist_request_seconds_count{status!~"2.."}[5m]))',
                "{{status}} {{route}}",
            ),
        ),
    ),
    Panel(
        "Fallbacks",
        "Share of lists that another retriever answered than the assigned one, by reason.",
        "percentunit",
        (("shortlist:fallbacks:ratio5m", "{{reason}}"),),
    ),
    Panel(
        "Fallbacks by retriever",
        "Who answered instead of whom, a second.",
        "reqps",
        (
            (
                "sum by (assigned, served) (rate(shortlist_fallbacks_total[5m]))",
                "{{assigned}} -> {{served}}",
            ),
        ),
    ),
    Panel(
        "Stages",
        "99th percentile of each stage of an answered request.",
        "s",
        ((quantile(0.99, "shortlist_stage_seconds", "stage"), "{{stage}}"),),
    ),
    Panel(
        "Experiments",
        "Requests a second by variant.",
        "reqps",
        (('sum by (variant) (rate(shortlist_request_seconds_count{variant!=""}[5m]))', "{{variant}}"),),
    ),
    Panel(
        "Searches admitted",
        "Searches that run or wait, by instance; at SHORTLIST_SEARCH_QUEUE the next one falls back.",
        "short",
        (("sum by (instance) (shortlist_searches_admitted)", "{{instance}}"),),
    ),
    Panel(
        "Filters found ready",
        "Share of filters of requests whose mask was in the cache.",
        "percentunit",
        (
            (
                'sum(rate(shortlist_filter_masks_total{cache="hit"}[5m]))'
                " / sum(rate(shortlist_filter_masks_total[5m]))",
                "ready",
            ),
        ),
    ),
    Panel(
        "Bundles",
        "Which version each instance serves.",
        "short",
        (("max by (instance, version) (shortlist_bundle_info)", "{{instance}} {{version}}"),),
        "table",
    ),
    Panel(
        "Items",
        "Size of the catalogue that serves.",
        "short",
        (("max by (instance) (shortlist_bundle_items)", "{{instance}}"),),
    ),
    Panel(
        "Swaps and refusals",
        "Bundles that began to serve, and those that were refused, in an hour.",
        "short",
        (
            ("sum(increase(shortlist_bundle_swaps_total[1h]))", "swaps"),
            ("sum(increase(shortlist_bundles_refused_total[1h]))", "refused"),
        ),
    ),
    Panel(
        "Object storage: age of the last look that ended well",
        "Seconds since an instance last followed the remote root, and since when it fails; absent where none is.",
        "s",
        (
            (
                "time() - (max by (instance) (shortlist_mirror_last_success_timestamp_seconds) > 0)",
                "{{instance}} last success",
            ),
            (
                "time() - (max by (instance) (shortlist_mirror_failing_since_timestamp_seconds) > 0)",
                "{{instance}} failing for",
            ),
        ),
    ),
    Panel(
        "Object storage: version to follow",
        "What the remote CURRENT names, as each instance read it last; beside panel Bundles.",
        "short",
        (("max by (instance, version) (shortlist_mirror_info)", "{{instance}} {{version}}"),),
        "table",
    ),
    Panel(
        "Given up for now",
        "1 while calls to a resource are refused at once.",
        "short",
        (("max by (instance, resource) (shortlist_breaker_open)", "{{instance}} {{resource}}"),),
    ),
    Panel(
        "Records dropped",
        "Exposures and events that a sink did not take, a second.",
        "short",
        (("sum by (sink) (rate(shortlist_sink_dropped_total[5m]))", "{{sink}}"),),
    ),
    Panel(
        "Worker: wait and decode",
        "95th percentile of the wait in the queue and of a batch in the decoder.",
        "s",
        (
            (quantile(0.95, "shortlist_gr_queue_seconds"), "queue"),
            (quantile(0.95, "shortlist_gr_decode_seconds"), "decode"),
        ),
    ),
    Panel(
        "Worker: batch size",
        "Requests that are decoded at once: median and 95th percentile.",
        "short",
        tuple((quantile(q, "shortlist_gr_batch_size"), f"p{q * 100:g}") for q in (0.5, 0.95)),
    ),
    Panel(
        "Worker: not answered",
        "Requests that left the queue unanswered, by reason, and batches that failed, a second.",
        "short",
        (
            ("sum by (reason) (rate(shortlist_gr_dropped_total[5m]))", "{{reason}}"),
            ("sum(rate(shortlist_gr_failed_batches_total[5m]))", "failed batches"),
        ),
    ),
    Panel(
        "Worker: age of the last batch, versions held",
        "An idle worker runs a batch every few seconds, so the age stays small while it lives.",
        "s",
        (
            ("time() - max by (instance) (shortlist_gr_last_batch_timestamp_seconds)", "{{instance}} age"),
            ("max by (instance) (shortlist_gr_bundles)", "{{instance}} versions"),
        ),
    ),
)


def _panel(number: int, panel: Panel) -> dict[str, Any]:
    row, column = divmod(number, 24 // WIDTH)
    table = panel.kind == "table"
    return {
        "id": number + 1,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.tells,
        "datasource": {"type": "prometheus", "uid": "prometheus"},
        "gridPos": {"x": column * WIDTH, "y": row * HEIGHT, "w": WIDTH, "h": HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "targets": [
            {
                "refId": chr(ord("A") + index),
                "expr": query,
                "legendFormat": legend,
                "instant": table,
                "format": "table" if table else "time_series",
            }
            for index, (query, legend) in enumerate(panel.queries)
        ],
    }


def dashboard() -> str:
    """The dashboard as Grafana reads it."""
    document = {
        "uid": "shortlist",
        "title": "Shortlist",
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "panels": [_panel(number, panel) for number, panel in enumerate(PANELS)],
    }
    return json.dumps(document, indent=2) + "\n"


if __name__ == "__main__":
    TARGET.write_text(dashboard())
