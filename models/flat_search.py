"""Exact search of a catalogue that is compared item by item: 8-bit codes rule out nearly all of it.

A vector x is held as s c, a scale and 8-bit codes, after a Hadamard transform, which spreads what a few features hold
over many and changes no cosine. With a query q held as t u likewise

    |q . x - s t (c . u)|  <=  |q - t u| |x| + |t u| |x - s c|

so that whatever the integer products leave in doubt is known, and is compared again with the vectors themselves. The
list is that of a comparison with every vector, and does not depend on what a query is searched with.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from models.chosen import rule_of
from models.integer_product import LARGEST, ZERO, IntegerProduct
from models.kernels import compiled, compiled_greatest, read_only
from models.prefetch import prefetch
from models.retrieval import Eligible
from models.similarity import Floats, Items, Mask, dot
from models.topk import Keys, best, listed, pack, unpack

AT_ONCE = 16
"""Queries of one product; their results are all in memory at a time."""
FEW = 512
"""So many items are compared one by one, which takes no longer than the integer products do."""

_AHEAD = 4
"""Items whose vectors are asked for before their turn, found to serve best."""
_ENCODED = 8192
_BLOCK = 16
_NEVER = np.float32(-np.inf)
_LEAST = np.float32(-3e38)
_MAGNITUDE = np.int32(0x7FFFFFFF)
_ROUNDING = np.float32(1e-5)
"""More than what mixing and scaling in float32 can be off."""


class FlatIndex:
    """Items by the cosine of their vectors with a query.

    Args:
        vectors: float32 [n, d], L2-normalised, may be memory-mapped; a byte for each feature is kept beside them.
        threads: of ONNX Runtime.
    """

    def __init__(self, vectors: Floats, threads: int = 1) -> None:
        n, d = vectors.shape
        self._vectors, self.at_once = read_only(vectors), AT_ONCE
        self._signs = np.random.default_rng(0).choice(np.array([-1, 1], np.float32), d)
        codes, self._scales, self._errors = np.empty((n, d), np.int8), np.empty(n, np.float32), np.empty(n, np.float32)
        for start in range(0, n, _ENCODED):
            part = slice(start, start + _ENCODED)
            _encode(_spread(self._vectors[part], self._signs), codes[part], self._scales[part], self._errors[part])
        self._error = np.float32(self._errors.max(initial=0))
        self._product = IntegerProduct(codes, threads)

    def search(
        self, queries: Floats, depths: Sequence[int], eligible: Sequence[Eligible]
    ) -> list[tuple[Items, Floats]]:
        """For each query the `depth` eligible items of the greatest cosine, best first, ties by item index.

        Args:
            queries: float32 [B, d], L2-normalised.
            depths: number wanted of each, >= 1.
            eligible: what may be returned for each.
        """
        found: list[Keys | None] = [
            self._among_few(query, depth, rule) for query, depth, rule in zip(queries, depths, eligible, strict=True)
        ]
        open_ = [place for place, keys in enumerate(found) if keys is None]
        for start in range(0, len(open_), AT_ONCE):
            part = open_[start : start + AT_ONCE]
            for place, keys in zip(part, self._among_all(queries, depths, eligible, part), strict=True):
                found[place] = keys
        return [listed(keys) for keys in found if keys is not None]

    def _among_few(self, query: Floats, depth: int, eligible: Eligible) -> Keys | None:
        """The list where stock and filter leave few items."""
        if eligible.mask is None or np.count_nonzero(eligible.mask) > FEW:
            return None
        items = np.flatnonzero(eligible.mask).astype(np.int32)
        return best(_compare(self._vectors, read_only(query), items[eligible.allows(items)]), depth)

    def _among_all(
        self, queries: Floats, depths: Sequence[int], eligible: Sequence[Eligible], part: list[int]
    ) -> list[Keys]:
        mine = read_only(queries[part])
        codes, facts = np.empty(mine.shape, np.uint8), np.empty((len(part), 3), np.float32)
        _encode_queries(_spread(mine, self._signs), codes, facts)
        products = self._product(codes)
        return [
            _search(
                products[row], facts[row], self._scales, self._errors, self._error, self._vectors, mine[row],
                *rule_of(eligible[place]), depths[place],
            )
            for row, place in enumerate(part)
        ]  # fmt: skip


@compiled
def _spread(rows: Floats, signs: Floats) -> Floats:
    """Rows [n, d] after a random change of signs and a Hadamard transform of each stretch of 2 ** j features."""
    mixed, size = rows * signs, 1
    while mixed.shape[1] % (2 * size) == 0:
        for place in range(len(mixed)):
            row = mixed[place]
            for start in range(0, len(row), 2 * size):
                for i in range(start, start + size):
                    left, right = row[i], row[i + size]
                    row[i], row[i + size] = left + right, left - right
        size *= 2
    return mixed * np.float32(1 / np.sqrt(size))


@compiled
def _step(row: Floats) -> np.float32:
    """Scale of a row's codes."""
    largest = np.float32(0)
    for value in row:
        largest = max(largest, abs(value))
    return np.float32(largest / LARGEST) if largest > 0 else np.float32(1)


@compiled
def _encode(rows: Floats, codes: npt.NDArray[np.int8], scales: Floats, errors: Floats) -> None:
    """Codes and scale of each of rows [n, d], and how far they are from it."""
    for place in range(len(rows)):
        row, lost = rows[place], 0.0
        scale = _step(row)
        for i in range(len(row)):
            code = np.rint(row[i] / scale)
            codes[place, i] = np.int8(code)
            lost += np.float64(row[i] - scale * code) ** 2
        scales[place], errors[place] = scale, np.sqrt(lost)


@compiled
def _encode_queries(rows: Floats, codes: npt.NDArray[np.uint8], facts: Floats) -> None:
    """Likewise; facts [B, 3] become the scale t, |q - t u| and |t u|."""
    for place in range(len(rows)):
        row, lost, kept = rows[place], 0.0, 0.0
        scale = _step(row)
        for i in range(len(row)):
            code = np.rint(row[i] / scale)
            codes[place, i] = np.uint8(np.int32(code) + ZERO)
            lost += np.float64(row[i] - scale * code) ** 2
            kept += np.float64(scale * code) ** 2
        facts[place, 0], facts[place, 1], facts[place, 2] = scale, np.sqrt(lost), np.sqrt(kept)


@compiled
def _compare(vectors: Floats, query: Floats, items: Items) -> Keys:
    """Keys of some items by their cosine with a query."""
    scores, keys = np.empty(len(items), np.float32), np.empty(len(items), np.int64)
    wide = query.astype(np.float64)  # once, not for each item
    for place in range(len(items)):
        if place + _AHEAD < len(items):
            prefetch(vectors, items[place + _AHEAD], vectors.shape[1] * 4)
        scores[place] = dot(vectors[items[place]], wide)
    pack(scores, items, keys)
    return keys


@compiled
def _search(
    products: npt.NDArray[np.int32],
    facts: Floats,
    scales: Floats,
    errors: Floats,
    error: np.float32,
    vectors: Floats,
    query: Floats,
    mask: Mask,
    blocked: Items,
    depth: int,
) -> Keys:
    """Keys of the best items, best first, from the integer products with all of them."""
    step, lost, kept = facts[0], facts[1] + _ROUNDING, facts[2]
    about = np.empty(len(products), np.float32)
    for item in range(len(about)):
        about[item] = np.float32(products[item]) * scales[item] * step
    if len(mask):
        for item in range(len(about)):
            about[item] = about[item] if mask[item] else _NEVER
    for item in blocked:
        about[item] = _NEVER
    greatest = _greatest(about)
    floor = _floor(about, greatest, depth)
    likely = _likely(about, greatest, floor)
    floor = max(floor, _floor(about[likely], greatest[:0], depth))
    keys = _compare(vectors, query, likely[about[likely] >= floor])
    keys = best(keys, len(keys))
    if len(keys) < depth:
        return keys
    least = _score(keys[depth - 1])
    doubtful = _doubtful(about, greatest, errors, floor, least - lost, error, kept)
    return best(np.concatenate((keys[:depth], _compare(vectors, query, doubtful))), depth)


@compiled_greatest
def _greatest(about: Floats) -> Floats:
    """The greatest entry of each block. A block is every so many-th entry, so that all are compared side by side."""
    blocks = -(-len(about) // _BLOCK)
    greatest = about[:blocks].copy()
    for nth in range(1, _BLOCK):
        entries = about[nth * blocks : (nth + 1) * blocks]
        for block in range(len(entries)):
            greatest[block] = max(greatest[block], entries[block])
    return greatest


@compiled
def _floor(about: Floats, greatest: Floats, depth: int) -> np.float32:
    """A value that at least `depth` entries reach and few others; the least finite one where there are not so many.

    It is the depth-th greatest of the blocks' greatest entries: those are as many entries.
    """
    values = greatest if depth <= len(greatest) // 2 else about
    if len(values) <= depth:
        return _LEAST
    bits, rising = values.view(np.int32), np.empty(len(values), np.int32)
    for place in range(len(values)):
        rising[place] = bits[place]
    _turn(rising)
    chosen = np.partition(rising, len(rising) - depth)[len(rising) - depth : len(rising) - depth + 1].copy()
    _turn(chosen)
    return max(_LEAST, chosen.view(np.float32)[0])


@compiled
def _turn(bits: Items) -> None:
    """The bits of float32 values to integers that sort likewise, and back."""
    for place in range(len(bits)):
        bits[place] = bits[place] ^ _MAGNITUDE if bits[place] < 0 else bits[place]


@compiled
def _likely(about: Floats, greatest: Floats, floor: np.float32) -> Items:
    """Items that reach the floor."""
    found, n = np.empty(len(about), np.int32), 0
    for block in range(len(greatest)):
        if greatest[block] >= floor:
            for item in range(block, len(about), len(greatest)):
                if about[item] >= floor:
                    found[n] = item
                    n += 1
    return found[:n]


@compiled
def _doubtful(
    about: Floats,
    greatest: Floats,
    errors: Floats,
    floor: np.float32,
    least: np.float32,
    error: np.float32,
    kept: np.float32,
) -> Items:
    """Items below the floor that may be as near as `least` all the same."""
    found, n = np.empty(len(about), np.int32), 0
    for block in range(len(greatest)):
        if greatest[block] + error * kept >= least:
            for item in range(block, len(about), len(greatest)):
                if about[item] < floor and about[item] + errors[item] * kept >= least:
                    found[n] = item
                    n += 1
    return found[:n]


@compiled
def _score(key: int) -> np.float32:
    """The score of a key."""
    scores, items = np.empty(1, np.float32), np.empty(1, np.int32)
    unpack(np.array([key], np.int64), scores, items)
    return np.float32(scores[0])
