"""Order, split and counts against a plain reading of the rules, row by row."""

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from models.words import Split
from offline.config import BuildConfig
from offline.dataset import Dataset, Inputs, read_dataset
from offline.split import Part


class Row(NamedTuple):
    user: str
    item: str
    time: int
    event: str | None
    rating: float | None


ROWS = st.lists(
    st.builds(
        Row,
        user=st.sampled_from(["u", "v", "ü"]),
        item=st.sampled_from(["a", "b", "c"]),
        time=st.integers(1, 4),
        event=st.sampled_from(["view", "cart", None]),
        rating=st.sampled_from([None, 1.0, 4.0]),
    ),
    min_size=1,
    max_size=30,
)


def write(path: Path, rows: list[Row]) -> Path:
    columns = dict(zip(("user_id", "item_id", "timestamp", "event", "rating"), zip(*rows, strict=True), strict=True))
    types = {"rating": pa.float64(), "event": pa.string()}
    pq.write_table(pa.table({name: pa.array(list(c), types.get(name)) for name, c in columns.items()}), path)
    return path


def expected(rows: list[Row], keep: int | None) -> dict[str, list[tuple[str, list[float]]]]:
    """Each user's places: the item, and the ratings of all rows that share the place."""
    users: dict[str, list[tuple[str, list[float]]]] = {}
    for user in sorted({row.user for row in rows}, key=str.encode):
        before: Row | None = None
        places: list[tuple[str, list[float]]] = []
        for row in sorted((row for row in rows if row.user == user), key=lambda row: row.time):
            if before is None or before.item != row.item or before.event == row.event:
                places.append((row.item, []))
            places[-1][1].extend([] if row.rating is None else [row.rating])
            before = row
        users[user] = places[-keep:] if keep else places
    return users


def train(places: list[tuple[str, list[float]]]) -> list[tuple[str, list[float]]]:
    return places[:-2] if len(places) >= 3 else places


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, keep=st.sampled_from([None, 1, 3, 5]), cut=st.integers(0, 30), one_event=st.booleans())
def test_sequences_follow_the_rules(
    tmp_path: Path, rows: list[Row], keep: int | None, cut: int, one_event: bool
) -> None:
    rows = [row._replace(event=rows[0].event) for row in rows] if one_event else rows
    parts = [part for part in (rows[:cut], rows[cut:]) if part]
    paths = tuple(write(tmp_path / f"{n}.parquet", part) for n, part in enumerate(parts))
    config = BuildConfig.model_validate(
        {"split": "leave-last-out", "truncate_history": keep, "ratings": {"low": 1, "high": 5}}
    )
    users = expected(rows, keep)

    with read_dataset(Inputs(paths), config) as dataset:
        _compare(dataset, users)


def _compare(dataset: Dataset, users: dict[str, list[tuple[str, list[float]]]]) -> None:
    sequences, ids = dataset.sequences(), dataset.ids
    assert sequences.user_ids.to_pylist() == list(users)
    assert [ids.strings(sequences.sequence(n)) for n in range(len(users))] == [
        [p[0] for p in u] for u in users.values()
    ]
    assert [ids.strings(sequences.train(n)) for n in range(len(users))] == [
        [place[0] for place in train(places)] for places in users.values()
    ]
    pairs = Counter(pair for places in users.values() for pair in pairwise([place[0] for place in train(places)]))
    found = dataset.transitions()
    assert found.counts.tolist() == [count for _, count in sorted(pairs.items())]
    assert list(zip(ids.strings(found.sources), ids.strings(found.targets), strict=True)) == sorted(pairs)
    counts = Counter(place[0] for places in users.values() for place in train(places))
    assert dataset.popularity().tolist() == [counts[ids.id(n)] for n in range(len(ids))]
    stars: dict[str, list[float]] = {}
    for places in users.values():
        for item, ratings in train(places):
            stars.setdefault(item, []).extend(ratings)
    sums, numbers = dataset.ratings().totals(len(ids))
    assert sums.tolist() == [sum(stars.get(ids.id(n), [])) for n in range(len(ids))]
    assert numbers.tolist() == [len(stars.get(ids.id(n), [])) for n in range(len(ids))]


def dataset_of(folder: Path, rows: list[Row], **config: object) -> Dataset:
    return read_dataset(Inputs((write(folder / "i.parquet", rows),)), BuildConfig.model_validate(config))


def test_targets_and_histories(tmp_path: Path) -> None:
    rows = [Row("long", item, n, None, None) for n, item in enumerate("abcd", 1)]
    rows += [Row("short", item, n, None, None) for n, item in enumerate("ab", 1)]

    with dataset_of(tmp_path, rows, split="leave-last-out") as dataset:
        sequences, ids = dataset.sequences(), dataset.ids

    users = sequences.with_targets()
    assert [sequences.user_ids[user].as_py() for user in users] == ["long"]
    assert ids.strings(sequences.targets(users, Part.TEST)) == ["d"]
    assert ids.strings(sequences.targets(users, Part.VALIDATION)) == ["c"]
    assert ids.strings(sequences.history(0, Part.TEST)) == ["a", "b", "c"]
    assert ids.strings(sequences.history(0, Part.VALIDATION)) == ["a", "b"]
    assert sequences.training_rows().tolist() == [True, True, False, False, True, True]


def test_without_a_split_everything_is_training(tmp_path: Path) -> None:
    rows = [Row("u", item, n, None, None) for n, item in enumerate("abcd", 1)]

    with dataset_of(tmp_path, rows) as dataset:
        assert dataset.split is Split.NONE
        assert dataset.popularity().sum() == 4
        assert len(dataset.sequences().with_targets()) == 0


@pytest.mark.parametrize(
    ("events", "items"),
    [
        (["view", "cart", "purchase"], ["a"]),
        (["purchase", "purchase"], ["a", "a"]),
        (["view", None], ["a"]),
        ([None, None], ["a", "a"]),
        (["view", "view", "cart"], ["a", "a"]),
    ],
)
def test_consecutive_rows_of_one_item_count_once_under_different_events(
    tmp_path: Path, events: list[str | None], items: list[str]
) -> None:
    rows = [Row("u", "a", n, event, None) for n, event in enumerate(events, 1)]

    with dataset_of(tmp_path, rows) as dataset:
        assert dataset.ids.strings(dataset.sequences().items) == items
        assert dataset.statistics()["repeats_under_another_event"] == len(events) - len(items)


def test_kept_unknown_items_join_the_catalogue_without_metadata(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("item_id,title\nb,B\nz,Z\n")
    path = write(tmp_path / "i.parquet", [Row("u", item, 1, None, None) for item in "abc"])
    config = BuildConfig.model_validate({"interactions": {"unknown_items": "keep"}})

    with read_dataset(Inputs((path,), tmp_path / "items.csv"), config) as dataset:
        assert dataset.items.select(["item_id", "title", "available"]).to_pylist() == [
            {"item_id": one, "title": one.upper() if one in "bz" else None, "available": True} for one in "abcz"
        ]
