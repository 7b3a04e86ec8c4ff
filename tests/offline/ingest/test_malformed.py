"""A file that cannot be read is named, with the row where there is one."""

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from models.errors import InputError
from tests.offline.ingest.conftest import Reader

HEADER = b"user_id,item_id,timestamp\n"
GOOD = b"u,a,5\n"
BIG = HEADER + GOOD * 200_000

CASES = {
    "too few fields": ("i.csv", HEADER + GOOD + b"u,b\n", r"i\.csv, row 2 \(line 3\): found Expected 3 columns, got 2"),
    "too many fields": ("i.csv", HEADER + b"u,b,1,2\n", r"i\.csv, row 1 \(line 2\)"),
    "line after a field with line breaks": ("i.csv", HEADER + b'u,"a\n\nb",5\n' + b"u\n", r"row 2 \(line 5\)"),
    "row far down": ("i.csv", BIG + b"u\n", r"row 200001 \(line 200002\)"),
    "not UTF-8": ("i.csv", HEADER + GOOD + b"u,\xff,5\n", r"i\.csv, row 2 \(line 3\): found .*invalid UTF8"),
    "quote that never closes": ("i.csv", HEADER + b'u,"a,5\n' + GOOD, r"i\.csv, row 1"),
    "empty file": ("i.csv", b"", r"i\.csv: found Empty CSV file"),
    "no such column": ("i.csv", b"user,item_id,timestamp\nu,a,5\n", r"column user_id: found columns user, item_id"),
    "column twice": ("i.csv", b"user_id,item_id,item_id,timestamp\nu,a,b,5\n", r"column item_id: found 2 columns"),
    "cut gzip": ("i.csv.gz", gzip.compress(HEADER + GOOD)[:-9], r"i\.csv\.gz: found Truncated"),
    "no gzip": ("i.csv.gz", HEADER + GOOD, r"i\.csv\.gz: found .*header"),
    "damaged gzip": ("i.csv.gz", gzip.compress(HEADER + GOOD)[:-6] + b"xxxxxx", r"i\.csv\.gz: found .*check"),
    "broken JSON": ("i.jsonl", b'{"user_id": "u"}\n\n{"user_id": \n', r"i\.jsonl, row 3: found .*user_id"),
    "JSON that is no object": ("i.jsonl", b"[1, 2]\n", r"i\.jsonl, row 1: found '\[1, 2\]'"),
    "lone surrogate": ("i.jsonl", b'{"user_id": "\\ud800"}\n', r"i\.jsonl, row 1"),
    "JSON that is not UTF-8": ("i.jsonl", b'{}\n{"user_id": "\xff"}\n', r"i\.jsonl, row 2"),
    "JSON with a raw separator": ("i.jsonl", b'{"user_id": "\x1f"}\n', r"i\.jsonl, row 1"),
    "no Parquet": ("i.parquet", b"PAR1 but not really PAR1", r"i\.parquet: found"),
    "unknown ending": ("i.xlsx", b"", r"i\.xlsx: found a name of unknown ending"),
}


@pytest.mark.parametrize("case", CASES)
def test_malformed_files_are_named_with_the_row(tmp_path: Path, read: Reader, case: str) -> None:
    name, content, message = CASES[case]
    (tmp_path / name).write_bytes(content)

    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path / name)

    assert caught.value.exit_code == 3


def test_a_missing_file_is_named(tmp_path: Path, read: Reader) -> None:
    with pytest.raises(InputError, match=r"gone\.csv: found no such file"):
        read(tmp_path / "gone.csv")


@pytest.mark.parametrize("name", ["i.csv", "i.jsonl"])
def test_files_without_rows_are_refused_with_the_reason(tmp_path: Path, read: Reader, name: str) -> None:
    (tmp_path / name).write_bytes(HEADER if name == "i.csv" else b"")

    with pytest.raises(InputError, match="the files hold no rows"):
        read(tmp_path / name)


def test_parquet_that_holds_no_text_is_named(tmp_path: Path, read: Reader) -> None:
    ids = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")])
    pq.write_table(pa.table({"user_id": ids, "item_id": ["a"], "timestamp": [5]}), tmp_path / "i.parquet")

    with pytest.raises(InputError, match=r"i\.parquet"):
        read(tmp_path / "i.parquet")
