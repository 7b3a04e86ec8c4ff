"""The trained generator of a bundle: queries in, lists of items out, on a CPU without torch, on a GPU with it."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from models.bundle import layout
from models.bundle.reader import Bundle
from models.neural.allowed import Allowed, RankBitmap
from models.neural.beam import BeamRequest, BeamResult, Steps, search
from models.neural.cpu_steps import CpuSteps, open_decoder
from models.neural.trie import Trie
from models.neural.weights import read_weights
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


def gpu_at_hand() -> bool:
    """Whether the machine has an NVIDIA GPU that torch can use; torch is only imported where a driver is."""
    if not Path("/dev/nvidiactl").exists():
        return False
    import torch

    return torch.cuda.is_available()


class Generator:
    """Constrained beam search over one bundle.

    Args:
        bundle: holds `REQUIRES`.
        device: `cpu` (NumPy, whose threads are set for the process) or a device of torch; the trie stays on the CPU.
    """

    def __init__(self, bundle: Bundle, *, device: str = "cpu") -> None:
        self.config = read_weights(bundle.file(layout.GENERATOR)).config
        self.steps = _steps(bundle, device)
        self.trie = _trie(bundle, self.config.codebooks)
        self._ranks = np.empty(self.trie.n_items, np.int32)
        self._ranks[self.trie.items] = np.arange(self.trie.n_items, dtype=np.int32)
        self._all = RankBitmap.of(np.ones(self.trie.n_items, np.bool_))
        self._bitmaps: list[tuple[npt.NDArray[np.bool_], RankBitmap]] = []

    def generate(self, queries: Sequence[Query]) -> list[BeamResult]:
        """One result a query; every history holds at least one item."""
        return search(self.steps(), self.trie, [self.request(query) for query in queries])

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


def _steps(bundle: Bundle, device: str) -> Callable[[], Steps]:
    """What makes the steps of one search; searches of several threads do not meet."""
    if device == "cpu":
        decoder = open_decoder(bundle)
        return lambda: CpuSteps(decoder)
    from models.neural.steps import open_network

    network = open_network(bundle, device)
    return network.steps


def _trie(bundle: Bundle, codebooks: tuple[int, ...]) -> Trie:
    names = (layout.TRIE_STARTS, layout.TRIE_CODES, layout.TRIE_ITEMS)
    starts, codes, items = (np.array(bundle.array(name)) for name in names)
    return Trie.load(starts, codes, items, codebooks)
