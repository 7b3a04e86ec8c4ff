"""Semantic IDs and item vectors in blocks: the same to the bit from several processes, a block that fails is redone."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from models.neural.semantic_ids import IdConfig
from offline.config import EngineRules
from offline.shards import Arrays, Result
from offline.training import item_vectors as vectors_in_blocks
from offline.training import semantic
from offline.training.item_vectors import item_vectors, vectors_of_block
from offline.training.semantic import codes_of_block, semantic_ids

from .conftest import N_ITEMS, small_network

ROWS = 5
HERE, BESIDE = EngineRules(), EngineRules(processes=2)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semantic, "AT_ONCE", ROWS)
    monkeypatch.setattr(vectors_in_blocks, "AT_ONCE", ROWS)


def fail_once(log: Path, block: int) -> None:
    """The first try of block 1 fails. Each try leaves a mark."""
    tries = len(list(log.glob(f"{block}-*")))
    (log / f"{block}-{tries}").touch()
    if block == 1 and not tries:
        raise OSError("no longer there")


def flaky_codes(arrays: Arrays, block: int, *, log: Path, rows: int, threads: int) -> Result:
    fail_once(log, block)
    return codes_of_block(arrays, block, rows=rows, threads=threads)


def flaky_vectors(arrays: Arrays, block: int, *, log: Path, **given: Any) -> Result:
    fail_once(log, block)
    return vectors_of_block(arrays, block, **given)


def tries(log: Path) -> list[int]:
    return sorted(int(path.name.split("-")[0]) for path in log.iterdir())


def test_ids_do_not_depend_on_who_assigns_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = np.random.default_rng(3).normal(size=(23, 6)).astype(np.float32)
    seen = np.arange(23) % 4 > 0
    here = semantic_ids(texts, seen, IdConfig(codebook=4), HERE)
    monkeypatch.setattr(semantic, "codes_of_block", partial(flaky_codes, log=tmp_path))
    beside = semantic_ids(texts, seen, IdConfig(codebook=4), BESIDE)
    np.testing.assert_array_equal(here.codes, beside.codes)
    assert here.report == beside.report
    assert tries(tmp_path) == [0, 1, 1, 2, 3, 4]


def test_vectors_do_not_depend_on_who_makes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items = small_network().eval().items
    items.seen[::3] = 0
    neighbours = np.array([[(item + step) % N_ITEMS for step in (1, 2)] for item in range(N_ITEMS)], np.int32)
    here = item_vectors(items, neighbours, HERE)
    monkeypatch.setattr(vectors_in_blocks, "vectors_of_block", partial(flaky_vectors, log=tmp_path))
    np.testing.assert_array_equal(here, item_vectors(items, neighbours, BESIDE))
    assert tries(tmp_path) == [0, 1, 1, 2, 3, 4]
    alone = item_vectors(items, None, HERE)
    with torch.inference_mode():
        np.testing.assert_allclose(alone, items.served_vectors().numpy(), atol=1e-6)
    known = items.seen[:, 0].numpy() > 0
    np.testing.assert_array_equal(here[known], alone[known])
    assert (here[~known] != alone[~known]).any()
