"""Vectors of all items from a trained network, in blocks of items."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from models.neural.config import ItemVector, NetworkConfig
from models.neural.items import ItemRows, Items, served_vectors
from offline.config import EngineRules
from offline.shards import Array, Arrays, Result, spread
from offline.training.cold import ColdConfig, lean_on_neighbours

Floats = npt.NDArray[np.float32]
AT_ONCE = 8192
"""Items of a block."""


def item_vectors(items: Items, neighbours: npt.NDArray[np.int32] | None, rules: EngineRules) -> Floats:
    """float32 [n, d + tail], L2-normalised; those of unseen items lean on their text neighbours.

    Args:
        items: of a network in evaluation mode, on the CPU.
        neighbours: int32 [n, m], best first, padded with -1; None = nobody leans on anybody.
        rules: where the blocks are computed.
    """
    rows = {name: tensor.detach().numpy() for name, tensor in items.rows()._asdict().items() if tensor is not None}
    made = partial(vectors_of_block, config=items.config, text=items.text, rows=AT_ONCE, threads=rules.threads)
    vectors = _joined(made, rows, len(items.embeddings), rules)
    if neighbours is None or items.config.item_vector is ItemVector.TEXT:
        return vectors
    around = {"vectors": vectors, "neighbours": neighbours, "embeddings": rows["embeddings"], "seen": rows["seen"]}
    return _joined(partial(leaning_of_block, rows=AT_ONCE), around, len(vectors), rules)


def _joined(work: Callable[[Arrays, int], Result], arrays: Mapping[str, Array], n: int, rules: EngineRules) -> Floats:
    return np.concatenate([block for (block,) in spread(work, {}, arrays, -(-n // AT_ONCE), rules)])


@torch.inference_mode()
def vectors_of_block(
    arrays: Arrays, block: int, *, config: NetworkConfig, text: nn.Module, rows: int, threads: int
) -> Result:
    """Vectors of `rows` consecutive items: of arrays by the names of `ItemRows`."""
    torch.set_num_threads(threads)
    part = slice(block * rows, (block + 1) * rows)
    tensors = {name: torch.from_numpy(np.array(array[part])) for name, array in arrays.items()}
    return (served_vectors(config, text, ItemRows(**tensors)).numpy(),)


def leaning_of_block(arrays: Arrays, block: int, *, rows: int) -> Result:
    """The same, those of unseen items moved: of arrays `vectors`, `embeddings`, `neighbours` and `seen`."""
    part, seen = range(block * rows, min((block + 1) * rows, len(arrays["vectors"]))), arrays["seen"][:, 0] > 0
    known = (arrays["vectors"], arrays["embeddings"], arrays["neighbours"])
    return (lean_on_neighbours(*known, seen, ColdConfig(), part),)
