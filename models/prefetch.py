"""Asking for memory before it is needed, so that a kernel that reads rows in no order works while they arrive."""

from typing import Any

import numpy.typing as npt
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from models.kernels import inlined

LINE = 64
"""Bytes that arrive together."""
FOR_READING, KEEP, DATA = 0, 3, 1
ROWS_AHEAD, ROW_BYTES = 16, 256
"""Embeddings asked for before they are multiplied; the rest of a wider one follows by itself. Kernels ask in their own
loops: a function that does it for them made ring lists a third slower."""


@intrinsic  # type: ignore[untyped-decorator]
def _prefetch(_context: Any, array: Any, _row: Any, _skipped: Any) -> Any:
    """See https://llvm.org/docs/LangRef.html#llvm-prefetch-intrinsic."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows = make_array(signature.args[0])(context, builder, arguments[0])
        stride = builder.extract_value(rows.strides, 0)
        first = builder.bitcast(rows.data, ir.IntType(8).as_pointer())
        address = builder.gep(first, [builder.add(builder.mul(arguments[1], stride), arguments[2])])
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
        call = builder.module.declare_intrinsic("llvm.prefetch", [address.type], kind)
        builder.call(call, [address, number(FOR_READING), number(KEEP), number(DATA)])
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp), generate


@inlined
def prefetch(array: npt.NDArray[Any], row: int, n_bytes: int) -> None:
    """Ask for the first bytes of a row of an array. No effect but on time; a row that does not exist may be named."""
    for skipped in range(0, n_bytes, LINE):
        _prefetch(array, row, skipped)
