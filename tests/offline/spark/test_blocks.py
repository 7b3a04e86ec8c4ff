"""Blocks of items on Spark."""

from pathlib import Path

import numpy as np
import pytest

from models.neural.semantic_ids import IdConfig
from offline.config import EngineRules
from offline.shards import run_shards
from offline.training import item_vectors, semantic
from tests.offline.test_shards import BLOCKS, check, shards, tries
from tests.offline.training.conftest import N_ITEMS, small_network


def test_a_block_that_fails_on_spark_is_redone_alone(tmp_path: Path, spark: EngineRules) -> None:
    check(list(run_shards(shards(tmp_path, fails=3), spark)))

    assert tries(tmp_path) == {**dict.fromkeys(range(BLOCKS), 1), 3: 2}


def test_a_worker_that_is_killed_on_spark_costs_only_its_block(tmp_path: Path, spark: EngineRules) -> None:
    check(list(run_shards(shards(tmp_path, kills=4), spark)))

    assert tries(tmp_path) == {**dict.fromkeys(range(BLOCKS), 1), 4: 2}


def test_item_vectors_and_codes_from_spark_are_those_of_one_process(
    spark: EngineRules, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(semantic, "AT_ONCE", 7)
    monkeypatch.setattr(item_vectors, "AT_ONCE", 7)
    items, here = small_network().eval().items, EngineRules()
    found = [item_vectors.item_vectors(items, None, rules) for rules in (here, spark)]
    np.testing.assert_array_equal(*found)
    texts, seen = items.embeddings.numpy(), np.arange(N_ITEMS) % 3 > 0
    codes = [semantic.semantic_ids(texts, seen, IdConfig(codebook=4), rules).codes for rules in (here, spark)]
    np.testing.assert_array_equal(*codes)
