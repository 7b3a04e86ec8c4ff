import numpy as np
import pytest

from offline.measure import measured


def test_peak_memory_is_that_of_the_body_alone() -> None:
    with measured() as large:
        block = np.ones(64 * 2**20, np.uint8)
    assert block.nbytes == 64 * 2**20
    del block
    with measured() as small:
        np.ones(2**20, np.uint8)

    assert large.peak_mib >= small.peak_mib + 32


def test_a_cost_is_recorded_also_when_the_body_fails() -> None:
    with pytest.raises(ZeroDivisionError), measured() as cost:
        1 / 0  # noqa: B018

    assert cost.seconds > 0
    assert cost.peak_mib > 1
