"""The published statistics of three Amazon data sets, from the raw rows through the measures alone."""

from pathlib import Path

import numpy as np
import pytest
from pyarrow import csv

from offline.measures.arrays import Ragged
from offline.measures.cold import cold_targets
from offline.measures.graph_statistics import graph_statistics
from offline.measures.hops import coverage, hop_distances
from offline.measures.popularity import histories_holding, popularity_diagnosis

DATA = Path(__file__).parents[4] / "shared" / "data"


def interactions(name: str) -> tuple[np.ndarray, np.ndarray, int]:
    """User and item code of each row, the rows of a user together in sequence order."""
    file = DATA / f"amazon-{name}-2014" / "interactions.csv.gz"
    if not file.exists():
        pytest.skip(f"the {name} data set is not at {DATA}")
    table = csv.read_csv(file, convert_options=csv.ConvertOptions(include_columns=["user_id", "item_id"]))
    users, items = (table[c].combine_chunks().dictionary_encode() for c in ("user_id", "item_id"))
    order = np.argsort(users.indices.to_numpy(), kind="stable")
    return users.indices.to_numpy()[order], items.indices.to_numpy()[order], len(items.dictionary)


def split(users: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each user's rows end, and which rows are training rows under leave-last-out."""
    ends = np.cumsum(np.bincount(users))
    return ends, np.arange(len(users)) < (ends - 2)[users]


def transitions(users: np.ndarray, items: np.ndarray, training: np.ndarray, n_items: int) -> Ragged:
    first = np.flatnonzero(training[:-1] & training[1:] & (users[:-1] == users[1:]))
    return Ragged.from_pairs(items[first], items[first + 1], n_rows=n_items)


@pytest.mark.parametrize(
    ("name", "users", "items", "edges", "degree", "cov1"),
    [
        ("beauty", 22_363, 12_101, 114_582, 9.47, 8.61),
        ("sports", 35_598, 18_357, 180_610, 9.84, 5.13),
        ("toys", 19_412, 11_924, 102_268, 8.58, 8.06),
    ],
)
def test_published_graph_statistics_come_out(name, users, items, edges, degree, cov1):
    user_codes, item_codes, n_items = interactions(name)
    ends, training = split(user_codes)
    graph = transitions(user_codes, item_codes, training, n_items)
    stats = graph_statistics(graph)
    covered = coverage(hop_distances(graph, item_codes[ends - 2], item_codes[ends - 1]))
    assert (len(ends), stats.items, stats.edges) == (users, items, edges)
    assert round(stats.mean_out_degree, 2) == degree
    assert round(100 * covered[0], 2) == cov1


def test_published_cold_targets_and_popular_targets_of_toys_come_out():
    users, items, n_items = interactions("toys")
    ends, training = split(users)
    targets = items[ends - 1]
    histories = histories_holding(users[training], items[training], n_items=n_items)
    assert cold_targets(targets, items[training], n_items=n_items).sum() == 279
    assert round(100 * popularity_diagnosis(targets, np.log1p(histories), histories).often, 1) == 50.3
