"""Hop distances against a plain breadth-first search, coverage, recall by hop, statistics and smoothness."""

from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import InputError
from offline.measures import hops
from offline.measures.arrays import Ragged
from offline.measures.graph_statistics import feature_smoothness, graph_statistics
from offline.measures.hops import coverage, hop_distances, recall_by_hop

seeds = st.integers(0, 2**32 - 1)


def draw(seed: int, n_items: int = 10) -> tuple[Ragged, set[tuple[int, int]], np.random.Generator]:
    rng = np.random.default_rng(seed)
    rows, items = np.nonzero(rng.random((n_items, n_items)) < rng.choice([0.05, 0.15, 0.4]))
    graph = Ragged.from_pairs(rows, items, rng.random(len(rows)), n_rows=n_items)
    return graph, set(zip(rows.tolist(), items.tolist(), strict=True)), rng


def plain_distance(edges: set[tuple[int, int]], anchor: int, target: int, depth: int) -> int:
    if anchor < 0 or target < 0:
        return 0
    if (anchor, target) in edges:
        return 1
    reached, queue = {anchor: 0}, deque([anchor])
    while queue:
        here = queue.popleft()
        for left, right in edges:
            if left == here and right not in reached:
                reached[right] = reached[here] + 1
                queue.append(right)
    distance = reached.get(target, 0)
    return distance if distance <= depth else 0


@given(seeds, st.integers(1, 4))
def test_distances_equal_a_plain_search(seed, depth):
    graph, edges, rng = draw(seed)
    anchors, targets = rng.integers(-1, 10, (2, 30)).astype(np.int32)
    expected = [plain_distance(edges, int(a), int(t), depth) for a, t in zip(anchors, targets, strict=True)]
    assert hop_distances(graph, anchors, targets, depth).tolist() == expected


def test_a_target_that_equals_the_last_item_is_one_hop_only_by_an_edge_to_itself():
    graph = Ragged.from_pairs(np.array([0, 1, 2]), np.array([0, 2, 1]), n_rows=3)
    assert hop_distances(graph, np.array([0, 1]), np.array([0, 1])).tolist() == [1, 0]


def test_blocks_of_users_do_not_change_distances(monkeypatch):
    graph, _, rng = draw(3)
    anchors, targets = rng.integers(0, 10, (2, 40)).astype(np.int32)
    whole = hop_distances(graph, anchors, targets).tolist()
    monkeypatch.setattr(hops, "BLOCK_USERS", 7)
    assert hop_distances(graph, anchors, targets).tolist() == whole


def test_an_item_outside_the_graph_is_refused():
    graph = Ragged.from_pairs(np.array([0]), np.array([1]), n_rows=2)
    with pytest.raises(InputError, match="found item index 2; expected indices below the graph's 2 items"):
        hop_distances(graph, np.array([0]), np.array([2]))


def test_coverage_adds_up_and_recall_by_hop_weighs_back_to_recall():
    distances = np.array([1, 1, 2, 3, 0, 0, 0, 0])
    ranks = np.array([1, 11, 2, 0, 0, 5, 0, 0])
    assert coverage(distances).tolist() == [0.25, 0.375, 0.5]
    by_hop = recall_by_hop(ranks, distances, 10)
    assert [(r.hop, r.users) for r in by_hop] == [(1, 2), (2, 1), (3, 1), (0, 4)]
    assert sum(r.recall * r.users for r in by_hop) / 8 == pytest.approx(3 / 8)


def test_no_users_give_nan_coverage():
    assert np.isnan(coverage(np.empty(0, np.int32))).all()


@given(seeds)
def test_statistics_equal_their_definition(seed):
    graph, edges, _ = draw(seed)
    stats = graph_statistics(graph)
    assert (stats.edges, stats.mean_out_degree) == (len(edges), len(edges) / 10)
    assert (
        np.isnan(stats.mean_edge_weight) if not edges else stats.mean_edge_weight == pytest.approx(graph.weights.mean())
    )


def test_smoothness_is_high_where_edges_join_alike_texts_and_none_where_they_do_not():
    rng = np.random.default_rng(1)
    kinds = np.repeat(np.arange(20), 10)
    texts = (rng.normal(size=(20, 16))[kinds] + 0.3 * rng.normal(size=(200, 16))).astype(np.float32)
    alike = Ragged.from_pairs(np.arange(0, 200, 2), np.arange(1, 200, 2), n_rows=200)
    mixed = Ragged.from_pairs(np.arange(200), rng.permutation(200), n_rows=200)
    smooth, rough = (feature_smoothness(graph, texts, np.random.default_rng(2)) for graph in (alike, mixed))
    assert smooth.edges > 0.85
    assert smooth.effect > 2
    assert abs(rough.effect) < 0.4


def test_smoothness_leaves_out_edges_of_an_item_to_itself():
    graph = Ragged.from_pairs(np.array([0, 1]), np.array([0, 0]), n_rows=2)
    texts = np.array([[1, 0], [0, 3]], np.float32)
    assert feature_smoothness(graph, texts, np.random.default_rng(1)).edges == 0.0


def test_smoothness_of_a_graph_without_edges_is_not_a_number():
    graph = Ragged.from_pairs(np.empty(0, int), np.empty(0, int), n_rows=3)
    assert np.isnan(feature_smoothness(graph, np.ones((3, 2), np.float32), np.random.default_rng(1)).effect)


def test_an_item_without_text_has_cosine_zero():
    graph = Ragged.from_pairs(np.array([0]), np.array([1]), n_rows=2)
    assert feature_smoothness(graph, np.array([[1, 0], [0, 0]], np.float32), np.random.default_rng(1)).edges == 0.0


def test_embeddings_of_another_catalogue_are_refused():
    graph = Ragged.from_pairs(np.array([0]), np.array([1]), n_rows=2)
    with pytest.raises(InputError, match="found 3 rows; expected 2"):
        feature_smoothness(graph, np.ones((3, 2), np.float32), np.random.default_rng(1))
