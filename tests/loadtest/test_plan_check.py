"""The plan's check: synthetic shops of the size asked for, and a judgement that can fail."""

from pathlib import Path

import duckdb

from loadtest.bench.row import Row
from loadtest.plan_check import compare, off
from loadtest.synthetic import PER_USER, write_shop


def test_a_synthetic_shop_has_the_size_that_was_asked_for_and_is_the_same_again(tmp_path: Path) -> None:
    sums = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        log, catalogue = write_shop(tmp_path / name, 500, 6000)
        with duckdb.connect() as engine:
            sums.append(engine.execute(f"select sum(hash(user_id, item_id, timestamp)) from '{log}'").fetchone())
            users, items, rows = engine.execute(
                f"select count(distinct user_id), count(distinct item_id), count(*) from '{log}'"
            ).fetchall()[0]
            listed = engine.execute(f"select count(*) from '{catalogue}'").fetchall()[0][0]
            foreign = engine.execute(
                f"select count(*) from '{log}' where item_id not in (select item_id from '{catalogue}')"
            ).fetchall()[0][0]
    assert sums[0] == sums[1]
    assert (rows, listed, foreign) == (6000, 500, 0)
    assert 0.9 * 6000 / PER_USER < users <= 6000 / PER_USER
    assert items > 400


def test_what_is_a_third_off_is_named_and_single_jobs_are_not_judged() -> None:
    measured = {"job rings, s": 1.0, "build, s": 3.0, "bundle, MiB": 10.0}
    predicted = {"job rings, s": 9.0, "build, s": 4.2, "bundle, MiB": 12.9}
    rows: list[Row] = list(compare(measured, predicted, 100))
    assert off(rows) == ["100 items, 1,000 interactions: build, s"]
