"""The 64-bit xxHash of a stretch of bytes, for kernels; equals `xxhash.xxh64_intdigest` with seed 0.

Source: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
"""

import numpy as np
import numpy.typing as npt

from models.kernels import compiled, inlined

Bytes = npt.NDArray[np.uint8]

P1, P2, P3, P4, P5 = (
    np.uint64(prime)
    for prime in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
)
"""Primes of the algorithm."""
MINUS_P1 = np.uint64(2**64 - 0x9E3779B185EBCA87)
STRIPE = 32
"""Bytes that longer texts are read by."""


@inlined
def _turn(value: np.uint64, bits: int) -> np.uint64:
    """Rotated to the left."""
    return (value << np.uint64(bits)) | (value >> np.uint64(64 - bits))


@inlined
def _word(data: Bytes, at: int, n_bytes: int) -> np.uint64:
    """Little-endian."""
    word = np.uint64(0)
    for place in range(n_bytes):
        word |= np.uint64(data[at + place]) << np.uint64(8 * place)
    return word


@inlined
def _round(lane: np.uint64, word: np.uint64) -> np.uint64:
    return _turn(lane + word * P2, 31) * P1


@inlined
def _merged(value: np.uint64, lane: np.uint64) -> np.uint64:
    return (value ^ _round(np.uint64(0), lane)) * P1 + P4


@compiled
def _stripes(data: Bytes, begin: int, end: int) -> np.uint64:
    """Of the whole stripes of a text that has one."""
    first, second, third, fourth = P1 + P2, P2, np.uint64(0), MINUS_P1
    for at in range(begin, end - STRIPE + 1, STRIPE):
        first = _round(first, _word(data, at, 8))
        second = _round(second, _word(data, at + 8, 8))
        third = _round(third, _word(data, at + 16, 8))
        fourth = _round(fourth, _word(data, at + 24, 8))
    value = _turn(first, 1) + _turn(second, 7) + _turn(third, 12) + _turn(fourth, 18)
    return _merged(_merged(_merged(_merged(value, first), second), third), fourth)


@compiled
def xxh64(data: Bytes, begin: int, end: int) -> np.uint64:
    """Of data[begin:end].

    >>> text = np.frombuffer(b"abc", np.uint8)
    >>> hex(xxh64(text, 0, 3)), hex(xxh64(text, 3, 3))
    ('0x44bc2cf5ad770999', '0xef46db3751d8e999')
    """
    length, at = end - begin, begin
    value = P5
    if length >= STRIPE:
        value = _stripes(data, begin, end)
        at += length - length % STRIPE
    value += np.uint64(length)
    while at + 8 <= end:
        value = _turn(value ^ _round(np.uint64(0), _word(data, at, 8)), 27) * P1 + P4
        at += 8
    if at + 4 <= end:
        value = _turn(value ^ (_word(data, at, 4) * P1), 23) * P2 + P3
        at += 4
    while at < end:
        value = _turn(value ^ (np.uint64(data[at]) * P5), 11) * P1
        at += 1
    value = (value ^ (value >> np.uint64(33))) * P2
    value = (value ^ (value >> np.uint64(29))) * P3
    return value ^ (value >> np.uint64(32))
