"""The user's own item vectors: a Parquet table (item_id, embedding), or `.npy` beside a text file of ids."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from models.errors import InputError
from models.ids import ItemIds
from offline.encoders.base import Vectors, normalised
from offline.ingest.columns import ITEM_ID

EMBEDDING = "embedding"
REMEDY = "Give one vector of finite numbers an item, all of one length."


@dataclass(frozen=True, slots=True)
class OwnVectors:
    """Vectors read from a file, in item index order.

    Attributes:
        vectors: float32 [n_items, d], L2-normalised; a zero row where the file has no vector.
        without: items of the catalogue that the file lacks.
        unknown: vectors of items that the catalogue lacks; not used.
    """

    vectors: Vectors
    without: int
    unknown: int


def read_vectors(path: Path, ids: ItemIds) -> OwnVectors:
    """Read vectors and line them up with a catalogue.

    Raises:
        InputError: the file is malformed, repeats an id, holds NaN or infinity, or fits no item at all.
    """
    names, matrix = _read_npy(path) if path.suffix == ".npy" else _read_parquet(path)
    _check(path, names, matrix)
    place = ids.indices(names)
    known = place >= 0
    if not known.any():
        raise InputError(
            str(path), found="no id of this catalogue", expected="vectors of its items", remedy="Check the ids."
        )
    vectors = np.zeros((len(ids), matrix.shape[1]), np.float32)
    vectors[place[known]] = normalised(matrix[known])
    return OwnVectors(vectors, without=len(ids) - int(known.sum()), unknown=int((~known).sum()))


def _malformed(path: Path, found: str, expected: str) -> InputError:
    return InputError(str(path), found=found, expected=expected, remedy=REMEDY)


def _read_npy(path: Path) -> tuple[list[str], npt.NDArray[np.floating]]:
    beside = path.with_suffix(".txt")
    try:
        matrix = np.load(path, allow_pickle=False)
        names = beside.read_bytes().decode().removesuffix("\n").split("\n")
    except (OSError, ValueError) as error:
        raise _malformed(path, str(error), f"an array of numbers, and its ids in {beside.name}") from error
    if matrix.ndim != 2 or matrix.dtype.kind != "f" or len(matrix) != len(names):
        found = f"{matrix.dtype} {matrix.shape} and {len(names)} ids"
        raise _malformed(path, found, "floating-point numbers [items, width] and one id a row")
    return [name.removesuffix("\r") for name in names], matrix


def _read_parquet(path: Path) -> tuple[list[str], npt.NDArray[np.floating]]:
    try:
        table = pq.read_table(path, columns=[ITEM_ID, EMBEDDING])
    except (OSError, pa.ArrowException) as error:
        raise _malformed(path, str(error)[:200], f"a Parquet table ({ITEM_ID}, {EMBEDDING})") from error
    column = table[EMBEDDING].combine_chunks()
    if not pa.types.is_nested(column.type) or column.null_count or not len(column):
        raise _malformed(
            path, f"{column.null_count} missing of {len(column)} ({column.type})", "a list of numbers a row"
        )
    values = column.flatten()
    width = len(values) // len(column)
    if width == 0 or not pa.types.is_fixed_size_list(column.type):
        _check_widths(path, np.diff(column.offsets.to_numpy()))
    names = table[ITEM_ID].cast(pa.string()).to_pylist()
    return names, values.cast(pa.float32(), safe=False).to_numpy(zero_copy_only=False).reshape(-1, width)


def _check_widths(path: Path, widths: npt.NDArray[np.integer]) -> None:
    odd = np.flatnonzero(widths != widths[0])
    if len(odd) or widths[0] == 0:
        row = int(odd[0]) if len(odd) else 0
        raise _malformed(path, f"row {row + 1} with {widths[row]} numbers", f"{widths[0] or 'some'} as in row 1")


def _check(path: Path, names: list[str], matrix: npt.NDArray[np.floating]) -> None:
    odd = np.flatnonzero(~np.isfinite(matrix).all(1))
    if len(odd):
        raise _malformed(path, f"NaN or infinity in row {odd[0] + 1}", "finite numbers")
    seen: set[str] = set()
    for row, name in enumerate(names):
        if not name or name in seen:
            raise _malformed(path, f"id {name!r} in row {row + 1}", "ids, none of them empty or repeated")
        seen.add(name)
