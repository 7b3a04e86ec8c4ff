"""From a filter to the items that match."""

import numpy as np
import pyarrow as pa
import pytest

from models.bundle import layout
from models.bundle.manifest import SplitInfo
from models.bundle.reader import Bundle
from models.bundle.writer import BundleWriter
from models.filters import CACHED_MASK_BYTES, Filter, FilterIndex, Kept, both, eligible, filter_mask
from models.ids import ItemIds
from tests.shop import add_ids


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """Items a to d: brands X, X, Y, none; prices 5, 20, unknown, 7.5; categories {A, B}, {B}, {}, {A}."""
    root = tmp_path_factory.mktemp("filters")
    with BundleWriter.create(root, split=SplitInfo(), config={}) as writer:
        add_ids(writer, ItemIds.from_strings("abcd"))
        writer.add_array(layout.BRAND_CODES, np.array([0, 0, 1, -1], np.int32))
        writer.add_table(layout.BRANDS, pa.table({"brand": ["X", "Y"]}))
        writer.add_array(layout.PRICES, np.array([5, 20, np.nan, 7.5]))
        writer.add_array(layout.CATEGORY_OFFSETS, np.array([0, 2, 3, 3, 4], np.int64))
        writer.add_array(layout.CATEGORY_CODES, np.array([0, 1, 1, 0], np.int32))
        writer.add_table(layout.CATEGORIES, pa.table({"category": ["A", "B"]}))
        writer.publish()
    return Bundle.open(root)


@pytest.mark.parametrize("few", [1, 2, 32])
@pytest.mark.parametrize(
    ("wanted", "matching"),
    [
        (Filter(brand=("X",)), "ab"),
        (Filter(brand=("X", "Y")), "abc"),
        (Filter(brand=(" Y ",)), "c"),
        (Filter(brand=("x", "unknown")), ""),
        (Filter(category=("A",)), "ad"),
        (Filter(category=("A", "B")), "abd"),
        (Filter(price_gte=5, price_lte=7.5), "ad"),
        (Filter(price_gte=6), "bd"),
        (Filter(price_lte=0), ""),
        (Filter(brand=("X",), category=("B",), price_lte=10), "a"),
        (Filter(brand=("Y", "X"), category=("A",)), "a"),
        (Filter(brand=("Y",), price_gte=0), ""),
    ],
)
def test_a_filter_keeps_the_items_that_meet_all_its_conditions(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch, wanted: Filter, matching: str, few: int
) -> None:
    monkeypatch.setattr("models.filters.FEW", few)
    mask = filter_mask(bundle, wanted)
    assert mask is not None
    assert "".join(bundle.ids.strings(np.flatnonzero(mask).astype(np.int32))) == matching


def test_an_empty_filter_needs_no_mask(bundle: Bundle) -> None:
    assert filter_mask(bundle, Filter()) is None


def test_a_bundle_without_a_field_has_no_item_that_meets_a_condition_on_it(plain_bundle: Bundle) -> None:
    for wanted in (Filter(category=("A",)), Filter(price_gte=0)):
        mask = filter_mask(plain_bundle, wanted)
        assert mask is not None
        assert not mask.any()


def test_masks_of_recent_filters_are_kept_and_cannot_be_written(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.filters.CACHED_MASK_BYTES", 2 * bundle.n_items)
    index = FilterIndex(bundle)
    first = index.mask(Filter(brand=("X",)))
    assert first is not None
    assert not first.flags.writeable
    assert index.mask(Filter(brand=("X",))) is first
    for price in range(3):
        index.mask(Filter(price_gte=price))
    again = index.mask(Filter(brand=("X",)))
    assert again is not first
    assert np.array_equal(again, first)
    assert CACHED_MASK_BYTES > 2**20


@pytest.mark.parametrize(
    ("wanted", "few"),
    [(Filter(brand=("X",)), "ab"), (Filter(brand=("none",)), ""), (Filter(category=("A", "B")), None)],
)
def test_a_filter_that_keeps_few_items_lists_them(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch, wanted: Filter, few: str | None
) -> None:
    monkeypatch.setattr("models.filters.FEW", 2)
    kept, stock = FilterIndex(bundle).kept(wanted), np.array([False, True, True, True])
    assert (None if kept.few is None else "".join(bundle.ids.strings(kept.few))) == few
    within = kept.within(stock)
    assert within.mask is not None
    assert (within.few is None) == (few is None)
    for each in (kept, within):
        assert each.few is None or each.few.tolist() == np.flatnonzero(each.mask).tolist()


def test_no_filter_keeps_what_is_in_stock(bundle: Bundle) -> None:
    stock = np.array([False, True, True, True])
    assert FilterIndex(bundle).kept(Filter()) == Kept(None, None)
    assert Kept().within(None) == Kept(None, None)
    assert Kept().within(stock) == Kept(stock, None)


def test_two_masks_allow_what_both_allow() -> None:
    left, right = np.array([True, True, False]), np.array([True, False, True])
    assert both(None, None) is None
    assert both(left, None) is left
    assert both(None, right) is right
    joined = both(left, right)
    assert joined is not None
    assert joined.tolist() == [True, False, False]


def test_blocked_items_come_in_any_order_with_repeats_and_unknown_ones() -> None:
    rule = eligible(5, None, np.array([3, -1, 0, 3], np.int32))
    assert rule.blocked.tolist() == [0, 3]
    assert rule.count() == 3
    assert rule.allows(np.arange(5, dtype=np.int32)).tolist() == [False, True, True, False, True]
