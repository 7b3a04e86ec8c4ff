"""Text neighbours and exact scans, against sorting all pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.kernels import read_only
from models.neighbours import NeighbourConfig, text_neighbours
from models.similarity import nearest
from models.topk import best, pack, unpack
from tests.shop import at_angles

NONE = np.empty(0, np.int32)


@st.composite
def embeddings(draw: st.DrawFn) -> np.ndarray:
    """Unit rows with many ties, some blank."""
    rows = st.sampled_from([*at_angles(0, 30, 60, 90, 135, 180), np.zeros(2, np.float32)])
    return np.stack(draw(st.lists(rows, min_size=1, max_size=25)))


def by_sorting(vectors: np.ndarray, anchor: int, allowed: np.ndarray) -> list[int]:
    if not vectors[anchor].any():
        return []
    cosines = (vectors.astype(np.float64) @ vectors[anchor].astype(np.float64)).astype(np.float32)
    others = [item for item in range(len(vectors)) if item != anchor and vectors[item].any() and allowed[item]]
    return sorted(others, key=lambda item: (-cosines[item], item))


@settings(max_examples=60)
@given(vectors=embeddings(), m=st.integers(1, 30))
def test_neighbours_are_the_nearest_others_with_text_ties_by_index(vectors: np.ndarray, m: int) -> None:
    rows, facts = text_neighbours(vectors, NeighbourConfig(m=m))
    width = max(1, min(m, len(vectors) - 1))
    assert rows.shape == (len(vectors), width)
    assert (facts["method"], facts["m"]) == ("exact", width)
    for anchor, row in enumerate(rows.tolist()):
        expected = by_sorting(vectors, anchor, np.ones(len(vectors), np.bool_))[:width]
        assert row == expected + [-1] * (width - len(expected))


@settings(max_examples=60)
@given(vectors=embeddings(), data=st.data())
def test_a_scan_gives_the_nearest_that_are_allowed(vectors: np.ndarray, data: st.DataObject) -> None:
    n_items = len(vectors)
    anchor = data.draw(st.integers(0, n_items - 1))
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=n_items, max_size=n_items)))
    blocked = np.unique(np.array(data.draw(st.lists(st.integers(0, n_items - 1))), np.int32))
    allowed = mask.copy()
    allowed[blocked] = False
    depth = data.draw(st.integers(1, n_items + 2))
    items, scores = nearest(read_only(vectors), anchor, read_only(mask), read_only(blocked), depth)
    assert items.tolist() == by_sorting(vectors, anchor, allowed)[:depth]
    assert (np.diff(scores) <= 0).all()


def test_of_many_items_the_nearest_are_found_among_the_best_of_groups() -> None:
    rng = np.random.default_rng(0)
    vectors = at_angles(*rng.integers(0, 90, 3001))
    vectors[rng.integers(0, 3001, 300)] = 0
    rows, _ = text_neighbours(vectors, NeighbourConfig(m=7))
    allowed = np.ones(len(vectors), np.bool_)
    for anchor in range(0, 3001, 75):
        assert rows[anchor].tolist() == (by_sorting(vectors, anchor, allowed)[:7] or [-1] * 7)


def test_many_blocks_give_what_one_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = np.random.default_rng(0).standard_normal((300, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    done: list[int] = []
    whole, _ = text_neighbours(vectors, NeighbourConfig(m=20))
    monkeypatch.setattr("models.neighbours.BLOCK_BYTES", 300 * 4 * 7)
    parts, _ = text_neighbours(vectors, NeighbourConfig(m=20), done.append)
    assert np.array_equal(whole, parts)
    assert len(done) == 43
    assert sum(done) == 300


def test_a_large_catalogue_is_searched_through_cells_and_says_what_it_missed() -> None:
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((40, 16))
    vectors = (centres[rng.integers(0, 40, 4000)] + 0.3 * rng.standard_normal((4000, 16))).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[7] = 0
    exact, _ = text_neighbours(vectors, NeighbourConfig(m=10))
    rows, facts = text_neighbours(vectors, NeighbourConfig(m=10, exact_items=1000, probes=0.03))
    pairs = [(row, truth) for row, truth in zip(rows, exact, strict=True) if truth[0] >= 0]
    recall = np.mean([len(np.intersect1d(row, truth)) / 10 for row, truth in pairs])
    assert facts["method"] == "inverted file"
    assert 0.7 < recall < 1
    assert facts["recall"] == pytest.approx(recall, abs=0.05)
    assert rows[7].tolist() == [-1] * 10
    assert not np.any(rows == np.arange(4000)[:, None])


def test_a_large_catalogue_of_few_texts_has_the_neighbours_that_there_are() -> None:
    vectors = np.zeros((3000, 4), np.float32)
    config = NeighbourConfig(m=2, exact_items=1000)
    rows, facts = text_neighbours(vectors, config)
    assert (rows == -1).all()
    assert facts["method"] == "inverted file"
    vectors[[5, 77], 1] = 1
    rows, _ = text_neighbours(vectors, config)
    assert rows[[5, 77]].tolist() == [[77, -1], [5, -1]]
    assert (np.delete(rows, [5, 77], axis=0) == -1).all()


@given(
    pairs=st.lists(st.tuples(st.floats(-2, 2, width=32), st.integers(0, 2**31 - 1)), max_size=40),
    depth=st.integers(1, 50),
)
def test_keys_sort_by_falling_score_then_rising_item(pairs: list[tuple[float, int]], depth: int) -> None:
    scores = np.array([score for score, _ in pairs], np.float32)
    items = np.array([item for _, item in pairs], np.int32)
    keys = np.empty(len(pairs), np.int64)
    pack(scores, items, keys)
    chosen = best(keys, depth)
    unpack(chosen, scores[: len(chosen)], items[: len(chosen)])
    expected = sorted(pairs, key=lambda pair: (-pair[0], pair[1]))[:depth]
    found = zip(scores[: len(chosen)].tolist(), items[: len(chosen)].tolist(), strict=True)
    assert list(found) == expected
