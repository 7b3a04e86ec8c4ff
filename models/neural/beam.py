"""Constrained beam search over semantic IDs, for several requests at once, exact for its beam.

A score is the sum of the codes' log-softmax over the full codebooks, so what is left out by the trie never changes
the score of what is kept. Keys and values of the history are made once a request and the beams are its queries.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from models.neural.allowed import Allowed
from models.neural.constraint import ROOT, Frontier, advance
from models.neural.trie import Trie

Float32s = npt.NDArray[np.float32]
Int32s = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class BeamRequest:
    """One list to be generated.

    Attributes:
        history: int32 item indices, oldest first, at least one.
        k: number of items wanted.
        beam: prefixes kept a level, >= k.
        allowed: which leaves may be returned.
    """

    history: Int32s
    k: int
    beam: int
    allowed: Allowed


@dataclass(frozen=True, slots=True)
class BeamResult:
    """Items int32 and scores float32, best first, ties by item index.

    `exact`: no pruned prefix could have held a better item.
    """

    items: Int32s
    scores: Float32s
    exact: bool


class Steps(Protocol):
    """What the search asks of a model: log-probabilities of the next code of every prefix."""

    def start(self, histories: Sequence[Int32s]) -> Float32s:
        """float32 [R, 1, codebook 0] of the requests' first codes."""
        ...

    def step(self, parents: Int32s, codes: Int32s, level: int) -> Float32s:
        """float32 [R, W, codebook]: what follows int32 [R, W] `codes` of level - 1.

        `parents` int32 [R, W]: the column of the step before that each prefix goes on from.
        """
        ...


def search(
    steps: Steps, trie: Trie, requests: Sequence[BeamRequest], constrain: Callable[..., Frontier] = advance
) -> list[BeamResult]:
    """The best leaves of every request; `constrain` may be replaced by one that also times it."""
    frontiers = [ROOT] * len(requests)
    log_probabilities = steps.start([request.history for request in requests])
    for depth in range(len(trie.levels)):
        if depth:
            parents, codes = _padded(frontiers, trie.levels[depth - 1].codes)
            log_probabilities = steps.step(parents, codes, depth)
        kept, frontiers = frontiers, _advance_all(trie, depth, frontiers, requests, log_probabilities, constrain)
    return [_result(trie, *triple) for triple in zip(requests, kept, frontiers, strict=True)]


def _advance_all(
    trie: Trie,
    depth: int,
    frontiers: Sequence[Frontier],
    requests: Sequence[BeamRequest],
    log_probabilities: Float32s,
    constrain: Callable[..., Frontier],
) -> list[Frontier]:
    level = trie.levels[depth]
    keys = {"keys": trie.items} if depth == len(trie.levels) - 1 else {}
    return [
        constrain(frontier, level, request.allowed, rows, min(request.beam, len(level.codes)), **keys)
        for frontier, request, rows in zip(frontiers, requests, log_probabilities, strict=True)
    ]


def _padded(frontiers: Sequence[Frontier], node_codes: Int32s) -> tuple[Int32s, Int32s]:
    """Parents and codes as int32 [R, W]; rows that are shorter than the widest repeat column 0 of the step before."""
    if len(frontiers) == 1 and len(frontiers[0].nodes):
        return frontiers[0].parents[None], node_codes[frontiers[0].nodes][None]
    width = max(1, *(len(frontier.nodes) for frontier in frontiers))
    parents, codes = np.zeros((2, len(frontiers), width), np.int32)
    for row, frontier in enumerate(frontiers):
        parents[row, : len(frontier.nodes)] = frontier.parents
        codes[row, : len(frontier.nodes)] = node_codes[frontier.nodes]
    return parents, codes


def _result(trie: Trie, request: BeamRequest, kept: Frontier, leaves: Frontier) -> BeamResult:
    items, scores = trie.items[leaves.nodes[: request.k]], leaves.scores[: request.k]
    complete = len(items) == request.k and scores[-1] >= kept.pruned
    return BeamResult(items, scores, bool(complete or kept.pruned == float("-inf")))
