"""How each array and table of a bundle must look, and the check that all of them speak of the same catalogue."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from models.bundle import layout as name
from models.bundle.manifest import REBUILD, FileEntry
from models.errors import BundleError


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """Shape and type of one array.

    Attributes:
        dtype: as numpy writes it.
        per_item: rows beyond the catalogue size (0: one row an item, 1: offsets), None: not one an item.
        ndim: number of dimensions.
        width: size of the second dimension, None = free.
    """

    dtype: str
    per_item: int | None = 0
    ndim: int = 1
    width: int | None = None


ARRAYS: Mapping[str, ArraySpec] = {
    name.ID_BYTES: ArraySpec("|u1", None),
    name.ID_OFFSETS: ArraySpec("<i8", 1),
    name.ID_SLOTS: ArraySpec("<i4", None),
    name.EMBEDDINGS: ArraySpec("<f4", ndim=2),
    name.TEXT_NEIGHBOURS: ArraySpec("<i4", ndim=2),
    name.GRAPH_OFFSETS: ArraySpec("<i8", 1),
    name.GRAPH_TARGETS: ArraySpec("<i4", None),
    name.GRAPH_COUNTS: ArraySpec("<i4", None),
    name.GRAPH_WEIGHTS: ArraySpec("<f4", None),
    name.RING_OFFSETS: ArraySpec("<i8", 1),
    name.RING_ENDS: ArraySpec("<i4", ndim=2, width=3),
    name.RING_SIZES: ArraySpec("<i4", ndim=2, width=3),
    name.RING_ITEMS: ArraySpec("<i4", None),
    name.RING_SCORES: ArraySpec("<f4", None),
    name.POPULARITY: ArraySpec("<i8"),
    name.POPULAR_ORDER: ArraySpec("<i4"),
    name.VALUE_COMPONENTS: ArraySpec("<f4", ndim=2, width=3),
    name.BRAND_CODES: ArraySpec("<i4"),
    name.PRICES: ArraySpec("<f8"),
    name.AVAILABLE: ArraySpec("|b1"),
    name.CATEGORY_OFFSETS: ArraySpec("<i8", 1),
    name.CATEGORY_CODES: ArraySpec("<i4", None),
    name.LEAF_CODES: ArraySpec("<i4"),
    name.CODES: ArraySpec("<i4", ndim=2),
    name.TRIE_STARTS: ArraySpec("<i4", None),
    name.TRIE_CODES: ArraySpec("<i4", None),
    name.TRIE_ITEMS: ArraySpec("<i4"),
    name.ITEM_VECTORS: ArraySpec("<f4", ndim=2),
    name.QUERY_INPUTS: ArraySpec("<f4", ndim=3),
    name.ID_VECTORS: ArraySpec("<f4", ndim=2),
}

RAGGED: Mapping[str, tuple[str, ...]] = {
    name.ID_OFFSETS: (name.ID_BYTES,),
    name.GRAPH_OFFSETS: (name.GRAPH_TARGETS, name.GRAPH_COUNTS, name.GRAPH_WEIGHTS),
    name.RING_OFFSETS: (name.RING_ITEMS, name.RING_SCORES),
    name.CATEGORY_OFFSETS: (name.CATEGORY_CODES,),
}
"""Offsets and the arrays that they cut into rows."""

TOGETHER: tuple[frozenset[str], ...] = (
    frozenset({name.ID_BYTES, name.ID_OFFSETS, name.ID_SLOTS}),
    frozenset({name.GRAPH_OFFSETS, name.GRAPH_TARGETS, name.GRAPH_COUNTS, name.GRAPH_WEIGHTS}),
    frozenset({name.RING_OFFSETS, name.RING_ENDS, name.RING_SIZES, name.RING_ITEMS, name.RING_SCORES}),
    frozenset({name.CATEGORY_OFFSETS, name.CATEGORY_CODES}),
    frozenset({name.POPULARITY, name.POPULAR_ORDER}),
    frozenset({name.CODES, name.TRIE_STARTS, name.TRIE_CODES, name.TRIE_ITEMS}),
)
"""Arrays of which a bundle holds all or none."""

ITEM_INDICES: tuple[str, ...] = (
    name.TEXT_NEIGHBOURS,
    name.GRAPH_TARGETS,
    name.RING_ITEMS,
    name.POPULAR_ORDER,
    name.ID_SLOTS,
    name.TRIE_ITEMS,
)
"""Arrays of item indices: -1 or 0 up to the catalogue size."""

REQUIRED: tuple[str, ...] = (name.ID_BYTES, name.ID_OFFSETS, name.ID_SLOTS)


def refuse(where: str, found: str, expected: str) -> BundleError:
    """A refusal with the usual remedy."""
    return BundleError(where, found=found, expected=expected, remedy=REBUILD)


def check_array(array_name: str, dtype: str, shape: tuple[int, ...], n_items: int) -> None:
    """One array against its specification; names that this release does not know pass.

    Raises:
        BundleError: type, dimensions or number of rows differ.
    """
    spec = ARRAYS.get(array_name)
    if spec is None:
        return
    where = f"array {array_name}"
    if dtype != spec.dtype:
        raise refuse(where, f"dtype {dtype}", f"dtype {spec.dtype}")
    if len(shape) != spec.ndim or (spec.width is not None and shape[1] != spec.width):
        raise refuse(where, f"shape {shape}", f"{spec.ndim} dimensions, second {spec.width or 'free'}")
    if spec.per_item is not None and shape[0] != n_items + spec.per_item:
        raise refuse(where, f"{shape[0]} rows", f"{n_items + spec.per_item} rows for {n_items} items")


def check_groups(present: frozenset[str]) -> None:
    """Arrays that only make sense together are all there.

    Raises:
        BundleError: one of them is absent.
    """
    for group in (*TOGETHER, frozenset(REQUIRED)):
        missing = sorted(group - present)
        if missing and (group & present or group == frozenset(REQUIRED)):
            raise refuse("bundle", f"no {', '.join(missing)}", f"all of {', '.join(sorted(group))}")


def check_offsets(present: frozenset[str], load: Callable[[str], npt.NDArray[np.generic]]) -> None:
    """Offsets start at 0, never decrease and end where the arrays that they cut end.

    Raises:
        BundleError: they do not.
    """
    for offsets_name, cut in RAGGED.items():
        if offsets_name not in present:
            continue
        offsets = load(offsets_name)
        if offsets[0] != 0 or bool(np.any(np.diff(offsets) < 0)):
            raise refuse(f"array {offsets_name}", "offsets that decrease or start late", "0 first, never decreasing")
        for values_name in cut:
            if len(load(values_name)) != offsets[-1]:
                found = f"{len(load(values_name))} values"
                raise refuse(f"array {values_name}", found, f"{offsets[-1]}, the end of {offsets_name}")


def check_indices(present: frozenset[str], load: Callable[[str], npt.NDArray[np.generic]], n_items: int) -> None:
    """Arrays of item indices point into the catalogue.

    Raises:
        BundleError: one does not.
    """
    for array_name in ITEM_INDICES:
        if array_name not in present or not load(array_name).size:
            continue
        low, high = int(load(array_name).min()), int(load(array_name).max())
        if low < -1 or high >= n_items:
            raise refuse(f"array {array_name}", f"indices {low} to {high}", f"-1 to {n_items - 1}")


def check_rows(file_name: str, entry: FileEntry, n_items: int) -> None:
    """The table of items has one row an item.

    Raises:
        BundleError: it has not.
    """
    if file_name == f"{name.ITEMS}.parquet" and entry.rows != n_items:
        raise refuse("table items", f"{entry.rows} rows", f"{n_items} rows")


def faiss_items(path: Path) -> int:
    """Number of vectors of a FAISS index, from its header (type, width, count), without loading it."""
    with path.open("rb") as file:
        header = file.read(16)
    return int.from_bytes(header[8:16], "little")


def check_index(path: Path, n_items: int) -> None:
    """The FAISS index holds one vector an item.

    Raises:
        BundleError: it does not.
    """
    if (found := faiss_items(path)) != n_items:
        raise refuse(str(path), f"{found} vectors", f"{n_items} vectors")
