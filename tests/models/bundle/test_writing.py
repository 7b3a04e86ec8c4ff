"""A bundle is complete or it is not published, and building one never touches another."""

import os
import resource
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import faiss
import numpy as np
import pyarrow as pa
import pytest

from models.bundle import layout, versions
from models.bundle.manifest import SplitInfo
from models.bundle.reader import Bundle
from models.bundle.writer import BundleWriter
from models.errors import BundleError
from tests.models.bundle.conftest import fill

Build = Callable[[], str]

CHILD = """
    import sys
    from pathlib import Path
    import numpy as np
    from models.bundle.manifest import SplitInfo
    from models.bundle.writer import BundleWriter
    from tests.models.bundle.conftest import fill

    writer = BundleWriter.create(Path(sys.argv[1]), split=SplitInfo(), config={})
    fill(writer)
"""


def child(root: Path, code: str, **options: object) -> subprocess.Popen[str]:
    """Another process that starts a bundle and then runs `code`."""
    program = textwrap.dedent(CHILD) + textwrap.dedent(code)
    return subprocess.Popen(
        [sys.executable, "-c", program, str(root)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )  # type: ignore[call-overload]


def create(root: Path) -> BundleWriter:
    return BundleWriter.create(root, split=SplitInfo(), config={})


def staging(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir() if path.name.startswith(".staging-"))


def test_nothing_is_visible_before_publishing_and_nothing_is_left_beside_it_after(root: Path) -> None:
    with create(root) as writer:
        fill(writer)
        assert versions.list_versions(root) == []
        assert versions.current(root) is None
        version = writer.publish()
    assert versions.list_versions(root) == [version]
    assert versions.current(root) == version
    assert {path.name for path in root.iterdir()} == {version, "CURRENT", ".lock"}


def test_publishing_without_activating_leaves_the_served_version(root: Path, build: Build) -> None:
    served = build()
    with create(root) as writer:
        fill(writer)
        other = writer.publish(activate=False)
    assert versions.current(root) == served
    assert versions.list_versions(root) == [served, other]


def test_an_error_while_building_leaves_nothing(root: Path, build: Build) -> None:
    served = build()
    with pytest.raises(ValueError, match="plain file name"), create(root) as writer:
        writer.add_array("../escape", np.zeros(3))
    assert staging(root) == []
    assert versions.current(root) == served


def test_a_killed_build_leaves_the_served_bundle_and_the_next_build_sweeps_it(root: Path, build: Build) -> None:
    served = build()
    victim = child(root, "print('staged', flush=True); input()", stdin=subprocess.PIPE)
    assert victim.stdout is not None
    assert victim.stdout.readline() == "staged\n"
    victim.send_signal(signal.SIGKILL)
    victim.communicate()
    assert len(staging(root)) == 2
    assert Bundle.open(root).version == served
    build()
    assert staging(root) == []


def test_a_build_in_progress_is_not_swept_by_another(root: Path, build: Build) -> None:
    other = child(root, "print('staged', flush=True); input(); print(writer.publish())", stdin=subprocess.PIPE)
    assert other.stdout is not None
    assert other.stdout.readline() == "staged\n"
    mine = build()
    theirs, errors = other.communicate("go on\n")
    assert errors == ""
    assert versions.list_versions(root) == sorted([mine, theirs.strip()])
    assert Bundle.open(root).version == theirs.strip()


def test_builds_at_once_do_not_mix(root: Path) -> None:
    def one(number: int) -> tuple[str, int]:
        with create(root) as writer:
            fill(writer)
            writer.add_array(layout.POPULARITY, np.full(3, number, np.int64))
            return writer.publish(), number

    with ThreadPoolExecutor(4) as pool:
        published = list(pool.map(one, range(8)))
    assert len({version for version, _ in published}) == 8
    for version, number in published:
        assert Bundle.open(root, version=version).array(layout.POPULARITY).tolist() == [number] * 3
    assert versions.current(root) in {version for version, _ in published}


def test_a_refused_write_is_reported_and_leaves_the_served_bundle(root: Path, build: Build) -> None:
    """The system refuses to let a file grow beyond a limit, as it does on a full disk."""
    served = build()
    code = """
        from models.errors import BundleError
        with writer:
            try:
                writer.add_array("embeddings", np.zeros((3, 100_000), np.float32))
            except BundleError as error:
                print(error)
    """
    limited = child(root, code, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000)))
    said, errors = limited.communicate()
    assert "File too large" in said
    assert "the bundle that serves is untouched" in said
    assert errors == ""
    assert staging(root) == []
    assert Bundle.open(root).version == served


def test_a_full_disk_is_reported_before_a_mapped_array_is_written(tmp_path: Path) -> None:
    """A file of holes would let the process die in the middle of a write, so blocks are reserved."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(small)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        with create(small) as writer:
            fill(writer)
            served = writer.publish()
        with create(small) as writer:
            fill(writer)
            with pytest.raises(BundleError, match="No space left"):
                writer.open_array(layout.EMBEDDINGS, np.float32, (3, 100_000))
            with pytest.raises(BundleError, match="No space left"):
                writer.add_array(layout.EMBEDDINGS, np.zeros((3, 100_000), np.float32))
        assert Bundle.open(small).version == served
    finally:
        subprocess.run(["umount", small], check=True)


def test_an_array_of_python_objects_is_refused(root: Path) -> None:
    with create(root) as writer, pytest.raises(BundleError, match="Python objects"):
        writer.add_array("anything", np.array([{}], object))


def test_an_object_array_smuggled_into_the_folder_is_refused(root: Path) -> None:
    with create(root) as writer:
        fill(writer)
        np.save(writer.folder / "smuggled.npy", np.array([{}], object), allow_pickle=True)
        with pytest.raises(BundleError, match="smuggled"):
            writer.publish()
    assert versions.list_versions(root) == []


@pytest.mark.parametrize(
    ("name", "array"),
    [
        (layout.EMBEDDINGS, np.zeros((4, 2), np.float32)),
        (layout.POPULARITY, np.zeros(2, np.int64)),
        (layout.GRAPH_OFFSETS, np.zeros(3, np.int64)),
        (layout.CATEGORY_CODES, np.zeros(2, np.int32)),
        (layout.CATEGORY_OFFSETS, np.array([0, 2, 1, 3], np.int64)),
        (layout.POPULARITY, np.zeros(3, np.int32)),
        (layout.RING_ENDS, np.zeros((3, 2), np.int32)),
        (layout.POPULAR_ORDER, np.array([0, 1, 3], np.int32)),
    ],
)
def test_parts_that_disagree_with_the_catalogue_are_not_published(root: Path, name: str, array: np.ndarray) -> None:
    with create(root) as writer:
        fill(writer)
        writer.add_array(name, array)
        with pytest.raises(BundleError):
            writer.publish()
    assert versions.list_versions(root) == []


def test_a_table_of_items_and_an_index_must_have_one_row_an_item(root: Path) -> None:
    with create(root) as writer:
        fill(writer)
        writer.add_table(layout.ITEMS, pa.table({"item_id": ["a"]}))
        with pytest.raises(BundleError, match="table items"):
            writer.publish()
        writer.add_table(layout.ITEMS, pa.table({"item_id": ["a", "b", "c"]}))
        for vectors, accepted in ((2, False), (3, True)):
            index = faiss.IndexFlatIP(2)
            index.add(np.zeros((vectors, 2), np.float32))
            faiss.write_index(index, str(writer.folder.parent / "index"))
            writer.add_file(layout.INDEX, writer.folder.parent / "index")
            if not accepted:
                with pytest.raises(BundleError, match="2 vectors"):
                    writer.publish()
        assert Bundle.open(root, version=writer.publish()).has(layout.INDEX)


def test_arrays_that_belong_together_are_published_together(root: Path) -> None:
    with create(root) as writer:
        fill(writer)
        writer.add_array(layout.GRAPH_OFFSETS, np.zeros(4, np.int64))
        with pytest.raises(BundleError, match="graph_targets"):
            writer.publish()


def test_a_bundle_without_item_ids_is_not_published(root: Path) -> None:
    with create(root) as writer, pytest.raises(BundleError, match="item ids"):
        writer.publish()


@pytest.mark.parametrize("name", ["../escape", "a/b", "", ".hidden", "UPPER"])
def test_a_name_that_is_no_plain_file_name_is_refused(root: Path, name: str) -> None:
    with create(root) as writer, pytest.raises(ValueError, match="plain file name"):
        writer.add_array(name, np.zeros(1))


def test_a_derived_bundle_starts_with_its_base_and_never_changes_it(root: Path, build: Build) -> None:
    base = Bundle.open(root, version=build())
    with BundleWriter.derive(root, base) as writer:
        writer.add_array(layout.POPULARITY, np.array([7, 7, 7], np.int64))
        writer.open_array(layout.EMBEDDINGS, np.float32, (3, 3))[:] = 5
        writer.section("training", {"epochs": 1})
        derived = Bundle.open(root, version=writer.publish())
    assert derived.array(layout.POPULARITY).tolist() == [7, 7, 7]
    assert derived.table(layout.ITEMS).equals(base.table(layout.ITEMS))
    assert derived.manifest.split == base.manifest.split
    assert set(derived.manifest.sections) == {"timings", "training", "derived"}
    assert Bundle.open(root, version=base.version).array(layout.POPULARITY).tolist() == [3, 1, 2]
    assert np.array_equal(base.array(layout.EMBEDDINGS), np.eye(3))


def test_an_array_of_unknown_length_is_streamed(root: Path) -> None:
    with create(root) as writer:
        fill(writer)
        with writer.stream_array("flow", np.float32) as flow:
            for size in (0, 3, 70_000):
                flow.append(np.arange(size, dtype=np.float32))
            with pytest.raises(BundleError, match="int64"):
                flow.append(np.arange(3))
        expected = np.concatenate([np.arange(3), np.arange(70_000)]).astype(np.float32)
        assert np.array_equal(Bundle.open(root, version=writer.publish()).array("flow"), expected)


def test_empty_arrays_survive(root: Path) -> None:
    with create(root) as writer:
        fill(writer)
        writer.add_array(layout.GRAPH_OFFSETS, np.zeros(4, np.int64))
        writer.add_array(layout.GRAPH_TARGETS, np.empty(0, np.int32))
        writer.add_array(layout.GRAPH_COUNTS, np.empty(0, np.int32))
        writer.add_array(layout.GRAPH_WEIGHTS, np.empty(0, np.float32))
        assert Bundle.open(root, version=writer.publish()).array(layout.GRAPH_TARGETS).shape == (0,)


def test_a_root_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BundleError, match="file"):
        create(tmp_path / "file")
