import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from models.errors import InputError
from offline.config import BuildConfig, EngineRules
from offline.ingest.engine import Engine
from offline.ingest.interactions import INTERACTIONS, read_interactions
from tests.offline.ingest.conftest import FORMATS, Reader, write

NAMES = ("user_id", "item_id", "timestamp", "rating", "event")
SECOND = 10**9

# Bytes that a line-based format cannot hold unescaped are JSON's to escape and CSV's to quote; a lone carriage return
# inside a quoted field is the one thing Arrow's CSV writer and reader disagree on.
ODD_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r"), min_size=1, max_size=12)


@pytest.mark.parametrize("form", FORMATS)
def test_ids_keep_every_byte(tmp_path: Path, read: Reader, form: str) -> None:
    ids = [
        "007",
        "7",
        "7.0",
        " 7",
        "7 ",
        "1e3",
        "NaN",
        "null",
        "None",
        "12345678901234567890123",
        "ü",
        "a,b",
        'q"q',
        "\ttab",
    ]
    rows = [{"user_id": "u", "item_id": one, "timestamp": "1318896000"} for one in ids]

    found, report = read(write(tmp_path / f"i.{form}", rows, NAMES))

    assert [row[1] for row in found] == ids
    assert report.kept == len(ids)
    assert report.findings == ()


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ids=st.lists(st.tuples(ODD_TEXT, ODD_TEXT), min_size=1, max_size=8))
@example(ids=[("\x00", "a\x00b"), ("\ufeff", "\u2028"), ('"', '""'), ("\n", "#"), ("\x1f", "\x7f")])
def test_every_format_reads_the_same_rows(tmp_path: Path, ids: list[tuple[str, str]]) -> None:
    rows = [
        {"user_id": user, "item_id": item, "timestamp": str(1318896000 + n), "rating": "4.5" if n % 2 else None}
        for n, (user, item) in enumerate(ids)
    ]
    read = {}
    for form in FORMATS:
        with Engine(EngineRules()) as engine:
            path = write(tmp_path / f"i.{form}", rows, NAMES)
            config = BuildConfig.model_validate({"ratings": {"low": 1, "high": 5}})
            read_interactions(engine, [path], config, None)
            read[form] = engine.run(f"SELECT * FROM {INTERACTIONS} ORDER BY row")

    assert [row[2:4] for row in read["csv"]] == ids
    assert all(read[form] == read["csv"] for form in FORMATS)


def test_64_bit_integer_columns_survive(tmp_path: Path, read: Reader) -> None:
    ids = pa.array([9223372036854775807, -1, 9007199254740993], pa.int64())
    times = pa.array([1, 2, 3], pa.int64())
    pq.write_table(pa.table({"user_id": ids, "item_id": ids, "timestamp": times}), tmp_path / "i.parquet")
    (tmp_path / "i.jsonl").write_text(
        '{"user_id": 9007199254740993, "item_id": 18446744073709551616, "timestamp": 1}\n'
    )

    assert [row[1] for row in read(tmp_path / "i.parquet")[0]] == ["9223372036854775807", "-1", "9007199254740993"]
    assert read(tmp_path / "i.jsonl")[0][0][:2] == ("9007199254740993", "18446744073709551616")


@pytest.mark.parametrize("value", ["7.10", "true", "[1]", "1e3"])
def test_json_ids_that_are_neither_text_nor_whole_are_refused(tmp_path: Path, read: Reader, value: str) -> None:
    path = tmp_path / "i.jsonl"
    path.write_text(f'{{"user_id": "u", "item_id": "a", "timestamp": 1}}\n\n{{"user_id": "u", "item_id": {value}}}\n')

    with pytest.raises(InputError, match=r"i\.jsonl, row 3, field item_id"):
        read(path)


def test_floating_point_ids_of_parquet_are_refused(tmp_path: Path, read: Reader) -> None:
    table = pa.table({"user_id": ["u"], "item_id": pa.array([7.0]), "timestamp": [1]})
    pq.write_table(table, tmp_path / "i.parquet")

    with pytest.raises(InputError, match=r"column item_id: found type DOUBLE"):
        read(tmp_path / "i.parquet")


def test_dictionary_and_binary_columns_of_parquet_are_text(tmp_path: Path, read: Reader) -> None:
    users = pa.array(["u", "u"]).dictionary_encode()
    table = pa.table({"user_id": users, "item_id": pa.array([b"007", "ü".encode()]), "timestamp": [1, 2]})
    pq.write_table(table, tmp_path / "i.parquet")

    assert [row[:2] for row in read(tmp_path / "i.parquet")[0]] == [("u", "007"), ("u", "ü")]


def test_files_follow_one_another_in_the_order_given(tmp_path: Path, read: Reader) -> None:
    paths = [tmp_path / "z.csv", tmp_path / "a.jsonl"]
    for number, path in enumerate(paths):
        write(path, [{"user_id": "u", "item_id": f"{number}-{n}", "timestamp": "5"} for n in range(3)], NAMES)

    assert [row[1] for row in read(*paths)[0]] == ["0-0", "0-1", "0-2", "1-0", "1-1", "1-2"]


def test_rows_keep_their_order_over_many_blocks_and_threads(tmp_path: Path) -> None:
    n_rows, padding = 120_000, "x" * 400
    path = tmp_path / "i.csv.gz"
    lines = "".join(f"u,{n},{padding},5\n" for n in range(n_rows))
    path.write_bytes(gzip.compress(f"user_id,item_id,junk,timestamp\n{lines}".encode(), 1))

    with Engine(EngineRules(threads=4)) as engine:
        read_interactions(engine, [path], BuildConfig(), None)
        odd = engine.run(f"SELECT count(*) FILTER (row <> item_id::BIGINT + 1), count(*) FROM {INTERACTIONS}")

    assert odd == [(0, n_rows)]


def test_columns_can_have_other_names(tmp_path: Path, read: Reader) -> None:
    (tmp_path / "i.csv").write_text("visitor,sku,ts\nu,a,5\n")
    columns = {"user_id": "visitor", "item_id": "sku", "timestamp": "ts"}
    config = BuildConfig.model_validate({"interactions": {"columns": columns}})

    assert read(tmp_path / "i.csv", config=config)[0] == [("u", "a", 5 * SECOND, None, None)]


def test_byte_order_mark_carriage_returns_and_blank_lines_are_no_data(tmp_path: Path, read: Reader) -> None:
    (tmp_path / "i.csv").write_bytes(b"\xef\xbb\xbfuser_id,item_id,timestamp\r\nu,a,5\r\n\r\nu,b,6")

    assert [row[1] for row in read(tmp_path / "i.csv")[0]] == ["a", "b"]


def test_gzip_of_several_members_is_read_whole(tmp_path: Path, read: Reader) -> None:
    first, second = gzip.compress(b"user_id,item_id,timestamp\nu,a,5\n"), gzip.compress(b"u,b,6\n")
    (tmp_path / "i.csv.gz").write_bytes(first + second)

    assert len(read(tmp_path / "i.csv.gz")[0]) == 2


@pytest.mark.parametrize("form", FORMATS)
def test_file_names_are_taken_as_they_are(tmp_path: Path, read: Reader, form: str) -> None:
    rows = [{"user_id": "u", "item_id": "a", "timestamp": "5"}]
    write(tmp_path / f"other.{form}", rows * 3, NAMES)

    assert len(read(write(tmp_path / f"[o]*'r?.{form}", rows, NAMES))[0]) == 1


def test_parquet_with_odd_columns_is_read_like_any_other(tmp_path: Path, read: Reader) -> None:
    columns = {
        "USER_ID": [9, 9],
        "user_id": ["u", "v"],
        "item_id": ["a", "b"],
        "timestamp": pa.array([5, 6], pa.int32()),
        "file_row_number": [7, 7],
        "waited": pa.array([1, 2], pa.duration("s")),
    }
    expected = [("u", "a", 5 * SECOND, None, None), ("v", "b", 6 * SECOND, None, None)]
    for left_out in (set[str](), {"USER_ID", "file_row_number"}, set(columns) - {"user_id", "item_id", "timestamp"}):
        kept = {name: values for name, values in columns.items() if name not in left_out}
        pq.write_table(pa.table(kept), tmp_path / "i.parquet")
        assert read(tmp_path / "i.parquet")[0] == expected


def test_parquet_beside_text_and_given_twice(tmp_path: Path, read: Reader) -> None:
    stored = {"user_id": ["u"], "item_id": ["a"], "timestamp": pa.array([5], pa.uint64())}
    pq.write_table(pa.table(stored), tmp_path / "i.parquet")
    text = write(tmp_path / "i.csv", [{"user_id": "u", "item_id": "b", "timestamp": "6"}], NAMES)

    for paths in ((tmp_path / "i.parquet",) * 2, (tmp_path / "i.parquet", text, tmp_path / "i.parquet")):
        found, report = read(*paths)
        assert [row[1:3] for row in found] == [
            ("b", 6 * SECOND) if path == text else ("a", 5 * SECOND) for path in paths
        ]
        assert len(report.units) == len(paths)
