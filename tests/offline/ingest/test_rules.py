"""What is dropped or not used, and that each case is counted once, under a stated rule."""

from pathlib import Path
from typing import Any

import pytest

from models.errors import InputError
from offline.config import BuildConfig
from offline.ingest.report import TableReport
from tests.offline.ingest.conftest import Reader, write

NAMES = ("user_id", "item_id", "timestamp", "rating", "event")


def counted(report: TableReport) -> dict[str, tuple[int, str, str]]:
    return {finding.what: (finding.rows, finding.rule, finding.first) for finding in report.findings}


def rows(*values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"user_id": "u", "item_id": "a", "timestamp": "5"} | value for value in values]


def test_rows_without_ids_are_dropped(tmp_path: Path, read: Reader) -> None:
    path = write(tmp_path / "i.csv", rows({}, {"user_id": ""}, {"item_id": ""}, {"item_id": None}), NAMES)

    found, report = read(path)

    assert len(found) == 1
    assert (report.read, report.kept) == (4, 1)
    assert counted(report) == {
        "empty user_id": (1, "dropped", "i.csv row 2"),
        "empty item_id": (2, "dropped", "i.csv row 3"),
    }


def test_ids_are_measured_in_bytes(tmp_path: Path, read: Reader) -> None:
    path = write(tmp_path / "i.csv", rows({"item_id": "ü" * 128}, {"item_id": "ü" * 128 + "x"}), NAMES)

    found, report = read(path)

    assert [row[1] for row in found] == ["ü" * 128]
    assert counted(report)["id longer than 256 bytes"][0] == 1


def test_a_row_is_counted_under_its_first_rule_only(tmp_path: Path, read: Reader) -> None:
    path = write(tmp_path / "i.csv", rows({}, {"user_id": "", "item_id": "", "timestamp": ""}), NAMES)

    report = read(path)[1]

    assert sum(finding.rows for finding in report.findings) == report.read - report.kept == 1


def test_events_that_do_not_count_are_dropped(tmp_path: Path, read: Reader) -> None:
    path = write(tmp_path / "i.csv", rows({"event": "view"}, {"event": "purchase"}, {"event": None}), NAMES)
    config = BuildConfig.model_validate({"interactions": {"events": ["purchase"]}})

    found, report = read(path, config=config)

    assert [row[3] for row in found] == ["purchase"]
    assert counted(report)["event that does not count"][0] == 2
    assert len(read(path)[0]) == 3


def test_unknown_items_are_dropped_or_kept(tmp_path: Path, read: Reader) -> None:
    path = write(tmp_path / "i.csv", rows({}, {"item_id": "new"}), NAMES)
    keep = BuildConfig.model_validate({"interactions": {"unknown_items": "keep"}})

    dropped, kept = read(path, known=["a"]), read(path, known=["a"], config=keep)

    assert [row[1] for row in dropped[0]] == ["a"]
    assert counted(dropped[1]) == {"item not in the catalogue": (1, "dropped", "i.csv row 2")}
    assert [row[1] for row in kept[0]] == ["a", "new"]
    assert counted(kept[1]) == {"item not in the catalogue": (1, "kept as items without metadata", "i.csv row 2")}


def test_ratings_are_used_only_on_the_stated_scale(tmp_path: Path, read: Reader) -> None:
    texts = ["1", "5.0", "", "0.5", "6", "nan", "inf", "good", " 3 "]
    path = write(tmp_path / "i.csv", rows(*({"rating": text} for text in texts)), NAMES)
    config = BuildConfig.model_validate({"ratings": {"low": 1, "high": 5}})

    found, report = read(path, config=config)

    assert [row[4] for row in found] == [1, 5, None, None, None, None, None, None, 3]
    assert counted(report) == {
        "rating that is not a number": (3, "kept without the rating", "i.csv row 6"),
        "rating outside the stated scale": (2, "kept without the rating", "i.csv row 4"),
    }


def test_ratings_without_a_stated_scale_are_reported_and_not_used(tmp_path: Path, read: Reader) -> None:
    found, report = read(write(tmp_path / "i.csv", rows({"rating": "4"}), NAMES))

    assert found[0][4] is None
    assert "state [ratings] low and high in build.toml" in counted(report)["rating without a stated scale"][1]


def test_nothing_usable_is_an_error_that_says_why(tmp_path: Path, read: Reader) -> None:
    path = write(tmp_path / "i.csv", rows({"user_id": ""}, {"item_id": "b"}), NAMES)

    with pytest.raises(InputError, match=r"2 rows of which none can be used \(empty user_id: 1 rows.*item not in"):
        read(path, known=["a"])
