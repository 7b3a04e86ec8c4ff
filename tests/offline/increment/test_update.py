"""An update equals a build on all files, to the bit, whatever the new files hold."""

import json
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from models.bundle import layout
from models.bundle.reader import Bundle
from models.bundle.versions import current, rollback
from models.bundle.writer import BundleWriter
from models.errors import BundleError, ConfigError, InputError
from models.neural.semantic_ids import IdConfig, finished, kmeans_ids
from offline.build import Request, build
from offline.config import BuildConfig
from offline.dataset import Inputs
from offline.increment.refusals import SMALL
from offline.increment.run import UpdateRequest, update
from offline.increment.trained import extended_codes
from offline.jobs import id_vectors
from offline.jobs.catalog import JOBS
from offline.progress import Reporter
from offline.training.semantic import write_semantic_ids

QUIET = Reporter(quiet=True)
UNTRAINED = [job for job in JOBS if job is not id_vectors.JOB]
NAMES = ("user_id", "item_id", "timestamp", "rating", "event")

ROW = st.fixed_dictionaries(
    {
        "user_id": st.sampled_from(["u", "v", "w", "ü", "new", ""]),
        "item_id": st.sampled_from([*"abcdefgh", "0", "ü", "zz", ""]),
        "timestamp": st.sampled_from(["1", "2", "2", "3", "4", "5", ""]),
        "rating": st.sampled_from(["1", "0.1", "4.7", "9", ""]),
        "event": st.sampled_from(["view", "cart", ""]),
    }
)
ITEM = st.fixed_dictionaries(
    {}, optional={"title": st.sampled_from(["red tea", "green tea", "soap"]), "brand": st.sampled_from(["A", "B"])}
)
CATALOGUE = st.dictionaries(st.sampled_from([*"abcdefgh", "0", "ü"]), ITEM, min_size=2)


def rows_file(path: Path, rows: list[dict[str, Any]]) -> Path:
    pq.write_table(pa.table({name: pa.array([row[name] for row in rows], pa.string()) for name in NAMES}), path)
    return path


def items_file(path: Path, items: dict[str, dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps({"item_id": key, **fields}) + "\n" for key, fields in items.items()))
    return path


def facts(bundle: Bundle) -> dict[str, Any]:
    """All that must not differ: bytes of files, and what the manifest says of data and artifacts."""
    sections = {
        name: told for name, told in bundle.manifest.sections.items() if name not in ("jobs", "derived", "inputs")
    }
    return {
        "files": {name: entry.sha256 for name, entry in bundle.manifest.files.items()},
        "statistics": bundle.manifest.statistics,
        **sections,
    }


def assert_equal(updated: Path, whole: Path) -> None:
    found, expected = Bundle.open(updated), Bundle.open(whole)
    for name in expected.manifest.files:
        if name.endswith(".npy"):
            array = name.removesuffix(".npy")
            np.testing.assert_array_equal(found.array(array), expected.array(array), err_msg=name)
    assert facts(found) == facts(expected)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    old=st.lists(ROW, min_size=3, max_size=40),
    days=st.lists(st.tuples(st.lists(ROW, max_size=12), st.none() | CATALOGUE), min_size=1, max_size=2),
    catalogue=st.none() | CATALOGUE,
    split=st.sampled_from(["none", "leave-last-out"]),
    keep=st.sampled_from([None, 3]),
    unknown=st.sampled_from(["drop", "keep"]),
    walks=st.sampled_from([1, 4, 131_072]),
)
def test_an_update_is_a_build_on_everything(
    tmp_path_factory: pytest.TempPathFactory,
    old: list[dict[str, Any]],
    days: list[tuple[list[dict[str, Any]], dict[str, Any] | None]],
    catalogue: dict[str, Any] | None,
    split: str,
    keep: int | None,
    unknown: str,
    walks: int,
) -> None:
    given_once = [rows for rows in (old, *(rows for rows, _ in days)) if rows]
    assume(all(rows not in given_once[:place] for place, rows in enumerate(given_once)))
    tmp = tmp_path_factory.mktemp("update")
    config = BuildConfig.model_validate(
        {
            "split": split, "truncate_history": keep, "ratings": {"low": 0, "high": 5},
            "interactions": {"unknown_items": unknown},
            "rings": {"max_walks": walks, "depth": [2, 2, 2], "block": 3}, "text": {"neighbours": 3},
        }
    )  # fmt: skip
    known = list(catalogue or {"a": {}, "b": {}})
    old = [*old, *({"user_id": "u", "item_id": key, "timestamp": "1", "rating": "", "event": ""} for key in known)]
    files = [rows_file(tmp / "0.parquet", old)]
    items = None if catalogue is None else items_file(tmp / "items.jsonl", catalogue)
    request = Request(tmp / "updated", config, Inputs(tuple(files), items), state=tmp / "state")
    build(request, QUIET, UNTRAINED)
    for number, (rows, changed) in enumerate(days, 1):
        files.append(rows_file(tmp / f"{number}.parquet", rows))
        if changed is not None and items is not None:
            catalogue = {**changed, known[0]: {}}
            items_file(items, catalogue)
        given_items = items if changed is not None else None
        update(UpdateRequest(tmp / "updated", tmp / "state", Inputs((files[-1],), given_items)), QUIET)
        build(Request(tmp / "whole", config, Inputs(tuple(files), items)), QUIET, UNTRAINED)
        assert_equal(tmp / "updated", tmp / "whole")


def row(user: str, item: str, time: str) -> dict[str, Any]:
    return {"user_id": user, "item_id": item, "timestamp": time, "rating": "", "event": ""}


def test_what_cannot_be_updated_says_so_and_changes_nothing(tmp_path: Path) -> None:
    files = rows_file(tmp_path / "0.parquet", [row("u", "a", "1"), row("u", "b", "2")])
    root, states = tmp_path / "b", tmp_path / "state"
    day = UpdateRequest(root, states, Inputs((files,)))
    build(Request(root, BuildConfig(), Inputs((files,))), QUIET, UNTRAINED)
    with pytest.raises(ConfigError, match="shortlist build --state"):
        update(day, QUIET)
    version = build(Request(root, BuildConfig(), Inputs((files,)), state=states), QUIET, UNTRAINED)
    odd = rows_file(tmp_path / "1.parquet", [row("u", "a", "1"), row("u", "b", "yesterday")])

    with pytest.raises(InputError, match="yesterday"):
        update(UpdateRequest(root, states, Inputs((odd,))), QUIET)

    assert current(root) == version
    assert [path.name for path in states.iterdir()] == [version]


def test_only_touched_anchors_are_computed_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from offline.increment import rings

    chains = [row(f"u{n}", f"{chain}{n % 5}", str(n)) for chain in "abcd" for n in range(5)]
    old = [{**one, "user_id": one["item_id"][0]} for one in chains]
    files = rows_file(tmp_path / "0.parquet", old)
    states = tmp_path / "state"
    build(Request(tmp_path / "b", BuildConfig(), Inputs((files,)), state=states), QUIET, UNTRAINED)
    asked: list[int] = []
    real = rings.ring_block
    monkeypatch.setattr(rings, "ring_block", lambda *args: asked.extend(args[-1].tolist()) or real(*args))

    update(
        UpdateRequest(tmp_path / "b", states, Inputs((rows_file(tmp_path / "1.parquet", [row("a", "b0", "9")]),))),
        QUIET,
    )

    names = Bundle.open(tmp_path / "b").ids.strings(np.array(asked, np.int32))
    assert names == ["a2", "a3", "a4"]


def test_a_day_is_counted_once_a_catalogue_is_given_whole_and_a_roll_back_can_be_gone_on_from(tmp_path: Path) -> None:
    items = {f"i{n}": {"title": f"tea {n}"} for n in range(SMALL)}
    catalogue = items_file(tmp_path / "items.jsonl", items)
    root, states = tmp_path / "b", tmp_path / "state"
    first = rows_file(tmp_path / "0.parquet", [row("u", f"i{n}", str(n)) for n in range(6)])
    build(Request(root, BuildConfig(), Inputs((first,), catalogue), state=states), QUIET, UNTRAINED)
    day = rows_file(tmp_path / "1.parquet", [row("v", "i1", "8"), row("v", "i2", "9")])
    update(UpdateRequest(root, states, Inputs((day,))), QUIET)
    once = Bundle.open(root).manifest.statistics
    with pytest.raises(InputError, match="no such file"):
        update(UpdateRequest(root, states, Inputs((tmp_path / "none.csv",))), QUIET)
    with pytest.raises(InputError, match="holds already"):
        update(UpdateRequest(root, states, Inputs((day,))), QUIET)
    none = rows_file(tmp_path / "none.parquet", [])
    changed = items_file(tmp_path / "changed.jsonl", {"i1": {"title": "other tea"}})
    with pytest.raises(InputError, match=f"lacks {SMALL - 1} of the bundle's {SMALL} items"):
        update(UpdateRequest(root, states, Inputs((none,), changed)), QUIET)
    for _ in range(2):
        update(UpdateRequest(root, states, Inputs((none,))), QUIET)
    assert Bundle.open(root).manifest.statistics == once
    rollback(root)
    update(UpdateRequest(root, states, Inputs((rows_file(tmp_path / "2.parquet", [row("v", "i3", "10")]),))), QUIET)


def test_new_items_get_unused_codes_near_those_of_like_texts() -> None:
    vectors = np.random.default_rng(1).normal(size=(300, 8)).astype(np.float32)
    ids = kmeans_ids(vectors, np.ones(300, np.bool_), IdConfig(levels=2, codebook=4))
    blank = np.concatenate([ids.codes, np.full((20, 3), -1, np.int32)])

    codes = extended_codes(blank, np.concatenate([vectors, vectors[:20]]), ids.codebooks)

    np.testing.assert_array_equal(codes[:300], ids.codes)
    assert (codes < ids.codebooks).all()
    assert len(np.unique(codes, axis=0)) == 320
    assert (codes[300:, :2] == ids.codes[:20, :2]).all(axis=1).mean() > 0.7


def test_new_items_never_get_a_code_that_the_heads_lack() -> None:
    """Everybody has a group alone, as in small catalogues: the last codebook holds one code."""
    corners = np.array([[0, 0, 0], [0, 1, 0], [1, 1, 0]], np.int32)
    vectors = np.array([[1, 0], [1, 1], [0, 1], [1, 0], [1, 0]], np.float32)
    blank = np.full((1, 3), -1, np.int32)
    codes = extended_codes(np.concatenate([corners, blank]), vectors[:4], (2, 2, 1))
    assert codes[3].tolist() == [1, 0, 0]
    with pytest.raises(BundleError, match="Train anew"):
        extended_codes(np.concatenate([corners, blank, blank]), vectors, (2, 2, 1))


def test_a_trained_bundle_stays_trained(tmp_path: Path) -> None:
    items = {
        name: {"title": f"{colour} tea"} for name, colour in zip("abcd", ("red", "green", "old", "cold"), strict=True)
    }
    files = rows_file(tmp_path / "0.parquet", [row("u", name, "1") for name in "abcd"])
    root, states, config = tmp_path / "b", tmp_path / "state", BuildConfig()
    catalogue = items_file(tmp_path / "items.jsonl", items)
    build(Request(root, config, Inputs((files,), catalogue), state=states), QUIET)
    vectors = np.eye(4, 6, dtype=np.float32)
    shape, quantised = IdConfig(levels=2, codebook=2), np.array([[0, 0], [0, 1], [1, 0], [1, 0]], np.int32)
    ids = finished(quantised, vectors, vectors, shape)
    with BundleWriter.derive(root, Bundle.open(root)) as writer:
        write_semantic_ids(writer, ids, shape)
        writer.add_array(layout.ITEM_VECTORS, vectors)
        index = faiss.IndexFlatIP(6)
        index.add(vectors)
        faiss.write_index(index, str(writer.folder / layout.INDEX))
        writer.publish()
    items_file(catalogue, {**items, "0": {"title": "red tea"}})

    update(
        UpdateRequest(root, states, Inputs((rows_file(tmp_path / "1.parquet", [row("u", "0", "5")]),), catalogue)),
        QUIET,
    )

    bundle = Bundle.open(root)
    codes, found = bundle.array(layout.CODES), bundle.array(layout.ITEM_VECTORS)
    np.testing.assert_array_equal(codes[1:], ids.codes)
    assert len(np.unique(codes, axis=0)) == 5
    np.testing.assert_array_equal(found[1:], vectors)
    assert found[0].argmax() == 0
    assert np.linalg.norm(found[0]) == pytest.approx(1)
    assert faiss.read_index(str(bundle.file(layout.INDEX))).ntotal == 5
    assert bundle.array(layout.TRIE_ITEMS).tolist() == np.lexsort(codes.T[::-1]).tolist()
    assert not bundle.array(layout.ID_VECTORS)[0].any()
