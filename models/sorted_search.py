"""Where a value belongs in a sorted stretch of an array: the step that kernels take everywhere."""

from typing import Any

import numpy.typing as npt

from models.kernels import inlined


@inlined
def lower_bound(values: npt.NDArray[Any], low: int, high: int, value: int) -> int:
    """First place of low:high whose entry is at least `value`, `high` if there is none.

    >>> import numpy as np
    >>> [int(lower_bound(np.array([9, 2, 4, 4, 7]), 1, 5, value)) for value in (1, 4, 5, 8)]
    [1, 2, 4, 5]
    """
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low
