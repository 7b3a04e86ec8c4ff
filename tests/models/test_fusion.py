"""The fused score is the sum that its docstring states."""

import numpy as np
import pytest

from models.fusion import FusionWeights, cosines, edge_weight, fused_scores
from models.graph import build_graph
from models.kernels import read_only

GRAPH = build_graph(
    np.array([0, 0, 1, 2], np.int32), np.array([1, 2, 0, 1], np.int32), np.array([4, 1, 2, 1], np.int64), 4
)
PARTS = (read_only(GRAPH.offsets), read_only(GRAPH.targets), read_only(GRAPH.weights))


def test_an_edge_has_its_weight_and_a_missing_one_none() -> None:
    assert edge_weight(*PARTS, 0, 1) == pytest.approx(1.0)
    assert edge_weight(*PARTS, 0, 2) == pytest.approx(0.430677, abs=1e-6)
    assert edge_weight(*PARTS, 3, 0) == 0
    assert edge_weight(*PARTS, 0, 3) == 0


def test_scores_add_similarity_transitions_texts_and_value() -> None:
    rng = np.random.default_rng(0)
    texts = read_only(rng.normal(size=(4, 3)).astype(np.float32))
    items, anchors = np.array([0, 1, 3], np.int32), np.array([2, 0], np.int32)
    similarities, values = (rng.random(3).astype(np.float32) for _ in range(2))
    weights = FusionWeights(edge=0.3, edge_decay=0.7, text=0.2, text_decay=0.4, prior=0.1)
    found = fused_scores(items, similarities, values, anchors, PARTS, texts, weights)
    for place, item in enumerate(items.tolist()):
        total = similarities[place] + 0.1 * values[place]
        for age, anchor in enumerate(anchors.tolist()):
            total += 0.3 * 0.7**age * edge_weight(*PARTS, anchor, item) + 0.2 * 0.4**age * float(
                texts[anchor] @ texts[item]
            )
        assert found[place] == pytest.approx(total, abs=1e-5)


def test_cosines_are_those_of_the_rows_asked_for() -> None:
    vectors = read_only(np.eye(3, dtype=np.float32))
    assert cosines(vectors, np.array([2, 0], np.int32), np.array([1, 2, 3], np.float32)).tolist() == [3, 1]
