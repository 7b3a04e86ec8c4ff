"""Trained artifacts after an update: new items join what was learnt without them, nothing is trained.

A new item's semantic ID follows the nearest centroid of each level, which is the mean of what its members left over,
and ends in a code that its group has not used. Its vector is the mean of its nearest known texts' vectors, as for
items that training did not see.
"""

from collections.abc import Iterator, Sequence
from itertools import product

import faiss
import numpy as np
import numpy.typing as npt

from models.bundle import layout
from models.bundle.reader import Bundle
from models.bundle.writer import BundleWriter
from models.errors import BundleError
from models.neural.semantic_ids import Codes, Vectors, nearest_centroid
from models.neural.trie import Trie
from offline.increment.counts import GONE, Renumbering
from offline.training.cold import ColdConfig, lean_on_neighbours

UNCHANGED = (
    layout.GENERATOR,
    layout.QUERY_ENCODER,
    layout.TRAINING_CURVES,
)
"""What knows no item."""
SECTIONS = ("semantic_ids", "training")


def carry_trained(writer: BundleWriter, base: Bundle, moves: Renumbering) -> None:
    """Write the base's trained artifacts for the items that there are now."""
    for name in UNCHANGED:
        writer.take(base, name)
    for section in SECTIONS:
        if section in base.manifest.sections:
            writer.section(section, base.manifest.sections[section])
    if base.has(layout.CODES):
        _write_ids(writer, base, moves)
    if base.has(layout.ITEM_VECTORS):
        _write_vectors(writer, base, moves)
    if base.has(layout.ID_VECTORS):
        writer.add_array(layout.ID_VECTORS, moves.moved(base.array(layout.ID_VECTORS), 0))
        writer.section("id-vectors", base.manifest.sections.get("id-vectors", {}))


def _write_ids(writer: BundleWriter, base: Bundle, moves: Renumbering) -> None:
    codebooks = tuple(base.manifest.sections["semantic_ids"]["codebooks"])
    embeddings = np.asarray(writer.read_array(layout.EMBEDDINGS))
    codes = extended_codes(moves.moved(base.array(layout.CODES), GONE), embeddings, codebooks)
    trie = Trie.build(codes, codebooks)
    starts, nodes = trie.stored()
    writer.add_array(layout.CODES, codes)
    writer.add_array(layout.TRIE_STARTS, starts)
    writer.add_array(layout.TRIE_CODES, nodes)
    writer.add_array(layout.TRIE_ITEMS, trie.items)


def extended_codes(codes: Codes, embeddings: Vectors, codebooks: Sequence[int]) -> Codes:
    """int32 [n, L]: codes of all items; those of known items stay.

    Args:
        codes: int32 [n, L], -1 in rows of new items.
        embeddings: float32 [n, d].
        codebooks: codes a level; the last is as wide as the generator's head, so that an ID whose group is full moves
            to the group of the next nearest known item, or to one that nobody is in.

    Raises:
        BundleError: no code is free.
    """
    codes = np.array(codes, np.int32)
    new = np.flatnonzero(codes[:, 0] == GONE)
    if not len(new):
        return codes
    known = np.flatnonzero(codes[:, 0] != GONE)
    wanted = _quantised(codes[known], embeddings[known], embeddings[new])
    used = {tuple(row) for row in codes[known].tolist()}
    for item, prefix in zip(new.tolist(), wanted.tolist(), strict=True):
        codes[item] = _free(prefix, item, known, codes, embeddings, used, codebooks)
        used.add(tuple(codes[item].tolist()))
    return codes


def _quantised(codes: Codes, members: Vectors, vectors: Vectors) -> Codes:
    """int32 [k, L - 1]: the nearest centroid of each level, residual after residual."""
    left, of_members, columns = np.array(vectors), np.array(members), []
    for level in range(codes.shape[1] - 1):
        carried, group = np.unique(codes[:, level], return_inverse=True)
        centroids = np.zeros((len(carried), members.shape[1]), np.float64)
        np.add.at(centroids, group, of_members)
        means = (centroids / np.bincount(group)[:, None]).astype(np.float32)
        nearest = nearest_centroid(left, means)
        columns.append(carried[nearest])
        left -= means[nearest]
        of_members -= means[group]
    return np.stack(columns, axis=1).astype(np.int32)


def _free(
    prefix: list[int],
    item: int,
    known: npt.NDArray[np.int64],
    codes: Codes,
    embeddings: Vectors,
    used: set[tuple[int, ...]],
    codebooks: Sequence[int],
) -> list[int]:
    """A code in the wanted group, else in that of the nearest known item that has room, else anywhere."""

    def in_order() -> Iterator[tuple[int, ...]]:
        for last in range(codebooks[-1]):
            yield (*prefix, last)
        alike = known[np.argsort(-(embeddings[known] @ embeddings[item]), kind="stable")]
        for group in codes[alike, :-1].tolist():
            for last in range(codebooks[-1]):
                yield (*group, last)
        yield from product(*map(range, codebooks))

    for code in in_order():
        if code not in used:
            return list(code)
    raise BundleError(
        "semantic IDs",
        found=f"all {len(used):,} codes used",
        expected="one that is free for a new item",
        remedy="Train anew: shortlist train.",
    )


def _write_vectors(writer: BundleWriter, base: Bundle, moves: Renumbering) -> None:
    vectors = np.array(moves.moved(base.array(layout.ITEM_VECTORS), 0))
    embeddings = np.asarray(writer.read_array(layout.EMBEDDINGS))
    neighbours = np.asarray(writer.read_array(layout.TEXT_NEIGHBOURS))
    known = moves.origin != GONE
    vectors = lean_on_neighbours(vectors, embeddings, neighbours, known, ColdConfig())
    writer.add_array(layout.ITEM_VECTORS, vectors)
    if base.has(layout.QUERY_INPUTS):
        tokens = np.moveaxis(moves.moved(base.array(layout.QUERY_INPUTS), 0), 1, 0)
        leaning = [lean_on_neighbours(token, embeddings, neighbours, known, ColdConfig()) for token in tokens]
        writer.add_array(layout.QUERY_INPUTS, np.stack(leaning, axis=1))
    if base.has(layout.INDEX):
        _write_index(writer, base, vectors, moves)


def _write_index(writer: BundleWriter, base: Bundle, vectors: Vectors, moves: Renumbering) -> None:
    """The base's kind of index over the vectors: where nothing moved the very same, else filled anew, not trained."""
    writer.section("index", {**base.manifest.sections.get("index", {}), "items": len(vectors)})
    if moves.same:
        writer.take(base, layout.INDEX)
        return
    index = faiss.read_index(str(base.file(layout.INDEX)))
    index.reset()
    index.add(vectors)
    faiss.write_index(index, str(writer.folder / layout.INDEX))
