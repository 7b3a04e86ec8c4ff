"""What opening a bundle gives, and what it refuses, saying why."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.bundle import layout
from models.bundle.manifest import MANIFEST, SCHEMA_VERSION
from models.bundle.reader import Bundle
from models.errors import BundleError
from models.words import Split

Build = Callable[[], str]


def rewrite(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    facts = json.loads((folder / MANIFEST).read_text())
    change(facts)
    (folder / MANIFEST).write_text(json.dumps(facts))


def test_what_was_written_is_read(root: Path, build: Build) -> None:
    version = build()
    bundle = Bundle.open(root)
    assert (bundle.version, bundle.n_items, bundle.path) == (version, 3, root / version)
    assert bundle.array(layout.POPULARITY).tolist() == [3, 1, 2]
    assert bundle.table(layout.ITEMS)["item_id"].to_pylist() == ["a", "b", "c"]
    assert bundle.file(layout.GENERATOR).read_bytes() == b"weights"
    assert [bundle.ids.index(one) for one in ("a", "b", "c", "d")] == [0, 1, 2, -1]


def test_the_manifest_holds_configuration_statistics_sections_and_every_file(root: Path, build: Build) -> None:
    version = build()
    manifest = Bundle.open(root).manifest
    assert (manifest.schema_version, manifest.version, manifest.config) == (SCHEMA_VERSION, version, {"seed": 7})
    assert (manifest.split.kind, manifest.split.truncate_history) == (Split.LEAVE_LAST_OUT, 20)
    assert (manifest.statistics, manifest.sections) == ({"users": 9}, {"timings": {"graph_s": 0.5}})
    assert set(manifest.files) == {path.name for path in (root / version).iterdir()} - {MANIFEST}
    entry = manifest.files["popularity.npy"]
    assert (entry.dtype, entry.shape, entry.bytes) == ("<i8", (3,), (root / version / "popularity.npy").stat().st_size)
    assert manifest.files["items.parquet"].rows == 3


def test_arrays_are_mapped_and_cannot_be_written(root: Path, build: Build) -> None:
    build()
    array = Bundle.open(root).array(layout.POPULARITY)
    assert isinstance(array.base, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


def test_a_version_s_folder_opens_like_its_root(root: Path, build: Build) -> None:
    first, second = build(), build()
    assert Bundle.open(root / first).version == first
    assert Bundle.open(root).version == second
    assert Bundle.open(root, version=first).version == first


def test_an_artifact_that_the_bundle_lacks_is_named(root: Path, build: Build) -> None:
    build()
    bundle = Bundle.open(root)
    assert not bundle.has(layout.INDEX)
    assert bundle.has(layout.ITEMS)
    assert bundle.has(layout.GENERATOR)
    for read, name in ((bundle.array, layout.CODES), (bundle.table, layout.BRANDS), (bundle.file, layout.INDEX)):
        with pytest.raises(BundleError, match=name):
            read(name)


def test_a_root_without_a_bundle_says_how_to_build_one(root: Path) -> None:
    with pytest.raises(BundleError, match="shortlist build"):
        Bundle.open(root)


def test_an_unknown_version_is_refused_with_those_there_are(root: Path, build: Build) -> None:
    version = build()
    with pytest.raises(BundleError, match=version):
        Bundle.open(root, version="20200101T000000-0000")


@pytest.mark.parametrize("verify", ["full", "sizes"])
def test_a_truncated_file_is_refused(root: Path, build: Build, verify: Any) -> None:
    path = root / build() / "embeddings.npy"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(BundleError, match=r"embeddings\.npy.*bytes"):
        Bundle.open(root, verify=verify)


@pytest.mark.parametrize("name", ["embeddings.npy", "items.parquet", layout.GENERATOR])
def test_a_flipped_bit_is_refused(root: Path, build: Build, name: str) -> None:
    path = root / build() / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(BundleError, match=f"{name}.*checksum"):
        Bundle.open(root)


def test_a_missing_file_is_refused(root: Path, build: Build) -> None:
    (root / build() / "popularity.npy").unlink()
    with pytest.raises(BundleError, match=r"popularity\.npy.*no such file"):
        Bundle.open(root)


@pytest.mark.parametrize("schema", [0, SCHEMA_VERSION + 1, "1", None])
def test_another_schema_version_is_refused_before_anything_else_is_read(
    root: Path, build: Build, schema: object
) -> None:
    folder = root / build()
    (folder / "popularity.npy").unlink()
    rewrite(folder, lambda facts: facts.update(schema_version=schema, novelty=1))
    with pytest.raises(BundleError, match="schema version"):
        Bundle.open(root)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"text"'])
def test_a_manifest_that_is_no_manifest_is_refused(root: Path, build: Build, text: str) -> None:
    (root / build() / MANIFEST).write_text(text)
    with pytest.raises(BundleError, match=MANIFEST):
        Bundle.open(root)


def test_a_manifest_field_that_breaks_the_schema_is_named(root: Path, build: Build) -> None:
    rewrite(root / build(), lambda facts: facts.update(n_items=-1))
    with pytest.raises(BundleError, match="n_items"):
        Bundle.open(root)


def test_a_folder_renamed_to_another_version_is_refused(root: Path, build: Build) -> None:
    version = build()
    other = "20200101T000000-0000"
    (root / version).rename(root / other)
    with pytest.raises(BundleError, match=version):
        Bundle.open(root, version=other)


def test_a_manifest_that_names_a_file_elsewhere_is_refused(root: Path, build: Build) -> None:
    for name in ("../secret.npy", "/etc/passwd", "a/b.npy", "..", ".hidden.npy"):
        folder = root / build()
        rewrite(folder, lambda facts, name=name: facts["files"].update({name: facts["files"]["popularity.npy"]}))
        with pytest.raises(BundleError, match="plain file name"):
            Bundle.open(root)


def test_a_link_in_place_of_a_file_is_refused(root: Path, build: Build, tmp_path: Path) -> None:
    path = root / build() / "popularity.npy"
    shutil.move(path, tmp_path / "elsewhere.npy")
    path.symlink_to(tmp_path / "elsewhere.npy")
    with pytest.raises(BundleError, match="a link"):
        Bundle.open(root)


def test_a_link_in_place_of_a_version_is_none(root: Path, build: Build) -> None:
    version, linked = build(), "20200101T000000-0000"
    (root / linked).symlink_to(root / version)
    with pytest.raises(BundleError, match=f"no version '{linked}'"):
        Bundle.open(root, version=linked)


@pytest.mark.parametrize("text", ["../elsewhere", "", "a\nb", "/etc", ".staging-20200101T000000-0000", "\udcff"])
def test_a_current_that_is_no_version_is_refused(root: Path, build: Build, text: str) -> None:
    build()
    (root / "CURRENT").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(BundleError, match="CURRENT"):
        Bundle.open(root)


def test_a_current_that_is_a_link_is_refused(root: Path, build: Build, tmp_path: Path) -> None:
    version = build()
    (tmp_path / "elsewhere").write_text(version)
    (root / "CURRENT").unlink()
    (root / "CURRENT").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BundleError, match="CURRENT"):
        Bundle.open(root)
