"""The constraint of a generated list alone: existing, available children and the best of them, at any size."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from models.neural.allowed import Allowed, RankBitmap
from models.neural.constraint import ROOT, advance
from models.neural.trie import Trie
from offline.bench.timing import Timing, timed


@dataclass(frozen=True, slots=True)
class Shape:
    """Size of the problem."""

    items: int = 10_000_000
    levels: int = 4
    codebook: int = 2048
    beam: int = 50
    in_stock: float = 0.9
    """Share of items that may be returned."""
    excluded: int = 200
    """Items that the request itself excludes."""


def random_trie(shape: Shape, generator: np.random.Generator) -> Trie:
    """A trie of distinct random IDs."""
    codes = np.empty((0, shape.levels), np.int32)
    while len(codes) < shape.items:
        more = generator.integers(0, shape.codebook, (shape.items - len(codes), shape.levels), np.int32)
        codes = _distinct(np.concatenate([codes, more]))
    return Trie.build(codes, (shape.codebook,) * shape.levels)


def _distinct(codes: np.ndarray) -> np.ndarray:
    keys = np.zeros(len(codes), np.uint64)
    for column in codes.T:
        keys = keys * np.uint64(1 << 16) + column.astype(np.uint64)
    return codes[np.unique(keys, return_index=True)[1]]


def bench(shape: Shape, rounds: int, say: Callable[[str], None]) -> Timing:
    """Time all steps of one request, log-probabilities given."""
    generator = np.random.default_rng(0)
    say(f"building a trie of {shape.items:,} items")
    trie = random_trie(shape, generator)
    bitmap = RankBitmap.of(generator.random(trie.n_items) < shape.in_stock)
    excluded = generator.integers(0, trie.n_items, shape.excluded).astype(np.int32)
    logits = generator.normal(size=(8, shape.beam, shape.codebook)).astype(np.float32)
    log_probabilities = logits - np.log(np.exp(logits).sum(-1, keepdims=True))

    def request(number: int) -> object:
        allowed = Allowed.within(bitmap, excluded)
        frontier = ROOT
        for depth, level in enumerate(trie.levels):
            last = {"keys": trie.items} if depth == shape.levels - 1 else {}
            rows = log_probabilities[(number + depth) % len(log_probabilities), : len(frontier.nodes)]
            frontier = advance(frontier, level, allowed, rows, shape.beam, **last)
        return frontier

    return timed(request, rounds=rounds)
