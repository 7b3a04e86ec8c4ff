"""Recall, NDCG, recall by hop, cold finds and overlap of each method."""

from collections.abc import Mapping, Sequence

import numpy as np

from offline.measures.arrays import Bools, Floats, Ints
from offline.measures.bootstrap import Interval
from offline.measures.cold import found_at
from offline.measures.hops import recall_by_hop
from offline.measures.overlap import overlap_matrix
from offline.measures.ranking import hits_at, ndcg_gains, target_ranks
from offline.report.assemble.inputs import MethodLists, Plan
from offline.report.assemble.ledger import Key, Ledger
from offline.report.document.parts import ColdRow, CutOff, Estimate, HopRow, Overlap

Ranks = Mapping[int, Ints]
"""k -> int32 [users], rank of the target in the list measured at k."""


def ranks_of(method: MethodLists, targets: Ints, ks: Sequence[int]) -> Ranks:
    """Ranks at every cut-off that is measured."""
    return {k: target_ranks(method.top(k), targets) for k in ks}


def enter_cut_offs(ledger: Ledger, name: str, ranks: Ranks) -> None:
    """Recall and NDCG of one method."""
    for k, at_k in ranks.items():
        ledger.mean(("recall", name, k), hits_at(at_k, k))
        ledger.mean(("ndcg", name, k), ndcg_gains(at_k, k))


def enter_gaps(ledger: Ledger, x: str, a: str, ranks: Mapping[str, Ranks]) -> None:
    """Differences in Recall and NDCG, x - a."""
    for k in ranks[x]:
        ledger.mean(("recall", x, a, k), hits_at(ranks[x][k], k) - hits_at(ranks[a][k], k))
        ledger.mean(("ndcg", x, a, k), ndcg_gains(ranks[x][k], k) - ndcg_gains(ranks[a][k], k))


def cut_offs(settled: Mapping[Key, Interval], who: tuple[str, ...], ks: Sequence[int]) -> tuple[CutOff, ...]:
    """The settled figures of a method (x,) or of a pair (x, a)."""
    return tuple(
        CutOff(
            k=k,
            recall=Estimate.of(settled["recall", *who, k]),
            ndcg=Estimate.of(settled["ndcg", *who, k]),
        )
        for k in ks
    )


def hop_rows(ranks: Ints, distances: Ints, k: int) -> tuple[HopRow, ...]:
    """Recall by hop of one method."""
    return tuple(HopRow(hop=r.hop, users=r.users, recall=r.recall) for r in recall_by_hop(ranks, distances, k))


def cold_rows(ranks: Ranks, cold: Bools) -> tuple[ColdRow, ...]:
    """Cold targets that one method finds at each cut-off."""
    return tuple(ColdRow(k=k, found=found_at(at_k, cold, k)) for k, at_k in ranks.items())


def overlap_of(ranks: Mapping[str, Ranks], plan: Plan) -> Overlap:
    """Jaccard overlap of all methods."""
    matrix: Floats = overlap_matrix(np.stack([at[plan.hop_k] for at in ranks.values()]), plan.hop_k)
    return Overlap(k=plan.hop_k, methods=tuple(ranks), matrix=tuple(tuple(row) for row in matrix.tolist()))
