"""Compilation of array kernels, with types kept for the type checker."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """The function as machine code that releases the interpreter lock; compiled at first use and kept on disk."""
    return cast(Callable[P, R], numba.njit(nogil=True, cache=True)(function))
