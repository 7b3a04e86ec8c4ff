"""Which version serves, going back, and deleting old ones."""

from collections.abc import Callable
from pathlib import Path

import pytest

from models.bundle import root as roots
from models.bundle import versions
from models.bundle.reader import Bundle
from models.errors import BundleError

Build = Callable[[], str]


def test_versions_are_listed_oldest_first_and_the_newest_serves(root: Path, build: Build) -> None:
    built = [build() for _ in range(4)]
    (root / "notes").mkdir()
    assert versions.list_versions(root) == built
    assert versions.current(root) == built[-1]


def test_using_a_version_makes_it_current(root: Path, build: Build) -> None:
    first, _ = build(), build()
    versions.use(root, first)
    assert Bundle.open(root).version == first


def test_a_broken_version_is_not_used_and_the_served_one_stays(root: Path, build: Build) -> None:
    first, second = build(), build()
    (root / first / "popularity.npy").write_bytes(b"")
    with pytest.raises(BundleError, match="popularity"):
        versions.use(root, first)
    with pytest.raises(BundleError, match="popularity"):
        versions.rollback(root)
    assert versions.current(root) == second


def test_rollback_returns_to_the_version_served_before_not_to_the_one_built_before(root: Path, build: Build) -> None:
    first, _, third = build(), build(), build()
    versions.use(root, first)
    assert versions.rollback(root) == third
    assert versions.current(root) == third


def test_rolling_back_twice_returns_to_where_one_was(root: Path, build: Build) -> None:
    first, second = build(), build()
    assert [versions.rollback(root), versions.rollback(root)] == [first, second]


def test_using_the_version_that_serves_keeps_the_one_before(root: Path, build: Build) -> None:
    first, second = build(), build()
    versions.use(root, second)
    assert versions.rollback(root) == first


def test_without_a_version_before_rollback_says_what_to_do(root: Path, build: Build) -> None:
    only = build()
    with pytest.raises(BundleError, match="bundles use"):
        versions.rollback(root)
    assert versions.current(root) == only


def test_a_crash_between_the_two_files_of_a_switch_loses_no_version_before(
    root: Path, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = build(), build()
    replace = roots._replace

    def crash_before_current(path: Path, lines: list[str]) -> None:
        if path.name == roots.CURRENT:
            raise KeyboardInterrupt
        replace(path, lines)

    monkeypatch.setattr(roots, "_replace", crash_before_current)
    with pytest.raises(KeyboardInterrupt):
        versions.use(root, first)
    monkeypatch.undo()
    assert versions.current(root) == second
    assert versions.previous(root) == first


def test_a_broken_current_is_repaired_by_using_a_version(root: Path, build: Build) -> None:
    version = build()
    (root / "CURRENT").write_text("nonsense")
    versions.use(root, version)
    assert Bundle.open(root).version == version


def test_pruning_keeps_the_newest_and_always_the_current_and_the_previous(root: Path, build: Build) -> None:
    built = [build() for _ in range(6)]
    versions.use(root, built[1])
    versions.use(root, built[0])
    assert versions.prune(root, 1) == [built[2], built[3], built[4]]
    assert versions.list_versions(root) == [built[0], built[1], built[5]]
    assert versions.prune(root, 0) == [built[5]]
    assert versions.rollback(root) == built[1]
    assert {path.name for path in root.iterdir()} == {built[0], built[1], "CURRENT", "PREVIOUS", ".lock"}


def test_pruning_with_an_unreadable_current_deletes_nothing(root: Path, build: Build) -> None:
    built = [build(), build(), build()]
    (root / "CURRENT").write_text("nonsense")
    with pytest.raises(BundleError, match="CURRENT"):
        versions.prune(root, 1)
    assert versions.list_versions(root) == built


def test_pruning_refuses_to_keep_fewer_than_none(root: Path) -> None:
    with pytest.raises(ValueError, match="keep = -1"):
        versions.prune(root, -1)


def test_an_open_bundle_survives_its_deletion(root: Path, build: Build) -> None:
    bundle = Bundle.open(root, version=build())
    build(), build()
    assert bundle.version in versions.prune(root, 1)
    assert bundle.array("popularity").tolist() == [3, 1, 2]


def test_an_interrupted_deletion_is_finished_by_the_next_build(root: Path, build: Build) -> None:
    version = build()
    (root / f".deleted-{version}").mkdir()
    build()
    assert not list(root.glob(".deleted-*"))


def test_a_root_that_does_not_exist_has_no_versions(root: Path) -> None:
    assert versions.list_versions(root) == []
    assert versions.current(root) is None
    assert versions.prune(root, 1) == []
