"""Blocks of items on Spark."""

from pathlib import Path

from offline.config import EngineRules
from offline.shards import run_shards
from tests.offline.test_shards import BLOCKS, check, shards, tries


def test_a_block_that_fails_on_spark_is_redone_alone(tmp_path: Path, spark: EngineRules) -> None:
    check(list(run_shards(shards(tmp_path, fails=3), spark)))

    assert tries(tmp_path) == {**dict.fromkeys(range(BLOCKS), 1), 3: 2}


def test_a_worker_that_is_killed_on_spark_costs_only_its_block(tmp_path: Path, spark: EngineRules) -> None:
    check(list(run_shards(shards(tmp_path, kills=4), spark)))

    assert tries(tmp_path) == {**dict.fromkeys(range(BLOCKS), 1), 4: 2}
