"""Products of 8-bit vectors with a fixed 8-bit matrix, by ONNX Runtime: several times as many a second as in float32.

The graph is one node, written here byte by byte: the package that writes such files belongs to training.
"""

from functools import cache

import numpy as np
import numpy.typing as npt

from models.query_encoder import open_session

Codes = npt.NDArray[np.int8]
Products = npt.NDArray[np.int32]
ZERO = 128
"""The byte that stands for 0 in a query."""
LARGEST = 127
"""Codes are -LARGEST to LARGEST."""

_UINT8, _INT8, _INT32 = 2, 3, 6


class IntegerProduct:
    """Inner products of queries with the rows of a matrix.

    Args:
        codes: int8 [n, d], each -127 to 127.
        threads: of ONNX Runtime.
    """

    def __init__(self, codes: Codes, threads: int) -> None:
        self._session = open_session(_model(codes), threads)

    def __call__(self, queries: npt.NDArray[np.uint8]) -> Products:
        """int32 [B, n] from uint8 [B, d], codes plus `ZERO`."""
        products: Products = self._session.run(None, {"queries": queries})[0]
        return products


@cache
def is_exact() -> bool:
    """Whether this processor's kernel sums without saturating, as those for AVX2 alone do not."""
    codes = np.full((64, 64), LARGEST, np.int8)
    codes[1::2] = -LARGEST
    queries = np.full((3, 64), ZERO + LARGEST, np.uint8)
    wanted = (queries.astype(np.int32) - ZERO) @ codes.T.astype(np.int32)
    return all(np.array_equal(IntegerProduct(codes, 1)(queries[:n]), wanted[:n]) for n in (1, 3))


def _varint(number: int) -> bytes:
    """
    >>> _varint(300).hex()
    'ac02'
    """
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + _varint(rest) if rest else bytes([low])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes | str) -> bytes:
    """A field of bytes, text or a message."""
    encoded = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(encoded)) + encoded


def _head(field: int, length: int) -> bytes:
    """What stands before a field of so many bytes."""
    return _varint(field << 3 | 2) + _varint(length)


def _tensor(name: str, kind: int, shape: tuple[int, ...], length: int) -> bytes:
    """A tensor without its bytes, which follow."""
    dims = b"".join(_number(1, size) for size in shape)
    return dims + _number(2, kind) + _bytes(8, name) + _head(9, length)


def _value(name: str, kind: int, shape: tuple[str | int, ...]) -> bytes:
    dims = b"".join(_bytes(1, _bytes(2, size) if isinstance(size, str) else _number(1, size)) for size in shape)
    return _bytes(1, name) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, dims)))


def _model(codes: Codes) -> bytes:
    """ModelProto: `products = MatMulInteger(queries, codes.T, ZERO)`; field numbers are those of onnx.proto.

    The codes, which may be large, are copied twice: once turned, once into their place.
    """
    n, d = codes.shape
    inputs = b"".join(_bytes(1, name) for name in ("queries", "codes", "zero"))
    node = inputs + _bytes(2, "products") + _bytes(4, "MatMulInteger")
    turned = np.ascontiguousarray(codes.T)
    tensor = _tensor("codes", _INT8, (d, n), turned.nbytes)
    before = _bytes(1, node) + _bytes(2, "product") + _head(5, len(tensor) + turned.nbytes) + tensor
    after = (
        _bytes(5, _tensor("zero", _UINT8, (), 1) + bytes([ZERO]))
        + _bytes(11, _value("queries", _UINT8, ("requests", d)))
        + _bytes(12, _value("products", _INT32, ("requests", n)))
    )
    graph = _head(7, len(before) + turned.nbytes + len(after))
    return b"".join([_number(1, 9), _bytes(8, _number(2, 17)), graph, before, turned.data, after])
