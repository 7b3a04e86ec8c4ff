"""Constrained beam search against brute force over all items."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from models.neural.allowed import Allowed
from models.neural.beam import BeamRequest, search
from models.neural.semantic_ids import with_unique_code
from models.neural.trie import Trie

CODEBOOK = 4
NO_ITEMS = np.empty(0, np.int32)


class TableSteps:
    """Log-probabilities looked up by prefix: any distribution, without a network."""

    def __init__(self, codebooks, seed, coarse):
        self.codebooks, self.seed, self.coarse = codebooks, seed, coarse
        self.prefixes = []

    def row(self, request, prefix):
        generator = np.random.default_rng([self.seed, request, *prefix])
        logits = generator.normal(size=self.codebooks[len(prefix)]) * 3
        if self.coarse:
            logits = np.round(logits / 3)
        return (logits - np.log(np.exp(logits).sum())).astype(np.float32)

    def start(self, histories):
        self.prefixes = [[()] for _ in histories]
        return np.stack([[self.row(request, ())] for request in range(len(histories))])

    def step(self, parents, codes, level):
        self.prefixes = [
            [(*before[parent], int(code)) for parent, code in zip(ps, cs, strict=True)]
            for before, ps, cs in zip(self.prefixes, parents, codes, strict=True)
        ]
        return np.stack([[self.row(r, prefix) for prefix in rows] for r, rows in enumerate(self.prefixes)])


def brute_force(codes, steps, request, allowed):
    """All allowed items by score, ties by index."""
    scores = np.zeros(len(codes), np.float32)
    for item, row in enumerate(codes.tolist()):
        for level in range(len(row)):
            scores[item] += steps.row(request, tuple(row[:level]))[row[level]]
    order = np.lexsort((np.arange(len(codes)), -scores))
    order = order[allowed[order]]
    return order, scores[order]


@st.composite
def cases(draw):
    n = draw(st.integers(1, 80))
    generator = np.random.default_rng(draw(st.integers(0, 10_000)))
    codes = with_unique_code(generator.integers(0, CODEBOOK, (n, 3)).astype(np.int32))
    trie = Trie.build(codes, (CODEBOOK,) * 3 + (int(codes[:, 3].max()) + 1,))
    mask = generator.random(n) < draw(st.sampled_from([0.1, 0.6, 1.0]))
    blocked = np.unique(generator.integers(0, n, draw(st.integers(0, 5))).astype(np.int32))
    return codes, trie, mask, blocked, draw(st.integers(0, 10_000)), draw(st.booleans())


def allowed_of(trie, mask, blocked):
    ranks = np.empty(trie.n_items, np.int32)
    ranks[trie.items] = np.arange(trie.n_items, dtype=np.int32)
    left = mask.copy()
    left[blocked] = False
    return Allowed.of(trie, mask, blocked, ranks), left


@given(cases(), st.integers(1, 12), st.integers(0, 30))
@settings(deadline=None)
def test_results_are_allowed_and_exact_claims_hold(case, k, extra):
    codes, trie, mask, blocked, seed, coarse = case
    allowed, left = allowed_of(trie, mask, blocked)
    steps = TableSteps(trie.codebooks, seed, coarse)
    result = search(steps, trie, [BeamRequest(NO_ITEMS, k, k + extra, allowed)])[0]
    order, scores = brute_force(codes, steps, 0, left)
    assert left[result.items].all()
    assert len(set(result.items.tolist())) == len(result.items)
    assert len(result.items) == min(k, left.sum())
    if result.exact:
        np.testing.assert_array_equal(result.scores, scores[: len(result.scores)])
        if not coarse:
            np.testing.assert_array_equal(result.items, order[: len(result.items)])


@given(cases(), st.integers(1, 12))
@settings(deadline=None)
def test_a_beam_as_wide_as_the_catalogue_equals_brute_force_with_ties_by_item(case, k):
    codes, trie, mask, blocked, seed, coarse = case
    allowed, left = allowed_of(trie, mask, blocked)
    steps = TableSteps(trie.codebooks, seed, coarse)
    result = search(steps, trie, [BeamRequest(NO_ITEMS, k, max(k, len(codes)), allowed)])[0]
    order, scores = brute_force(codes, steps, 0, left)
    assert result.exact
    np.testing.assert_array_equal(result.items, order[:k])
    np.testing.assert_array_equal(result.scores, scores[:k])


@given(cases(), st.integers(1, 6), st.integers(1, 10))
@settings(deadline=None)
def test_a_beam_keeps_what_a_plain_beam_search_keeps(case, k, beam):
    codes, trie, mask, blocked, seed, _ = case
    beam = max(beam, k)
    allowed, left = allowed_of(trie, mask, blocked)
    steps = TableSteps(trie.codebooks, seed, coarse=False)
    result = search(steps, trie, [BeamRequest(NO_ITEMS, k, beam, allowed)])[0]
    prefixes = {(): np.float32(0)}
    for level in range(4):
        longer = {}
        for row in {tuple(row[: level + 1]) for row in codes[left].tolist()}:
            if row[:-1] in prefixes:
                longer[row] = prefixes[row[:-1]] + steps.row(0, row[:-1])[row[-1]]
        prefixes = dict(sorted(longer.items(), key=lambda pair: (-pair[1], pair[0]))[:beam])
    expected = [codes.tolist().index(list(row)) for row in prefixes]
    assert result.items.tolist() == expected[:k]


@given(st.lists(cases(), min_size=2, max_size=2), st.integers(1, 6))
@settings(deadline=None)
def test_requests_of_different_width_do_not_disturb_each_other(pair, k):
    codes, trie, mask, blocked, seed, coarse = pair[0]
    allowed, _ = allowed_of(trie, mask, blocked)
    other, _ = allowed_of(trie, np.ones(len(codes), bool), NO_ITEMS)
    together = [BeamRequest(NO_ITEMS, k, k, allowed), BeamRequest(NO_ITEMS, 1, 9, other)]
    steps = TableSteps(trie.codebooks, seed, coarse)
    both = search(steps, trie, together)
    alone = search(TableSteps(trie.codebooks, seed, coarse), trie, together[:1])[0]
    np.testing.assert_array_equal(both[0].items, alone.items)
    np.testing.assert_array_equal(both[0].scores, alone.scores)


def test_nothing_allowed_gives_an_empty_exact_list():
    codes = with_unique_code(np.zeros((3, 3), np.int32))
    trie = Trie.build(codes, (CODEBOOK,) * 3 + (3,))
    allowed, _ = allowed_of(trie, np.zeros(3, bool), NO_ITEMS)
    result = search(TableSteps(trie.codebooks, 0, coarse=False), trie, [BeamRequest(NO_ITEMS, 5, 50, allowed)])[0]
    assert len(result.items) == 0
    assert result.exact
