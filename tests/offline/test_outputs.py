"""Files that commands write: whole or not at all, and refused early."""

from pathlib import Path

import pytest

from models.errors import ConfigError
from offline.outputs import check_file, check_folder, replaced_file


def test_a_failed_write_leaves_what_was_there_and_no_draft(tmp_path: Path) -> None:
    target = tmp_path / "results.json"
    target.write_text("before")

    with pytest.raises(UnicodeEncodeError), replaced_file(target) as draft, draft.open("w", encoding="ascii") as file:
        file.writelines(["half", "\u00fc"])

    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]


def test_missing_folders_are_made(tmp_path: Path) -> None:
    with replaced_file(tmp_path / "a" / "b" / "results.json") as draft:
        draft.write_text("whole")

    assert (tmp_path / "a" / "b" / "results.json").read_text() == "whole"


def test_checks_make_nothing_and_refuse_what_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    check_file(tmp_path / "new" / "results.json", "--out")
    check_folder(tmp_path / "new" / "report", "--report")
    check_file(None, "--out")

    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    with pytest.raises(ConfigError, match="--out: found the folder"):
        check_file(tmp_path, "--out")
    with pytest.raises(ConfigError, match="which is a file"):
        check_file(tmp_path / "file" / "results.json", "--out")
    with pytest.raises(ConfigError, match="which is a file"):
        check_folder(tmp_path / "file", "--report")
