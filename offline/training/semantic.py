"""Semantic IDs of a bundle's items, and their trie, as artifacts."""

import numpy as np
import numpy.typing as npt

from models.bundle import layout
from models.bundle.writer import BundleWriter
from models.errors import BundleError
from models.neural.semantic_ids import IdConfig, Quantiser, SemanticIds, kmeans_ids
from models.neural.trie import Trie

SECTION = "semantic_ids"


def semantic_ids(embeddings: npt.NDArray[np.float32], seen: npt.NDArray[np.bool_], config: IdConfig) -> SemanticIds:
    """IDs of all items, learnt from those that training histories hold.

    Args:
        embeddings: float32 [n_items, d], a zero row = no text.
        seen: bool [n_items].
        config: levels, codebook, quantiser.

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
        return kmeans_ids(embeddings, known, config)
    from models.neural.rqvae import rqvae_ids

    return rqvae_ids(embeddings, known, config)


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
