import numba
import numpy as np
import pytest

from models.prefetch import LINE, prefetch


def _read(array: np.ndarray[tuple[int, ...], np.dtype[np.float32]], row: int) -> float:
    prefetch(array, row, 2 * LINE)
    return float(array[0, 0])


@pytest.mark.parametrize("row", [0, 3, -1, 2**40])
def test_asking_ahead_changes_nothing_and_may_name_rows_that_are_not_there(row: int) -> None:
    array = np.arange(128, dtype=np.float32).reshape(4, 32)

    assert numba.njit(_read)(array, row) == 0.0
    np.testing.assert_array_equal(array, np.arange(128).reshape(4, 32))


def test_asking_ahead_is_compiled_to_the_machines_own_instruction() -> None:
    compiled = numba.njit(_read)
    compiled(np.zeros((4, 32), np.float32), 1)
    code = next(iter(compiled.inspect_llvm().values()))

    assert code.count("call void @llvm.prefetch") >= 2
