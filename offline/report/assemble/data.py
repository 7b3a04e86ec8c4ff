"""Statistics of the data set and of its test split."""

import numpy as np

from offline.measures.arrays import PAD, Ints
from offline.measures.cold import cold_targets
from offline.measures.graph_statistics import feature_smoothness, graph_statistics
from offline.measures.hops import coverage, hop_distances
from offline.measures.popularity import histories_holding, popularity_diagnosis
from offline.measures.relevance import leaf_counts
from offline.report.assemble.inputs import HeldOut, ItemFacts
from offline.report.document.parts import DataFigures


def hop_distances_of(held: HeldOut, facts: ItemFacts) -> Ints:
    """int32 [users]: hops from the last item to the target, 0 = more than 3."""
    return hop_distances(facts.graph, held.anchors, held.targets)


def data_figures(held: HeldOut, facts: ItemFacts, distances: Ints, *, seed: int) -> DataFigures:
    """Everything that can be said of the data before a method is run.

    Args:
        held: the test split and the training part.
        facts: the items; smoothness needs its embeddings, the diagnosis its popularity component.
        distances: from `hop_distances_of`.
        seed: seed of the random pairs.
    """
    graph = graph_statistics(facts.graph)
    by_hop = np.bincount(distances, minlength=4)
    cov = coverage(distances)
    return DataFigures(
        users=held.users,
        items=facts.n_items,
        interactions=held.interactions,
        mean_length=held.interactions / held.users if held.users else None,
        test_users=int((held.targets != PAD).sum()),
        edges=graph.edges,
        mean_out_degree=graph.mean_out_degree,
        mean_edge_weight=graph.mean_edge_weight,
        coverage=(float(cov[0]), float(cov[1]), float(cov[2])),
        targets_by_hop=(int(by_hop[1]), int(by_hop[2]), int(by_hop[3]), int(by_hop[0])),
        cold_targets=int(cold_targets(held.targets, held.training_items, n_items=facts.n_items).sum()),
        same_leaf_alternatives=_alternatives(held, facts),
        **_smoothness(facts, seed),
        **_popularity(held, facts),
    )


def _alternatives(held: HeldOut, facts: ItemFacts) -> float | None:
    asked = held.targets[held.targets != PAD]
    if facts.leaves is None or not len(asked):
        return None
    return float(np.median(leaf_counts(asked, facts.leaves) - 1))


def _smoothness(facts: ItemFacts, seed: int) -> dict[str, float]:
    if facts.embeddings is None:
        return {}
    smooth = feature_smoothness(facts.graph, facts.embeddings, np.random.default_rng(seed))
    return {
        "smoothness_edges": smooth.edges,
        "smoothness_random": smooth.random,
        "smoothness_effect": smooth.effect,
    }


def _popularity(held: HeldOut, facts: ItemFacts) -> dict[str, float]:
    histories = histories_holding(held.training_users, held.training_items, n_items=facts.n_items)
    score = np.log1p(np.bincount(held.training_items, minlength=facts.n_items))
    if facts.components is not None and "popularity" in facts.component_names:
        score = facts.components[list(facts.component_names).index("popularity")]
    found = popularity_diagnosis(held.targets, score, histories)
    return {
        "popularity_score_spearman": found.score_spearman,
        "popularity_demand_spearman": found.demand_spearman,
        "targets_in_ten_histories": found.often,
    }
