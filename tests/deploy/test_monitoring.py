"""Rules, dashboard and autoscaler queries, against promtool and against the metrics that the service really has."""

import shutil
import subprocess
from pathlib import Path

import dashboard
import pytest
import yaml

from service.reference import metric_families
from tests.deploy.places import DEPLOY
from tests.deploy.queries import dashboard_queries, every_query, named_labels, named_metrics, rules

PROMETHEUS = DEPLOY / "prometheus"
promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool checks the rules")


def run_promtool(*arguments: str) -> None:
    found = subprocess.run(["promtool", *arguments], cwd=PROMETHEUS, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


def labels_by_metric() -> dict[str, set[str]]:
    """Declared labels of every metric of API and worker."""
    return {name.removesuffix("_total"): set(labels) for name, _, _, labels in metric_families()}


@promtool
def test_rules_are_valid() -> None:
    run_promtool("check", "rules", "rules.yml")


@promtool
def test_rules_fire_when_they_should_and_only_then() -> None:
    run_promtool("test", "rules", "rules.test.yml")


@promtool
def test_the_scrape_configuration_is_valid() -> None:
    run_promtool("check", "config", "prometheus.yml")


@promtool
def test_dashboard_queries_are_valid(tmp_path: Path) -> None:
    listed = [{"record": f"query:{number}", "expr": query} for number, query in enumerate(dashboard_queries())]
    path = tmp_path / "queries.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": listed}]}))
    run_promtool("check", "rules", str(path))


def test_every_alert_has_a_unit_test_a_summary_and_an_action() -> None:
    tests = yaml.safe_load((PROMETHEUS / "rules.test.yml").read_text())["tests"]
    fired = {case["alertname"] for test in tests for case in test.get("alert_rule_test", []) if case["exp_alerts"]}
    alerts = {rule["alert"]: rule for rule in rules() if "alert" in rule}
    assert fired == set(alerts)
    assert all({"summary", "action"} == set(rule["annotations"]) for rule in alerts.values())
    assert all(rule["labels"]["severity"] in ("page", "ticket") for rule in alerts.values())


@pytest.mark.parametrize("query", every_query())
def test_a_query_names_metrics_and_labels_that_exist(query: str) -> None:
    known = labels_by_metric()
    recorded = {rule["record"].partition(":")[0] for rule in rules() if "record" in rule}
    assert named_metrics(query) <= set(known) | recorded
    for metrics, labels in named_labels(query):
        for metric in metrics:
            assert labels <= known[metric], f"{metric} has {sorted(known[metric])}"


def test_every_metric_is_looked_at_somewhere() -> None:
    asked = {metric for query in every_query() for metric in named_metrics(query)}
    assert asked == set(labels_by_metric())


def test_the_dashboard_is_what_its_source_says() -> None:
    assert dashboard.TARGET.read_text() == dashboard.dashboard()
