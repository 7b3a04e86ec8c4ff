"""Semantic IDs of a bundle's items, and their trie, as artifacts."""

from collections.abc import Iterator, Sequence
from functools import partial

import faiss
import numpy as np
import numpy.typing as npt

from models.bundle import layout
from models.bundle.writer import BundleWriter
from models.errors import BundleError
from models.neural.semantic_ids import AT_ONCE, Codes, IdConfig, Quantiser, SemanticIds, Vectors, assign, kmeans_ids
from models.neural.trie import Trie
from offline.config import EngineRules
from offline.shards import Arrays, Result, spread

SECTION = "semantic_ids"


def semantic_ids(
    embeddings: npt.NDArray[np.float32], seen: npt.NDArray[np.bool_], config: IdConfig, rules: EngineRules
) -> SemanticIds:
    """IDs of all items, learnt from those that training histories hold.

    Args:
        embeddings: float32 [n_items, d], a zero row = no text.
        seen: bool [n_items].
        config: levels, codebook, quantiser.
        rules: where blocks of items are assigned by k-means; an RQ-VAE assigns them all here.

    Raises:
        BundleError: no item has both.
    """
    known = seen & embeddings.any(axis=1)
    if not known.any():
        raise BundleError(
            "embeddings",
            found="no item with both a text and an interaction",
            expected="text embeddings to quantise",
            remedy="Build with a text encoder or with your own vectors: shortlist build --text-encoder wordllama.",
        )
    if config.quantiser is Quantiser.KMEANS:
        return kmeans_ids(embeddings, known, config, partial(_assigned, embeddings, rules))
    from models.neural.rqvae import rqvae_ids

    return rqvae_ids(embeddings, known, config)


def codes_of_block(arrays: Arrays, block: int, *, rows: int, threads: int) -> Result:
    """Codes of `rows` consecutive items: of array `embeddings` in codebooks `book-0`, `book-1`..."""
    faiss.omp_set_num_threads(threads)
    books = [np.array(arrays[f"book-{level}"]) for level in range(len(arrays) - 1)]
    return (assign(arrays["embeddings"][block * rows : (block + 1) * rows], books),)


def _assigned(embeddings: Vectors, rules: EngineRules, books: Sequence[Vectors]) -> Iterator[Codes]:
    arrays = {"embeddings": embeddings} | {f"book-{level}": book for level, book in enumerate(books)}
    work = partial(codes_of_block, rows=AT_ONCE, threads=rules.threads)
    for (codes,) in spread(work, {}, arrays, -(-len(embeddings) // AT_ONCE), rules):
        yield codes


def write_semantic_ids(writer: BundleWriter, ids: SemanticIds, config: IdConfig) -> None:
    """Write codes and trie; the report goes into the manifest."""
    trie = Trie.build(ids.codes, ids.codebooks)
    starts, codes = trie.stored()
    writer.add_array(layout.CODES, ids.codes)
    writer.add_array(layout.TRIE_STARTS, starts)
    writer.add_array(layout.TRIE_CODES, codes)
    writer.add_array(layout.TRIE_ITEMS, trie.items)
    facts = {"quantiser": config.quantiser.value, "codebooks": list(ids.codebooks)}
    writer.section(SECTION, {**facts, **ids.report.facts()})
