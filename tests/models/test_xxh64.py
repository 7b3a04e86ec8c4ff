"""The kernel's hash is the library's, so tables written with one are read with the other."""

import numpy as np
import xxhash
from hypothesis import example, given
from hypothesis import strategies as st

from models.xxh64 import xxh64


@given(text=st.binary(max_size=120), before=st.integers(0, 9), behind=st.integers(0, 9))
@example(text=bytes(range(200)), before=3, behind=3)
def test_a_stretch_of_bytes_has_the_hash_of_the_library(text: bytes, before: int, behind: int) -> None:
    data = np.frombuffer(b"\xff" * before + text + b"\xff" * behind + b"-", np.uint8)
    assert int(xxh64(data, before, before + len(text))) == xxhash.xxh64_intdigest(text)
