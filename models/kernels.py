"""Compilation of array kernels to machine code, with types kept for the type checker.

Kernels release the interpreter lock, are compiled at first use and kept on disk. Each is compiled once per combination
of argument types, so callers pass read-only arrays where a memory-mapped one may come.
"""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba
import numpy.typing as npt

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile with strict floating-point arithmetic."""
    return cast(Callable[P, R], numba.njit(nogil=True, cache=True)(function))


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile into each caller: handing arrays to a function costs more than a few lines of work do."""
    return cast(Callable[P, R], numba.njit(nogil=True, cache=True, inline="always")(function))


def compiled_sum(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a sum whose terms may be added in any order, and fused with their products."""
    fast = {"reassoc", "contract", "nsz"}
    return cast(Callable[P, R], numba.njit(nogil=True, cache=True, fastmath=fast)(function))


def compiled_greatest(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a search for the greatest of numbers, none of which is NaN, in any order."""
    return cast(Callable[P, R], numba.njit(nogil=True, cache=True, fastmath={"nnan", "nsz"})(function))


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A view that cannot be written, as memory-mapped arrays are."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view
