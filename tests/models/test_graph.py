"""The transition graph: its rows, counts and weights."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given

from models.errors import InputError
from models.graph import build_graph
from tests.strategies import triples

N_ITEMS = 9


@given(rows=triples(N_ITEMS))
def test_edges_hold_the_sum_of_repeated_pairs_ascending_within_a_row(
    rows: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    graph = build_graph(*rows, N_ITEMS)
    totals: Counter[tuple[int, int]] = Counter()
    for source, target, count in zip(*(column.tolist() for column in rows), strict=True):
        totals[source, target] += count
    sources = np.repeat(np.arange(N_ITEMS), np.diff(graph.offsets)).tolist()
    found = dict(zip(zip(sources, graph.targets.tolist(), strict=True), graph.counts.tolist(), strict=True))
    assert list(found) == sorted(totals)
    assert found == totals


@given(rows=triples(N_ITEMS))
def test_a_weight_is_the_logarithm_of_the_count_against_the_row_s_greatest(
    rows: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    graph = build_graph(*rows, N_ITEMS)
    for begin, end in zip(graph.offsets[:-1], graph.offsets[1:], strict=True):
        logs = [math.log1p(count) for count in graph.counts[begin:end].tolist()]
        expected = np.array([log / max(logs) for log in logs], np.float32)
        assert np.array_equal(graph.weights[begin:end], expected)


def test_types_are_those_of_the_bundle() -> None:
    graph = build_graph(np.array([0], np.int32), np.array([1], np.int32), np.array([1]), 2)
    types = [array.dtype.str for array in (graph.offsets, graph.targets, graph.counts, graph.weights)]
    assert types == ["<i8", "<i4", "<i4", "<f4"]


def test_a_graph_without_edges_has_empty_rows() -> None:
    none = np.empty(0, np.int32)
    graph = build_graph(none, none, none.astype(np.int64), 3)
    assert graph.offsets.tolist() == [0, 0, 0, 0]
    assert graph.weights.tolist() == []


@pytest.mark.parametrize(("source", "target", "count"), [(0, 3, 1), (-1, 0, 1), (0, 1, 0)])
def test_indices_outside_the_catalogue_and_counts_below_one_are_refused(source: int, target: int, count: int) -> None:
    with pytest.raises(InputError, match="transitions"):
        build_graph(np.array([source], np.int32), np.array([target], np.int32), np.array([count]), 3)
