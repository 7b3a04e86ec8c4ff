"""Whether a file holds anything, whatever its format."""

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from models.errors import InputError
from offline.ingest.files import has_rows

HEADER, ROW, LINE = b"user_id,item_id,timestamp\n", b"u,i,1\n", b'{"user_id": "u"}\n'


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.csv", HEADER, False),
        ("a.csv", HEADER + ROW, True),
        ("a.CSV.gz", HEADER, False),
        ("a.csv.gz", HEADER + ROW, True),
        ("a.jsonl", b"", False),
        ("a.jsonl", b"\n \n", False),
        ("a.ndjson", LINE, True),
        ("a.jsonl.gz", b"\n" + LINE, True),
    ],
)
def test_headers_and_blank_lines_are_no_rows(tmp_path: Path, name: str, content: bytes, expected: bool) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert has_rows(path) is expected


@pytest.mark.parametrize("users", [[], ["u"]])
def test_parquet_tells_it_in_its_footer(tmp_path: Path, users: list[str]) -> None:
    pq.write_table(pa.table({"user_id": pa.array(users, pa.string())}), tmp_path / "a.parquet")
    assert has_rows(tmp_path / "a.parquet") is bool(users)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"no such thing")
    with pytest.raises(InputError, match=r"a\.parquet"):
        has_rows(tmp_path / "a.parquet")
