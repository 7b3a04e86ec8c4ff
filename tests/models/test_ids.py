"""Ids are opaque bytes: nothing is trimmed, folded or read as a number, and the order is that of the bytes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import InputError
from models.ids import A_FEW, ItemIds
from tests.strategies import id_lists, item_ids


@given(ids=id_lists)
def test_an_index_is_the_order_of_an_id_s_utf8_bytes(ids: list[str]) -> None:
    known = ItemIds.from_strings(ids)
    ordered = sorted(ids, key=str.encode)
    assert [known.id(index) for index in range(len(known))] == ordered
    assert known.indices(ordered).tolist() == list(range(len(ids)))
    assert known.strings(np.arange(len(ids), dtype=np.int32)) == ordered


@given(ids=id_lists, others=st.lists(item_ids))
def test_an_id_that_the_catalogue_lacks_is_unknown(ids: list[str], others: list[str]) -> None:
    known = ItemIds.from_strings(ids)
    assert [known.index(other) >= 0 for other in others] == [other in ids for other in others]


@given(ids=id_lists, others=st.lists(st.text(max_size=300)))
def test_many_ids_are_found_at_once_as_one_by_one(ids: list[str], others: list[str]) -> None:
    known = ItemIds.from_strings(ids)
    asked = [*others, *ids, *others, *ids[:3]]
    one_by_one = [known.index(one) for one in asked]
    assert known.indices(asked).tolist() == known.find(asked) == one_by_one
    assert known.find(asked[:A_FEW]) == known.find(asked[: A_FEW + 1])[:A_FEW] == one_by_one[:A_FEW]


def test_ids_that_look_alike_are_different_items() -> None:
    alike = ["007", "7", "7.0", " 7", "7 ", "é", "e\u0301", "A", "a", "a\x00", "a\n"]
    known = ItemIds.from_strings(alike)
    assert sorted(known.index(one) for one in alike) == list(range(len(alike)))


@pytest.mark.parametrize("text", ["\ud800", "", "x" * 100_000])
def test_text_that_no_id_can_be_is_unknown(text: str) -> None:
    assert ItemIds.from_strings(["x"]).index(text) == -1
    assert ItemIds.from_strings(["x"]).indices([text, "x", text]).tolist() == [-1, 0, -1]


def test_no_ids_are_found_in_no_catalogue() -> None:
    assert ItemIds.from_strings([]).indices([]).tolist() == []
    assert ItemIds.from_strings([]).indices(["a"]).tolist() == [-1]


@pytest.mark.parametrize(
    ("ids", "found"), [(["a", "b", "a"], "'a' twice"), (["a", ""], "empty"), (["\ud800"], "UTF-8")]
)
def test_ids_that_cannot_be_told_apart_or_stored_are_refused(ids: list[str], found: str) -> None:
    with pytest.raises(InputError, match=found):
        ItemIds.from_strings(ids)


def test_a_large_catalogue_is_found_again_in_full() -> None:
    ids = [f"item-{number}" for number in range(50_000)]
    known = ItemIds.from_strings(ids)
    assert known.strings(known.indices(ids)) == ids
    assert len(known.slots) <= 4 * len(ids)


def test_an_index_outside_the_catalogue_is_an_error() -> None:
    known = ItemIds.from_strings(["a"])
    for index in (-1, 1):
        with pytest.raises(IndexError, match=f"item index {index} of 1 items"):
            known.id(index)
