"""Blocks computed side by side equal those computed one after another, and a block that fails is redone alone."""

import os
import signal
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from models.bundle.reader import Bundle
from models.bundle.stream import write_array
from offline.build import Request, build
from offline.config import EngineRules
from offline.progress import Reporter
from offline.shards import Arrays, Result, Shards, run_shards
from tests.offline.shop import config, inputs

BLOCKS = 7


def square(arrays: Arrays, block: int, *, log: Path, fails: int = -1, kills: int = -1, times: int = 1) -> Result:
    """A block of squares; before that, fails or dies as often as told, and leaves a mark of each try."""
    tries = len(list(log.glob(f"{block}-*")))
    (log / f"{block}-{tries}").touch()
    if block == kills and tries < times:
        os.kill(os.getpid(), signal.SIGKILL)
    if block == fails and tries < times:
        raise OSError(f"block {block}")
    part = arrays["numbers"][block * 10 : block * 10 + 10]
    return part * part, np.array([block])


def shards(folder: Path, **how: int) -> Shards:
    log = folder / "log"
    log.mkdir()
    write_array(folder / "numbers.npy", np.arange(BLOCKS * 10))
    return Shards(partial(square, log=log, **how), {"numbers": folder / "numbers.npy"}, BLOCKS)


def tries(folder: Path) -> dict[int, int]:
    names = [int(path.name.split("-")[0]) for path in (folder / "log").iterdir()]
    return {block: names.count(block) for block in range(BLOCKS)}


def check(found: list[Result]) -> None:
    np.testing.assert_array_equal(np.concatenate([part for part, _ in found]), np.arange(BLOCKS * 10) ** 2)
    assert [int(number[0]) for _, number in found] == list(range(BLOCKS))


@pytest.mark.parametrize("processes", [1, 2])
def test_blocks_come_in_order(tmp_path: Path, processes: int) -> None:
    check(list(run_shards(shards(tmp_path), EngineRules(processes=processes))))
    assert set(tries(tmp_path).values()) == {1}


def test_a_block_that_fails_is_redone_alone(tmp_path: Path) -> None:
    check(list(run_shards(shards(tmp_path, fails=3), EngineRules(processes=2))))

    assert tries(tmp_path) == {**dict.fromkeys(range(BLOCKS), 1), 3: 2}


def test_a_process_that_is_killed_costs_only_what_was_at_work(tmp_path: Path) -> None:
    check(list(run_shards(shards(tmp_path, kills=5), EngineRules(processes=2))))

    found = tries(tmp_path)
    assert found[5] == 2
    assert all(found[block] == 1 for block in range(3))


def test_a_block_that_always_fails_ends_the_job(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="block 2"):
        list(run_shards(shards(tmp_path, fails=2, times=99), EngineRules(processes=2)))

    assert tries(tmp_path)[2] == 3


def digests(root: Path) -> dict[str, str]:
    return {name: entry.sha256 for name, entry in Bundle.open(root).manifest.files.items()}


def test_a_bundle_built_in_blocks_is_the_same(tmp_path: Path) -> None:
    rules = config(rings={"block": 2}, text={"batch_size": 2})
    wide = rules.model_copy(update={"engine": EngineRules(processes=2)})
    for name, one in (("one", rules), ("many", wide)):
        build(Request(tmp_path / name, one, inputs(tmp_path)), Reporter(quiet=True))

    assert digests(tmp_path / "one") == digests(tmp_path / "many")
