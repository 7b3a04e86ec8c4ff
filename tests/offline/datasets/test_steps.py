"""The filters of the papers, each against its definition."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offline.datasets import steps
from offline.datasets.figures import Figures, differences, measure
from offline.datasets.steps import Count, Step

Row = tuple[str, str, int]

PAIRS = st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("uvwxyz"), st.integers(0, 3)), max_size=60)


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


def apply(con: duckdb.DuckDBPyConnection, rows: list[Row], *chosen: Step) -> list[Row]:
    table = {
        "row": pa.array(range(1, len(rows) + 1), pa.int64()),
        "user_id": pa.array([user for user, _, _ in rows], pa.string()),
        "item_id": pa.array([item for _, item, _ in rows], pa.string()),
        "timestamp": pa.array([time for _, _, time in rows], pa.int64()),
        "rating": pa.array([float(time) for _, _, time in rows], pa.float64()),
    }
    con.register("incoming", pa.table(table))
    con.execute("create or replace table interactions as from incoming")
    for step in chosen:
        step.apply(con)
    return con.execute("select user_id, item_id, timestamp from interactions order by row").fetchall()


def core_by_hand(rows: list[Row], least: int, distinct: bool) -> list[Row]:
    while True:
        pairs = [row[:2] for row in rows]
        counted = set(pairs) if distinct else pairs
        users, items = Counter(pair[0] for pair in counted), Counter(pair[1] for pair in counted)
        kept = [row for row in rows if users[row[0]] >= least and items[row[1]] >= least]
        if kept == rows:
            return rows
        rows = kept


@given(rows=PAIRS, least=st.integers(1, 4), count=st.sampled_from(Count))
@settings(max_examples=40, deadline=None)
def test_core_is_the_largest_set_in_which_all_have_enough(
    con: duckdb.DuckDBPyConnection, rows: list[Row], least: int, count: Count
) -> None:
    assert apply(con, rows, steps.Core(least, count)) == core_by_hand(rows, least, count is Count.PARTNERS)


@given(rows=PAIRS)
@settings(max_examples=40, deadline=None)
def test_collapsing_leaves_no_item_that_follows_itself_and_loses_no_change(
    con: duckdb.DuckDBPyConnection, rows: list[Row]
) -> None:
    kept = apply(con, rows, steps.CollapseRepeats())
    for user in {row[0] for row in rows}:
        before = [item for _, item, _ in sorted((r for r in rows if r[0] == user), key=lambda r: r[2])]
        after = [item for _, item, _ in sorted((r for r in kept if r[0] == user), key=lambda r: r[2])]
        assert after == [item for place, item in enumerate(before) if place == 0 or before[place - 1] != item]


@given(rows=PAIRS)
@settings(max_examples=40, deadline=None)
def test_edges_are_the_distinct_transitions_of_all_but_the_last_two_items(
    con: duckdb.DuckDBPyConnection, rows: list[Row]
) -> None:
    apply(con, rows)
    con.execute("create or replace table catalogue as select distinct item_id from interactions")
    edges = set()
    for user in {row[0] for row in rows}:
        training = [item for _, item, _ in sorted((r for r in rows if r[0] == user), key=lambda r: r[2])][:-2]
        edges |= set(pairwise(training))
    users, items = len({row[0] for row in rows}), len({row[1] for row in rows})
    assert measure(con) == Figures(users, items, len(edges), len(rows) / users if users else 0.0)


def test_one_pass_per_item_counts_interactions_or_users(con: duckdb.DuckDBPyConnection) -> None:
    rows = [("a", "x", 0), ("a", "x", 1), ("b", "y", 0), ("a", "y", 2)]
    assert apply(con, rows, steps.MinPerItem(2)) == rows
    assert apply(con, rows, steps.MinPerItem(2, Count.PARTNERS)) == rows[2:]


def test_one_pass_per_user_counts_interactions_or_items(con: duckdb.DuckDBPyConnection) -> None:
    rows = [("a", "x", 0), ("a", "x", 1), ("b", "x", 0), ("b", "y", 0)]
    assert apply(con, rows, steps.MinPerUser(2)) == rows
    assert apply(con, rows, steps.MinPerUser(2, Count.PARTNERS)) == rows[2:]


def test_counting_both_at_one_moment_is_not_counting_one_after_the_other(con: duckdb.DuckDBPyConnection) -> None:
    rows = [("a", "x", 0), ("a", "y", 1), ("b", "y", 0), ("b", "z", 0)]
    assert apply(con, rows, steps.MinBoth(2)) == rows[1:3]
    assert apply(con, rows, steps.MinPerItem(2), steps.MinPerUser(2)) == []


def test_duplicate_needs_user_item_and_time(con: duckdb.DuckDBPyConnection) -> None:
    rows = [("a", "x", 0), ("a", "x", 0), ("a", "x", 1), ("b", "x", 0)]
    assert apply(con, rows, steps.DropDuplicates()) == [rows[0], *rows[2:]]


def test_earliest_of_a_pair_stays_and_the_file_breaks_ties(con: duckdb.DuckDBPyConnection) -> None:
    rows = [("a", "x", 5), ("a", "y", 3), ("a", "x", 3), ("a", "x", 3)]
    assert apply(con, rows, steps.EarliestPerPair()) == [("a", "y", 3), ("a", "x", 3)]


def test_newest_stay_and_the_file_breaks_ties(con: duckdb.DuckDBPyConnection) -> None:
    rows = [("a", "w", 9), ("a", "x", 3), ("a", "y", 3), ("a", "z", 3), ("b", "x", 0)]
    assert apply(con, rows, steps.KeepNewest(3)) == [rows[0], rows[2], rows[3], rows[4]]


def test_rating_threshold_drops_lower_ones(con: duckdb.DuckDBPyConnection) -> None:
    assert apply(con, [("a", "x", 3), ("a", "y", 4)], steps.RatingAtLeast(4)) == [("a", "y", 4)]


def test_period_includes_both_ends(con: duckdb.DuckDBPyConnection) -> None:
    rows = [("a", item, time) for item, time in zip("wxyz", (-1, 0, 86_400, 86_401), strict=True)]
    assert apply(con, rows, steps.Between("1970-01-01 00:00:00", "1970-01-02 00:00:00")) == rows[1:3]


def test_figures_agree_up_to_the_rounding_of_the_mean() -> None:
    assert differences(Figures(2, 5, 3, 9.1349), Figures(2, 5, 3, 9.13)) == []
    assert [d.figure for d in differences(Figures(2, 5, 4, 9.14), Figures(2, 6, 3, 9.13))] == [
        "items",
        "edges",
        "mean_length",
    ]


def test_steps_describe_their_strictness(tmp_path: Path) -> None:
    assert steps.Core(5, Count.PARTNERS).describe() == "5-core by distinct counterparts, repeated until it holds"
    assert steps.KeepNewest(100).describe() == "newest 100 interactions of a user"
