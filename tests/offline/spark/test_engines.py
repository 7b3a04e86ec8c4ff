"""Both engines read the same odd inputs and must not differ in anything."""

import gzip
import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from models.errors import InputError
from offline.config import BuildConfig, EngineRules
from offline.dataset import Inputs, read_dataset

ODD_IDS = [
    "007",
    "7",
    "7.0",
    " 7",
    "7 ",
    "ü",
    "Z",
    "a",
    "é",
    "e\u0301",
    "\U0001f600",
    "\uffff",
    "a\tb",
    "q'\"\\",
    "NaN",
    "",
]
LONG = ["ü" * 128, "ü" * 128 + "x"]
TIMES = ["5", "5", "5.5", "6", "0", "-1", "1e1", "", "nan", "7.0000000004", "5."]
RATINGS = ["1", "5.0", "", "0.1", "0.2", "4.7", "6", "nan", "inf", "good", " 3 ", "1d", "1_0"]
EVENTS = ["view", "cart", "", None]

ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "user_id": st.sampled_from(["u", "v", "ü", "", *LONG]),
            "item_id": st.sampled_from([*ODD_IDS, *LONG]),
            "timestamp": st.sampled_from(TIMES),
            "rating": st.sampled_from(RATINGS),
            "event": st.sampled_from(EVENTS),
        }
    ),
    min_size=8,
    max_size=60,
)


def parquet(path: Path, rows: list[dict[str, Any]], **options: Any) -> Path:
    names = ("user_id", "item_id", "timestamp", "rating", "event")
    pq.write_table(
        pa.table({name: pa.array([row[name] for row in rows], pa.string()) for name in names}), path, **options
    )
    return path


def everything(inputs: Inputs, config: BuildConfig) -> dict[str, Any]:
    """All that jobs ask of a data set, as plain values."""
    with read_dataset(inputs, config) as data:
        sequences, found, rated = data.sequences(), data.transitions(), data.ratings()
        return {
            "report": asdict(data.report),
            "items": data.items.to_pylist(),
            "users": sequences.user_ids.to_pylist(),
            "offsets": sequences.offsets.tolist(),
            "sequences": sequences.items.tolist(),
            "edges": [found.sources.tolist(), found.targets.tolist(), found.counts.tolist()],
            "popularity": data.popularity().tolist(),
            "ratings": [rated.items.tolist(), rated.ratings.tolist(), rated.counts.tolist()],
            "statistics": data.statistics(),
        }


def assert_equal(inputs: Inputs, spark: EngineRules, **config: Any) -> dict[str, Any]:
    """The result of both, which are one."""
    plain = BuildConfig.model_validate(config)
    expected = everything(inputs, plain)
    found = everything(inputs, plain.model_copy(update={"engine": spark}))
    assert found == expected
    return expected


SCALE = {"low": 1, "high": 5}


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, cut=st.integers(1, 30), keep=st.sampled_from([None, 3]), bare=st.booleans())
def test_odd_rows(
    tmp_path: Path, spark: EngineRules, rows: list[dict[str, Any]], cut: int, keep: int | None, bare: bool
) -> None:
    rows = [*rows, {"user_id": "u", "item_id": "a", "timestamp": "5", "rating": None, "event": None}]
    files = tuple(parquet(tmp_path / f"{n}.parquet", part) for n, part in enumerate((rows[:cut], rows[cut:])) if part)
    (tmp_path / "items.jsonl").write_text("".join(json.dumps({"item_id": one}) + "\n" for one in [*ODD_IDS[:9], "zz"]))
    inputs = Inputs(files, None if bare else tmp_path / "items.jsonl")

    assert_equal(inputs, spark, split="leave-last-out", truncate_history=keep, ratings=SCALE)


def test_row_order_of_ties_over_files_folders_and_row_groups(tmp_path: Path, spark: EngineRules) -> None:
    folder = tmp_path / "a b%20[ü]"
    for name in ("day=2/part-1", "day=10/part-0", "day=1/part-0", "_temporary/part-0", "day=1/Part-9"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        rows = [
            {"user_id": f"u{n % 3}", "item_id": f"{name}:{n}", "timestamp": "5", "rating": None, "event": None}
            for n in range(500)
        ]
        parquet(folder / f"{name}.parquet", rows, row_group_size=50)
    (folder / "day=1" / "_SUCCESS").touch()
    late = parquet(tmp_path / "0.parquet", [{**rows[0], "item_id": "last"}])

    found = assert_equal(Inputs((folder, late)), spark)

    newest = found["sequences"][found["offsets"][1] - 1]
    assert found["items"][newest]["item_id"] == "last"
    assert found["statistics"] == {
        "users": 3, "items": 2001, "interactions": 2001, "repeats_under_another_event": 0,
    }  # fmt: skip


def test_small_splits_do_not_change_the_order(tmp_path: Path, spark: EngineRules) -> None:
    from offline.spark.session import open_session

    rows = [
        {"user_id": "u", "item_id": f"{n:04}", "timestamp": "5", "rating": None, "event": None} for n in range(3000)
    ]
    path = parquet(tmp_path / "i.parquet", rows, row_group_size=100, compression="none")
    conf = open_session(spark).conf
    conf.set("spark.sql.files.maxPartitionBytes", "8000")
    try:
        assert assert_equal(Inputs((path,)), spark)["sequences"] == list(range(3000))
    finally:
        conf.unset("spark.sql.files.maxPartitionBytes")


def test_text_formats_beside_parquet(tmp_path: Path, spark: EngineRules) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b'user_id,item_id,timestamp\nu,"a\nb",5\nu,"q""q",5\n'))
    (tmp_path / "b.jsonl").write_text(
        '\n{"user_id": 9007199254740993, "item_id": "x", "timestamp": 5, "rating": 4.5}\n'
    )
    rows = [{"user_id": "u", "item_id": "x", "timestamp": "5", "rating": "2", "event": "view"}]
    files = (tmp_path / "a.csv.gz", tmp_path / "b.jsonl", parquet(tmp_path / "c.parquet", rows))

    found = assert_equal(Inputs(files), spark, ratings=SCALE)

    assert found["users"] == ["9007199254740993", "u"]
    assert [found["items"][n]["item_id"] for n in found["sequences"]] == ["x", "a\nb", 'q"q', "x"]


MOMENT = datetime(2011, 10, 18, 1, 2, 3, 456789, tzinfo=UTC)
COLUMNS = {
    "ns": pa.array([1, 10**18, None], pa.timestamp("ns")),
    "us": pa.array([MOMENT, MOMENT, None], pa.timestamp("us", "Europe/Paris")),
    "ms": pa.array([1, 2, None], pa.timestamp("ms")),
    "date": pa.array([0, 15000, None], pa.date32()),
    "integer": pa.array([1318896000123, 0, None], pa.int64()),
    "float": pa.array([1.3e9, 1318896000.25, float("nan")]),
    "decimal": pa.array([1318896000123, 0, None], pa.decimal128(20, 3)),
    "iso": pa.array(["2011-10-18T02:00:00,25+02:00", "1969-12-31t23:59:59.123456789z", ""]),
    "negative": pa.array(["-5", "-0.5", "-1e-9"]),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_kinds_of_timestamps(tmp_path: Path, spark: EngineRules, kind: str) -> None:
    ids = pa.array([2**63 - 1, -1, 7], pa.int64()), pa.array([b"007", "ü".encode(), b"7"])
    table = pa.table(
        {"user_id": ids[0], "item_id": ids[1], "timestamp": COLUMNS[kind], "rating": pa.array([1, 2.5, 4.1])}
    )
    pq.write_table(table, tmp_path / "i.parquet")

    found = assert_equal(Inputs((tmp_path / "i.parquet",)), spark, ratings=SCALE)

    assert found["report"]["interactions"]["kept"] == 3 - table["timestamp"].null_count - (kind in ("float", "iso"))


REFUSED = {
    "a mix of units": {"timestamp": ["5", "1318896000000"]},
    "no time": {"timestamp": ["5", "yesterday"]},
    "beyond 64 bits": {"timestamp": ["5", "9900000000"]},
    "no such day": {"timestamp": ["2011-02-30T00:00:00Z", "2011-02-28T00:00:00Z"]},
    "ids as floats": {"item_id": [7.0, 8.0]},
    "no such column": {"item": ["a", "b"], "item_id": None},
}


@pytest.mark.parametrize("case", REFUSED)
def test_both_refuse_in_the_same_words(tmp_path: Path, spark: EngineRules, case: str) -> None:
    columns = {"user_id": ["u", "v"], "item_id": ["a", "b"], "timestamp": ["5", "6"], **REFUSED[case]}
    pq.write_table(pa.table({name: values for name, values in columns.items() if values}), tmp_path / "i.parquet")
    said = []
    for engine in (EngineRules(), spark):
        with pytest.raises(InputError) as caught:
            everything(Inputs((tmp_path / "i.parquet",)), BuildConfig(engine=engine))
        said.append(str(caught.value))

    assert said[0] == said[1]


def test_a_build_is_the_same_bundle_and_leaves_no_tables(tmp_path: Path, spark: EngineRules) -> None:
    from models.bundle.reader import Bundle
    from offline.build import Request, build
    from offline.progress import Reporter
    from tests.offline.shop import config, inputs

    work = tmp_path / "work"
    engines = (EngineRules(), replace_work(spark, work))
    bundles = []
    for number, engine in enumerate(engines):
        rules = config(split="leave-last-out").model_copy(update={"engine": engine})
        build(Request(tmp_path / str(number), rules, inputs(tmp_path)), Reporter(quiet=True))
        bundles.append(Bundle.open(tmp_path / str(number)))

    first, second = (bundle.manifest for bundle in bundles)
    assert {name: entry.sha256 for name, entry in first.files.items()} == {
        name: entry.sha256 for name, entry in second.files.items()
    }
    assert {**first.sections, "jobs": None} == {**second.sections, "jobs": None}
    assert first.statistics == second.statistics
    assert list(work.iterdir()) == []


def replace_work(rules: EngineRules, work: Path) -> EngineRules:
    return rules.model_copy(update={"work": str(work)})
