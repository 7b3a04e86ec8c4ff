"""`.npy` files: written at once, or block by block when their length is not known beforehand."""

from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from models.bundle.schema import refuse


def write_array(path: Path, array: npt.NDArray[Any]) -> None:
    """Write a whole array as `.npy`; unlike `numpy.save` it passes on why the system refused.

    Raises:
        BundleError: the array holds Python objects.
        OSError: the disk refuses.
    """
    if array.dtype.hasobject:
        raise refuse(f"array {path.stem}", f"dtype {array.dtype}", "numbers, no Python objects")
    plain = np.ascontiguousarray(array).reshape(array.shape)
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(plain))
        file.write(plain.data)


class ArrayStream:
    """One-dimensional array that grows at its end; a context manager.

    numpy pads the header so that the length can be corrected in place once it is known.

    Args:
        path: the file, replaced where it exists.
        dtype: type of the values.
    """

    def __init__(self, path: Path, dtype: npt.DTypeLike) -> None:
        self.dtype, self.length = np.dtype(dtype), 0
        self._file = path.open("wb")
        self._write_header()
        self._start = self._file.tell()

    def _write_header(self) -> None:
        facts = {"descr": self.dtype.str, "fortran_order": False, "shape": (self.length,)}
        np.lib.format.write_array_header_1_0(self._file, facts)

    def append(self, values: npt.NDArray[Any]) -> None:
        """Write values [any length] of the stream's type at the end.

        Raises:
            BundleError: another type or more than one dimension.
            OSError: the disk refuses.
        """
        if values.dtype != self.dtype or values.ndim != 1:
            raise refuse(self._file.name, f"{values.dtype} {values.shape}", f"{self.dtype}, one dimension")
        self._file.write(np.ascontiguousarray(values).data)
        self.length += len(values)

    def close(self) -> None:
        """Correct the header and close the file."""
        if self._file.closed:
            return
        with self._file:
            self._file.seek(0)
            self._write_header()
            if self._file.tell() != self._start:
                raise RuntimeError("numpy wrote a header of another length")

    def __enter__(self) -> Self:
        """The stream itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self.close()
