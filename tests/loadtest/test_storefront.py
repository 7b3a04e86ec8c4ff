"""A storefront's visitors against a service that the command starts itself, and what sets its exit code."""

import csv
import doctest
import json
import subprocess
import sys
from pathlib import Path

import pytest

from loadtest.running import ROOT
from loadtest.storefront import stages, tallies
from loadtest.storefront.judge import BROKEN, NOT_MEASURED, Thresholds, exit_code
from loadtest.storefront.options import parse
from loadtest.storefront.stages import ShapeName

GOOD = {
    "failure_share": 0.0,
    "fallback_share": 0.0,
    "recommend_p99_ms": 10.0,
    "recommend_per_s": 50.0,
    "recommendations": 1000,
    "generator_busiest": 0.5,
}


def test_one_command_starts_a_service_visits_it_and_writes_what_it_found(small_bundles: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "loadtest.storefront", "--bundles", str(small_bundles), "--out", str(tmp_path)]
    command += ["--shape", "spike", "--users", "6", "--seconds", "6"]
    command += ["--think-s", "0.1", "--p99-ms", "10000", "--fallbacks", "1", "--k", "20"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["failure_share"] == 0
    assert set(summary["variants"]) >= {"storefront/tgh-1", "storefront/tgh-2"}
    rows = list(csv.DictReader((tmp_path / "retrievers.csv").read_text().splitlines()))
    assert {row["assigned"] for row in rows} >= {"tgh-1", "tgh-2"}
    assert "no_history" in {row["fallback_reason"] for row in rows}
    assert sum(int(row["lists"]) for row in rows) == summary["recommendations"] > 0
    assert "recommend, tgh-2" in (tmp_path / "report.html").read_text()
    assert "recommend, tgh-2" in (tmp_path / "storefront_stats.csv").read_text()
    assert "generator:" in done.stdout


@pytest.mark.parametrize(
    ("worse", "code"),
    [
        ({}, 0),
        ({"failure_share": 0.01}, BROKEN),
        ({"fallback_share": 0.2}, BROKEN),
        ({"recommend_p99_ms": 400.0}, BROKEN),
        ({"recommend_per_s": 1.0}, BROKEN),
        ({"recommendations": 0}, BROKEN),
        ({"generator_busiest": 0.95}, NOT_MEASURED),
    ],
)
def test_each_threshold_sets_the_exit_code(worse: dict[str, float], code: int) -> None:
    assert exit_code(GOOD | worse, Thresholds(least_per_s=10.0)) == code


def test_a_ramp_rises_a_spike_falls_back_and_a_soak_stays() -> None:
    counts = {shape: [stage.users for stage in stages.stages(shape, 100, 60)] for shape in ShapeName}
    assert counts == {ShapeName.RAMP: list(range(10, 101, 10)), ShapeName.SPIKE: [20, 100, 20], ShapeName.SOAK: [100]}


def test_shares_and_thresholds_are_flags_and_a_bundle_or_the_demo_is_needed() -> None:
    options = parse(["--demo", "--gr", "0.5", "--p99-ms", "12"])
    assert (options.mix.gr, options.thresholds.p99_ms, options.bundles) == (0.5, 12.0, None)
    with pytest.raises(SystemExit):
        parse(["--users", "5"])


@pytest.mark.parametrize("module", [tallies, stages])
def test_examples_hold(module: object) -> None:
    found = doctest.testmod(module)  # type: ignore[arg-type]
    assert found.attempted > 0
    assert found.failed == 0
