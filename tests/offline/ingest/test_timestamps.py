from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from models.errors import InputError
from offline.config import EngineRules
from offline.ingest.engine import Engine
from offline.ingest.timestamps import timed
from tests.offline.ingest.conftest import Reader

SECOND = 10**9
T0 = 1318896000


def csv(folder: Path, *times: object) -> Path:
    path = folder / "i.csv"
    path.write_text("user_id,item_id,timestamp\n" + "".join(f"u,i{n},{time}\n" for n, time in enumerate(times)))
    return path


def times_of(read: Reader, path: Path) -> list[int]:
    return [row[2] for row in read(path)[0]]


UNITS = {"seconds": 1, "milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}


@pytest.mark.parametrize("unit", UNITS)
def test_units_are_told_by_size(tmp_path: Path, read: Reader, unit: str) -> None:
    factor = UNITS[unit]
    found, report = read(csv(tmp_path, T0 * factor, 0, (T0 + 1) * factor + factor // 2))

    expected = (T0 + 1) * SECOND + (factor // 2) * (SECOND // factor)
    assert [row[2] for row in found] == [T0 * SECOND, 0, expected]
    assert report.units == (unit,)


ISO = {
    "2011-10-18T00:00:00Z": 0,
    "2011-10-18T02:00:00+02:00": 0,
    "2011-10-17T16:30:00-0730": 0,
    "2011-10-18 00:00:00+00": 0,
    "2011-10-18t00:00z": 0,
    "2011-10-18T00:00:00.123456789Z": 123456789,
    "2011-10-18T00:00:00.5 +00:00": 500000000,
    "2011-10-18T00:00:00,25Z": 250000000,
}


@pytest.mark.parametrize("text", ISO)
def test_iso_8601_with_offset_is_exact_to_the_nanosecond(tmp_path: Path, read: Reader, text: str) -> None:
    assert times_of(read, csv(tmp_path, f'"{text}"')) == [T0 * SECOND + ISO[text]]


@pytest.mark.parametrize(
    ("times", "row", "line", "value"),
    [
        ([T0, T0, T0 * 1000, T0], 3, 4, "1318896000000"),
        ([T0 * 1000, T0 * 10**9, T0 * 1000], 2, 3, "1318896000000000000"),
        (["2011-10-18T00:00:00Z", T0], 2, 3, "1318896000"),
        ([T0, "", T0, "2011-10-18T00:00:00Z"], 4, 5, "2011-10-18T00:00:00Z"),
        ([0, T0, T0 * 10**6], 3, 4, "1318896000000000"),
        (["2011-10-18T00:00:00Z", 0], 2, 3, "0"),
        ([T0, "yesterday"], 2, 3, "yesterday"),
        ([T0, "2011-10-18T00:00:00"], 2, 3, "2011-10-18T00:00:00"),
        ([T0, "2011-13-45T00:00:00Z"], 2, 3, "2011-13-45T00:00:00Z"),
        ([T0, "inf"], 2, 3, "inf"),
    ],
)
def test_a_mix_names_the_first_odd_row(
    tmp_path: Path, read: Reader, times: list[object], row: int, line: int, value: str
) -> None:
    with pytest.raises(InputError) as caught:
        read(csv(tmp_path, *times))

    assert f"i.csv, row {row} (line {line}), field timestamp: found '{value}'" in str(caught.value)


def test_times_without_offset_are_refused(tmp_path: Path, read: Reader) -> None:
    with pytest.raises(InputError, match="neither a number nor ISO 8601 with offset"):
        read(csv(tmp_path, "2011-10-18T00:00:00"))


def test_times_that_64_bits_cannot_hold_are_refused(tmp_path: Path, read: Reader) -> None:
    with pytest.raises(InputError, match=r"row 2 .*expected a time from the year 1677 to 2262"):
        read(csv(tmp_path, T0, 9_900_000_000))


def test_missing_times_are_dropped_and_counted(tmp_path: Path, read: Reader) -> None:
    found, report = read(csv(tmp_path, T0, "", "NaN", "null"))

    assert len(found) == 1
    assert [(finding.what, finding.rows, finding.first) for finding in report.findings] == [
        ("missing timestamp", 3, "i.csv row 2")
    ]


def test_fractions_of_a_second_keep_their_order(tmp_path: Path, read: Reader) -> None:
    assert times_of(read, csv(tmp_path, f"{T0}.25", f"{T0}.0", "1.318896e9")) == [
        T0 * SECOND + SECOND // 4, T0 * SECOND, T0 * SECOND,
    ]  # fmt: skip


def test_each_file_has_its_own_unit(tmp_path: Path, read: Reader) -> None:
    (tmp_path / "a").mkdir()
    found, report = read(csv(tmp_path, T0), csv(tmp_path / "a", T0 * 1000))

    assert [row[2] for row in found] == [T0 * SECOND, T0 * SECOND]
    assert report.units == ("seconds", "milliseconds")


@pytest.mark.parametrize(
    "kind", [pa.timestamp("s"), pa.timestamp("ms", tz="UTC"), pa.timestamp("us"), pa.timestamp("ns")]
)
def test_parquet_timestamps_need_no_guess(tmp_path: Path, read: Reader, kind: pa.DataType) -> None:
    moments = [datetime(1970, 1, 1, 0, 0, 1), datetime(2011, 10, 18), None]
    table = pa.table({"user_id": ["u"] * 3, "item_id": ["a", "b", "c"], "timestamp": pa.array(moments, kind)})
    pq.write_table(table, tmp_path / "i.parquet")

    assert times_of(read, tmp_path / "i.parquet") == [SECOND, T0 * SECOND]


def test_parquet_numbers_are_read_like_text(tmp_path: Path, read: Reader) -> None:
    times = pa.array([T0 * 1000.0, np.nan])
    pq.write_table(pa.table({"user_id": ["u"] * 2, "item_id": ["a", "b"], "timestamp": times}), tmp_path / "i.parquet")

    assert times_of(read, tmp_path / "i.parquet") == [T0 * SECOND]


MOMENTS = st.datetimes(datetime(1970, 6, 1), datetime(2260, 1, 1), timezones=st.just(UTC))


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moments=st.lists(MOMENTS, min_size=1, max_size=5), hours=st.integers(-14, 14))
def test_iso_text_and_numbers_agree(moments: list[datetime], hours: int) -> None:
    offset = f"{'-' if hours < 0 else '+'}{abs(hours):02}:00"
    texts = [(one + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%S.%f") + offset for one in moments]
    micros = [(one - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) for one in moments]
    read = []
    with Engine(EngineRules()) as engine:
        for values in (texts, list(map(str, micros))):
            stored = pa.nulls(len(values), pa.int64())
            columns = {"timestamp": values, "timestamp_whole": stored, "timestamp_ns": stored}
            rows = engine.give("raw", pa.table(columns))
            read.append(engine.result(timed(rows).select("nanoseconds"))["nanoseconds"].to_pylist())

    assert read[0] == read[1] == [micro * 1000 for micro in micros]


NUMBERS = [0, 1, -1, T0, 10**10 - 1, T0 * 1000, T0 * 10**6, T0 * SECOND, -T0, 2**63 - 1, -(2**63)]


@pytest.mark.parametrize("number", NUMBERS)
def test_a_stored_number_is_what_its_text_is(number: int) -> None:
    found = []
    with Engine(EngineRules()) as engine:
        for text, whole in ((str(number), None), (None, number)):
            columns = {
                "timestamp": pa.array([text], pa.string()),
                "timestamp_whole": pa.array([whole], pa.int64()),
                "timestamp_ns": pa.nulls(1, pa.int64()),
            }
            rows = engine.give("raw", pa.table(columns))
            found.append(engine.result(timed(rows).select("unit", "nanoseconds")).to_pylist())

    assert found[0] == found[1]


@pytest.mark.parametrize(("kind", "number"), [(pa.int64(), -(2**63)), (pa.uint64(), 2**64 - 1)])
def test_stored_numbers_beyond_all_times_are_named(
    tmp_path: Path, read: Reader, kind: pa.DataType, number: int
) -> None:
    table = pa.table({"user_id": ["u"] * 2, "item_id": ["a", "b"], "timestamp": pa.array([number, number], kind)})
    pq.write_table(table, tmp_path / "i.parquet")

    with pytest.raises(InputError, match=rf"i\.parquet, row 1, field timestamp: found '{number}' nanoseconds"):
        read(tmp_path / "i.parquet")
