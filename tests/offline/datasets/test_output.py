"""What an ingest leaves behind: all of it or nothing, and fit for a build."""

import json
from pathlib import Path

import pytest

from models.errors import ConfigError, InputError
from offline.config import read_config
from offline.datasets.figures import Figures
from offline.datasets.ingest import compare, ingest
from offline.datasets.output import build_toml, replaced_folder
from offline.datasets.registry import DATASETS, find
from tests.offline.datasets.raw_files import Ingested, grid, write

USERS = [str(number) for number in range(5)]
FILMS = [str(number) for number in range(1, 6)]


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    lines = "".join(f"{user}::{film}::4::{time}\n" for user, film, time in grid(USERS, FILMS))
    write(tmp_path / "raw" / "ratings.dat", lines.encode())
    write(tmp_path / "raw" / "movies.dat", b"1::One (1999)::Drama\n1::Twice (2000)::Drama\n")
    return tmp_path / "raw"


def test_folder_holds_two_tables_a_configuration_and_the_report(raw: Path, tmp_path: Path) -> None:
    result = Ingested("movielens-1m", raw, tmp_path / "deep" / "out")
    names = sorted(path.name for path in result.out.iterdir())
    assert names == ["build.toml", "ingest.json", "interactions.parquet", "items.parquet"]
    assert [path.name for path in result.out.parent.iterdir()] == ["out"]


def test_report_says_what_was_read_left_out_and_found(raw: Path, tmp_path: Path) -> None:
    result = Ingested("movielens-1m", raw, tmp_path / "out")
    report = json.loads((result.out / "ingest.json").read_text())
    assert report["raw_files"][1]["name"] == "ratings.dat"
    assert report["raw_files"][1]["size_bytes"] == (raw / "ratings.dat").stat().st_size
    assert len(report["raw_files"][1]["sha256"]) == 64
    assert report["rejected"] == [
        {
            "file": "movies.dat",
            "reason": "item described before (first kept)",
            "count": 1,
            "examples": [{"line": 2, "text": "1::Twice (2000)::Drama"}],
        }
    ]
    assert report["steps"][0] == {"step": "as read", "interactions": 25, "users": 5, "items": 5}
    assert report["figures"][2] == {"figure": "edges", "found": 2.0, "published": 268_867.0, "agrees": False}
    assert report["coverage"] == [{"field": "title", "items": 1}, {"field": "categories", "items": 1}]


def test_earlier_ingest_is_replaced(raw: Path, tmp_path: Path) -> None:
    Ingested("movielens-1m", raw, tmp_path / "out")
    (tmp_path / "out" / "stale").write_text("old")
    Ingested("movielens-1m", raw, tmp_path / "out")
    assert not (tmp_path / "out" / "stale").exists()


def test_foreign_folder_is_left_alone(raw: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    with pytest.raises(ConfigError, match="Choose another folder"):
        ingest(find("movielens-1m"), raw=raw, out=tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["thesis.txt"]


def test_failure_leaves_the_earlier_ingest_and_no_scratch(raw: Path, tmp_path: Path) -> None:
    Ingested("movielens-1m", raw, tmp_path / "out")
    before = (tmp_path / "out" / "ingest.json").read_bytes()
    write(raw / "ratings.dat", b"1::1::5::1\n")
    with pytest.raises(InputError, match="no sequence"):
        ingest(find("movielens-1m"), raw=raw, out=tmp_path / "out")
    assert (tmp_path / "out" / "ingest.json").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "raw"]


def test_earlier_ingest_comes_back_when_it_cannot_be_replaced(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "ingest.json").write_text("{}")
    with pytest.raises(FileNotFoundError), replaced_folder(tmp_path / "out") as folder:
        folder.rmdir()
    assert (tmp_path / "out" / "ingest.json").read_text() == "{}"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("dataset", DATASETS, ids=lambda dataset: dataset.name)
def test_suggested_configuration_is_one_that_a_build_takes(dataset: object, tmp_path: Path) -> None:
    found = find(dataset.name)  # type: ignore[attr-defined]
    (tmp_path / "build.toml").write_text(build_toml(found))
    config = read_config(tmp_path / "build.toml")
    assert config.split == "leave-last-out"
    assert config.text.template == found.text
    assert (config.ratings and (config.ratings.low, config.ratings.high)) == (
        found.ratings and (found.ratings.low, found.ratings.high)
    )


def test_figures_without_a_published_counterpart_neither_agree_nor_differ() -> None:
    facts = compare(Figures(2, 3, 4, 5.0), None)
    assert [fact.agrees for fact in facts] == [None] * 4
    assert [fact.agrees for fact in compare(Figures(2, 3, 4, 5.0), Figures(2, 9, 4))] == [True, False, True, None]
