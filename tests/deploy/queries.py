"""Every query that dashboards, rules and autoscalers ask, and what they name."""

import json
import re
from collections.abc import Iterator

import yaml

from tests.deploy.places import DEPLOY

SUFFIX = re.compile(r"_(bucket|count|sum|total)$")
METRIC = re.compile(r"\bshortlist_\w+")
SELECTOR = re.compile(r"\b(shortlist_\w+)\{([^}]*)\}")
BY = re.compile(r"\bby \(([\w, ]+)\)")
SCRAPED = {"instance", "job", "le", "pod", "namespace", "__name__"}
"""Labels that Prometheus adds, or that a histogram has by itself."""


def dashboard_queries() -> list[str]:
    panels = json.loads((DEPLOY / "grafana" / "dashboards" / "shortlist.json").read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel["targets"]]


def rules() -> list[dict]:
    groups = yaml.safe_load((DEPLOY / "prometheus" / "rules.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def adapter_queries() -> list[str]:
    document = yaml.safe_load((DEPLOY / "kubernetes" / "metrics-adapter.yaml").read_text())
    raw = [rule["metricsQuery"] for rule in document["rules"]]
    return [query.replace("<<.GroupBy>>", "pod").replace("<<.LabelMatchers>>", 'pod="a"') for query in raw]


def every_query() -> list[str]:
    return [*dashboard_queries(), *(rule["expr"] for rule in rules()), *adapter_queries()]


def family(metric: str) -> str:
    """The family that a series belongs to.

    >>> family("shortlist_request_seconds_bucket"), family("shortlist_fallbacks_total")
    ('shortlist_request_seconds', 'shortlist_fallbacks')
    """
    return SUFFIX.sub("", metric)


def named_metrics(query: str) -> set[str]:
    return {family(metric) for metric in METRIC.findall(query)}


def named_labels(query: str) -> Iterator[tuple[set[str], set[str]]]:
    """Metrics of a selector, and labels that it asks of them; labels to group by are asked of all in the query."""
    for metric, inside in SELECTOR.findall(query):
        yield {family(metric)}, set(re.findall(r"(\w+)\s*[=!]", inside)) - SCRAPED
    for names in BY.findall(query):
        yield named_metrics(query), {name.strip() for name in names.split(",")} - SCRAPED
