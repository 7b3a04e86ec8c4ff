"""Growth keeps the shape of a log, and parts of the benchmark can be run alone."""

import csv
import json
import re
import sys
from collections import Counter
from pathlib import Path

import duckdb
import pytest

from loadtest.bench import __main__ as bench
from loadtest.bench.growth import grow_interactions
from loadtest.bench.over_http import one_percent
from loadtest.bench.row import Options, Row, table
from loadtest.bench.scale import rings
from loadtest.running import ROOT
from loadtest.wrk import has_wrk
from tests.service.api.conftest import _interactions


def degrees(rows: list[tuple[str, str]]) -> tuple[Counter[int], Counter[int]]:
    """How many items occur how often, and how many users have how many rows."""
    items, users = Counter(item for _, item in rows), Counter(user for user, _ in rows)
    return Counter(items.values()), Counter(users.values())


def test_growth_multiplies_items_and_users_and_keeps_their_distributions(tmp_path: Path) -> None:
    rows = _interactions()
    with (tmp_path / "log.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ("user_id", "item_id", "timestamp"))
        writer.writeheader()
        writer.writerows(rows)
    before = [(str(row["user_id"]), str(row["item_id"])) for row in rows]
    assert grow_interactions(tmp_path / "log.csv", 3, tmp_path / "grown.parquet") == 3 * len(rows)
    grown = duckdb.sql(f"select user_id, item_id from '{tmp_path / 'grown.parquet'}'").fetchall()
    for old, new in zip(degrees(before), degrees(grown), strict=True):
        assert new == Counter({size: 3 * count for size, count in old.items()})
    crossing = {user for user, item in grown if user.rpartition(".")[2] != item.rpartition(".")[2]}
    assert 0 < len(crossing) < len({user for user, _ in grown}) / 3


@pytest.mark.skipif(not has_wrk(), reason="wrk is not installed")
def test_parts_run_alone_and_leave_a_table_and_json(
    small_bundles: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--bundles", str(small_bundles), "--out", str(tmp_path), "--rounds", "1", "--seconds", "1"]
    arguments += ["--only", "retrievers,open", "--retrievers", "tgh-2"]
    monkeypatch.setattr(sys, "argv", ["bench", *arguments])
    bench.main()
    rows = json.loads((tmp_path / "bench.json").read_text())["rows"]
    assert [row["what"] for row in rows] == ["process 1", "bare FastAPI route", "bare ASGI app", "tgh-2"]
    assert rows[-1]["figures"]["failed"] == 0
    assert rows[-1]["figures"]["throughput"] > 0
    assert "| tgh-2 |" in (tmp_path / "bench.md").read_text()


def test_ring_lists_whose_rings_are_capped_show_the_recall_of_those(tmp_path: Path) -> None:
    (row,) = rings(Options(tmp_path, tmp_path, ring_items=(1000,), ring_walks=(300,)))
    assert row.what == "1,000 items, 300 edges"
    assert 0 < float(row.figures["probed ring2"]) < float(row.figures["probed ring3"]) < 1000
    assert 0 < float(row.figures["ring3 recall_at_50"]) < float(row.figures["ring3 recall_at_10"]) <= 1


def test_a_part_that_does_not_exist_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["bench", "--bundles", "b", "--only", "speed"])
    with pytest.raises(SystemExit):
        bench.main()
    assert "no part speed" in capsys.readouterr().err


def test_a_catalogue_without_prices_is_filtered_by_brand() -> None:
    items = [{"price": None, "brand": f"b{n // 2}"} for n in range(200)]
    assert one_percent(items) == ({"brand": ["b0"]}, 0.01)


def test_a_table_has_a_column_for_every_figure_of_its_part() -> None:
    rows = [Row("p", "a", {"x": 1.5}), Row("p", "b", {"x": 2.0, "y": "word"})]
    assert table(rows).splitlines()[2:] == ["| | x | y |", "|---|---|---|", "| a | 1.500 |  |", "| b | 2.000 | word |"]


def test_load_tests_know_the_service_from_outside_only() -> None:
    rooms = re.compile(r"(?m)^\s*(?:from|import) (?:models|offline|service|tests)\b")
    found = [path.name for path in (ROOT / "loadtest").rglob("*.py") if rooms.search(path.read_text())]
    assert found == []
