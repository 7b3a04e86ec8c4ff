"""Job `filters`: brands, categories and prices as codes and numbers, for filters and for the value of a brand."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from models.bundle import layout
from offline.jobs.base import Context, Facts, Job

NONE = -1


def coded(names: Iterable[str]) -> tuple[list[str], npt.NDArray[np.int32]]:
    """Distinct names in the order of their bytes and the code of each name; -1 for an empty one.

    >>> names, codes = coded(["OPI", "", "Essie", "OPI"])
    >>> names, codes.tolist()
    (['Essie', 'OPI'], [1, -1, 0, 1])
    """
    listed = list(names)
    distinct = sorted(set(listed) - {""}, key=str.encode)
    code = {name: number for number, name in enumerate(distinct)}
    return distinct, np.array([code.get(name, NONE) for name in listed], np.int32)


def trimmed_brands(items: pa.Table) -> list[str]:
    """One brand an item, compared as trimmed text; "" = none."""
    return [(brand or "").strip() for brand in items["brand"].to_pylist()]


def _levels(paths: list[list[str]] | None) -> list[str]:
    return sorted({level for path in paths or [] for level in path}, key=str.encode)


def _write_brands(context: Context, items: pa.Table) -> int:
    names, codes = coded(trimmed_brands(items))
    context.writer.add_array(layout.BRAND_CODES, codes)
    context.writer.add_table(layout.BRANDS, pa.table({"brand": pa.array(names, pa.string())}))
    return len(names)


def _write_categories(context: Context, items: pa.Table) -> int:
    paths = items["categories"].to_pylist()
    levels = [_levels(one) for one in paths]
    names, codes = coded(level for one in levels for level in one)
    offsets = np.concatenate(([0], np.cumsum([len(one) for one in levels]))).astype(np.int64)
    code = {name: number for number, name in enumerate(names)}
    leaves = [code[one[0][-1]] if one else NONE for one in paths]
    context.writer.add_array(layout.CATEGORY_OFFSETS, offsets)
    context.writer.add_array(layout.CATEGORY_CODES, codes)
    context.writer.add_array(layout.LEAF_CODES, np.array(leaves, np.int32))
    context.writer.add_table(layout.CATEGORIES, pa.table({"category": pa.array(names, pa.string())}))
    return len(names)


def run(context: Context) -> Facts:
    """Write the arrays that filters look into."""
    items = context.items()
    prices = items["price"].to_numpy().astype(np.float64)
    context.writer.add_array(layout.PRICES, prices)
    return {
        "brands": _write_brands(context, items),
        "categories": _write_categories(context, items),
        "priced": int(np.isfinite(prices).sum()),
    }


JOB = Job(
    "filters",
    "brands, categories, prices",
    run,
    writes=(
        layout.BRAND_CODES,
        layout.BRANDS,
        layout.PRICES,
        layout.CATEGORY_OFFSETS,
        layout.CATEGORY_CODES,
        layout.CATEGORIES,
        layout.LEAF_CODES,
    ),
    after=("items",),
)
