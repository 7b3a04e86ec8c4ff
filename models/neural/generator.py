"""The trained generator of a bundle: queries in, lists of items out, on CPU or GPU."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors import safe_open

from models.bundle import layout
from models.bundle.reader import Bundle
from models.neural.allowed import Allowed, RankBitmap
from models.neural.beam import BeamRequest, BeamResult, search
from models.neural.config import NetworkConfig
from models.neural.decoder import Decoder
from models.neural.encoder import Encoder
from models.neural.steps import NetworkSteps
from models.neural.trie import Trie
from models.retrieval import Eligible, Query

REQUIRES = (
    layout.CODES,
    layout.TRIE_STARTS,
    layout.TRIE_CODES,
    layout.TRIE_ITEMS,
    layout.GENERATOR,
    layout.ITEM_VECTORS,
)
"""Artifacts that generation needs."""

LEAST_BEAM = 50
"""Beam of a request that names none, unless k is greater."""
KEPT_BITMAPS = 8
"""Masks (stock, filters) whose bitmaps are kept."""


class Generator:
    """Constrained beam search over one bundle.

    Args:
        bundle: holds `REQUIRES`.
        device: where the network computes; the trie stays on the CPU.
    """

    def __init__(self, bundle: Bundle, device: torch.device) -> None:
        config, history, tensors = _weights(bundle, device)
        encoder, decoder = Encoder(config), Decoder(config)
        for name, module in (("encoder", encoder), ("decoder", decoder)):
            prefix = f"{name}."
            mine = {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}
            module.load_state_dict(mine)
            module.eval().to(device)
        self._encoder, self._decoder, self._history = encoder, decoder, history
        self._inputs = _inputs(bundle).to(device)
        self.config, self.trie = config, _trie(bundle, config)
        self._ranks = np.empty(self.trie.n_items, np.int32)
        self._ranks[self.trie.items] = np.arange(self.trie.n_items, dtype=np.int32)
        self._all = RankBitmap.of(np.ones(self.trie.n_items, np.bool_))
        self._bitmaps: list[tuple[npt.NDArray[np.bool_], RankBitmap]] = []

    def generate(self, queries: Sequence[Query]) -> list[BeamResult]:
        """One result a query; every history holds at least one item."""
        return search(self.steps(), self.trie, [self.request(query) for query in queries])

    def steps(self) -> NetworkSteps:
        """The network as one search uses it; searches of several threads do not meet."""
        return NetworkSteps(self._encoder, self._decoder, self._inputs, self._history)

    def request(self, query: Query) -> BeamRequest:
        """A query as the search takes it: the beam is at least 50 and k."""
        beam = max(query.beam or LEAST_BEAM, query.k)
        return BeamRequest(query.history, query.k, beam, self._allowed(query.eligible))

    def _allowed(self, eligible: Eligible) -> Allowed:
        bitmap = self._all if eligible.mask is None else self._bitmap(eligible.mask)
        return Allowed.within(bitmap, self._ranks[eligible.blocked])

    def _bitmap(self, mask: npt.NDArray[np.bool_]) -> RankBitmap:
        """A mask's bitmap, remembered for as long as the very same array keeps coming."""
        for known, bitmap in self._bitmaps:
            if known is mask:
                return bitmap
        bitmap = RankBitmap.of(mask[self.trie.items])
        self._bitmaps = [(mask, bitmap), *self._bitmaps[: KEPT_BITMAPS - 1]]
        return bitmap


def _weights(bundle: Bundle, device: torch.device) -> tuple[NetworkConfig, int, dict[str, torch.Tensor]]:
    with safe_open(bundle.file(layout.GENERATOR), framework="pt", device=str(device)) as file:
        facts: dict[str, Any] = json.loads(file.metadata()["config"])
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    return NetworkConfig.of(facts["network"]), int(facts["history"]), tensors


def _inputs(bundle: Bundle) -> torch.Tensor:
    name = layout.QUERY_INPUTS if bundle.has(layout.QUERY_INPUTS) else layout.ITEM_VECTORS
    inputs = torch.from_numpy(np.array(bundle.array(name)))
    return inputs if inputs.ndim == 3 else inputs[:, None]


def _trie(bundle: Bundle, config: NetworkConfig) -> Trie:
    starts, codes, items = (
        np.array(bundle.array(name)) for name in (layout.TRIE_STARTS, layout.TRIE_CODES, layout.TRIE_ITEMS)
    )
    return Trie.load(starts, codes, items, config.codebooks)


def best_device() -> torch.device:
    """A GPU where there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
