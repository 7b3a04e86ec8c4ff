"""Lines that hold one document, as JSON or as Python prints it."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offline.datasets.documents import json_documents, literal_documents, parse_document
from offline.datasets.lines import locate, records
from offline.datasets.raw import RawFile, RawFolder
from offline.datasets.workspace import Workspace, scratch_database

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
DOCUMENTS = st.dictionaries(TEXT, VALUES, max_size=4)


@given(document=DOCUMENTS)
def test_what_python_prints_is_read_back(document: dict[str, Any]) -> None:
    assert parse_document(repr(document).encode()) == document


@given(document=DOCUMENTS)
def test_what_json_prints_is_read_back(document: dict[str, Any]) -> None:
    assert parse_document(json.dumps(document).encode()) == document


@given(line=st.binary(max_size=40))
def test_any_bytes_are_a_document_or_none(line: bytes) -> None:
    found = parse_document(line)
    assert found is None or isinstance(found, dict)


def test_deep_nesting_is_refused_rather_than_fatal() -> None:
    assert parse_document(b"{'a': " + b"[" * 100_000 + b"]" * 100_000 + b"}") is None


SHAPE = {"id": "VARCHAR", "n": "DOUBLE", "tags": ["VARCHAR"]}


def stage(path: Path, *, literal: bool) -> tuple[list[tuple[Any, ...]], dict[str, tuple[int, list[int | None]]]]:
    files = [RawFile("data", path.name)]
    with scratch_database(path.parent) as con:
        work = Workspace(con, RawFolder(path.parent, path.parent, files, "page"))
        (literal_documents if literal else json_documents)(work, "data", "staged", SHAPE)
        rows = con.execute("select row, doc.id, doc.n, doc.tags from staged order by row").fetchall()
    rejected = {r.reason.value: (r.count, [line.number for line in r.examples]) for r in work.rejects.all()}
    return rows, rejected


LINES = [
    '{"id": "a", "n": 1, "tags": ["x"], "other": {"deep": 1}}',
    "",
    '{"id": 7, "n": "2.5"}',
    "{'id': 'b', 'tags': ['y', None]}",
    '{"id": "\\ud83d", "n": NaN}',
    "[1]",
    "nonsense",
    '{"id": "c", "n": "many"}',
    f'{{"id": "{2**90}", "n": {2**90}}}',
]


@pytest.mark.parametrize("literal", [False, True])
@pytest.mark.parametrize("name", ["data.json", "data.json.gz"])
def test_both_parsers_take_the_same_lines(tmp_path: Path, name: str, literal: bool) -> None:
    content = "\n".join(LINES).encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    rows, rejected = stage(tmp_path / name, literal=literal)
    assert rejected == {"unparsable": (2, [6, 7])}
    assert [row[:2] for row in rows] == [(1, "a"), (2, "7"), (3, "b"), (4, rows[3][1]), (7, "c"), (8, str(2**90))]
    assert [row[3] for row in rows] == [["x"], None, ["y", None], None, None, None]
    assert [row[2] for row in rows[:3]] == [1.0, 2.5, None]
    assert (rows[4][2], rows[5][2]) == (None, float(2**90))


def test_more_lines_than_a_batch_keep_their_numbers(tmp_path: Path) -> None:
    lines = [f"{{'id': '{number}'}}" if number % 4000 else "torn" for number in range(12_001)]
    (tmp_path / "data").write_text("\n".join(lines))
    rows, rejected = stage(tmp_path / "data", literal=True)
    assert [row[0] - 1 for row in rows] == [int(row[1]) for row in rows]
    assert len(rows) == 12_001 - 4
    assert rejected == {"unparsable": (4, [1, 4001, 8001, 12_001])}


def test_records_are_numbered_without_blank_lines_and_lines_with_them(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"one\r\n\r\n  \ntwo\t\nthree")
    assert list(records(path)) == [(1, 1, b"one"), (2, 4, b"two\t"), (3, 5, b"three")]
    assert [(line.number, line.text) for line in locate(path, [2])] == [(4, "two\t")]
