"""TGH by lookup equals TGH by the book, whatever is stored, and gives the lists that can be read off by eye."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.bundle.reader import Bundle
from models.filters import eligible
from models.registry import open_retriever
from models.retrieval import Candidates, Eligible, Query, Retriever
from models.rings import RingConfig
from models.words import Order, RetrieverName, Source
from tests import shop as shops
from tests.models import tgh_by_hand
from tests.shop import Shop
from tests.strategies import queries

SEEDS = (1, 2, 3)
DEPTHS = ((1, 1, 1), (4, 3, 2), (256, 256, 128))


@pytest.fixture(scope="module", params=[(seed, depth) for seed in SEEDS for depth in DEPTHS[: 1 + seed]])
def stored(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Shop, Bundle]:
    """Random shops whose rings are stored to different depths."""
    seed, depth = request.param
    shop = shops.odd_shop(seed, n_items=12 * seed, rings=RingConfig(depth=depth, block=7))
    return shop, shops.build(tmp_path_factory.mktemp("rings"), shop)


@pytest.fixture(scope="module", params=[RetrieverName.TGH_1, RetrieverName.TGH_2])
def asked(request: pytest.FixtureRequest, stored: tuple[Shop, Bundle]) -> tuple[Shop, Retriever]:
    """Both retrievers over each of these shops."""
    return stored[0], open_retriever(stored[1], request.param)


@settings(max_examples=40)
@given(data=st.data())
def test_a_list_equals_the_one_computed_by_the_book(asked: tuple[Shop, Retriever], data: st.DataObject) -> None:
    shop, retriever = asked
    query = data.draw(queries(shop.n_items).filter(lambda one: len(one.history) > 0))
    found, wanted = retriever.retrieve(query), tgh_by_hand.tgh(shop, retriever.name, query)
    chosen = [item for item, _ in wanted]
    fill = tgh_by_hand.backfill(shop, query, chosen) if query.fill else []
    assert found.items.tolist() == [*chosen, *fill]
    assert found.scores[: len(chosen)].tolist() == [score for _, score in wanted]


def ask(bundle: Bundle, name: RetrieverName, history: str, k: int, *, order: Order, seen: bool = False) -> Candidates:
    items = bundle.ids.indices(list(history))
    blocked = np.empty(0, np.int32) if seen else items
    return open_retriever(bundle, name).retrieve(Query(items, k, eligible(10, None, blocked), order))


def letters(bundle: Bundle, found: Candidates) -> str:
    return "".join(bundle.ids.strings(found.items))


def test_tgh_1_gives_the_rings_of_the_last_item_then_its_text_neighbours_then_popular_items(
    plain_bundle: Bundle,
) -> None:
    found = ask(plain_bundle, RetrieverName.TGH_1, "a", 10, order=Order.RING)
    assert letters(plain_bundle, found) == "bcdefghij"
    assert found.source_names() == [
        *[Source.HOP1] * 3,
        *[Source.HOP2] * 2,
        *[Source.HOP3] * 2,
        *[Source.BACKFILL] * 2,
    ]


def test_the_score_of_a_first_ring_item_is_its_cosine_plus_half_its_edge_weight(plain_bundle: Bundle) -> None:
    found = ask(plain_bundle, RetrieverName.TGH_1, "a", 4, order=Order.SCORE)
    assert letters(plain_bundle, found) == "bcde"
    expected = [np.cos(np.deg2rad(1)) + 0.5, np.cos(np.deg2rad(3)) + 0.341303, np.cos(np.deg2rad(6)) + 0.215338]
    assert found.scores[:3] == pytest.approx(expected, abs=1e-5)
    assert found.scores[3] == pytest.approx(np.cos(np.deg2rad(10)), abs=1e-6)


def test_in_ring_order_made_up_items_come_before_the_ring_s_own(tmp_path: Path) -> None:
    edges = (*((0, item, 1) for item in range(1, 10)), (1, 10, 1))
    shop = Shop(
        tuple("abcdefghijkl"),
        shops.at_angles(0, *range(1, 10), 5, 90),
        edges,
        np.arange(1, 13, dtype=np.int64),
        np.zeros(12, np.int32),
    )
    bundle = shops.build(tmp_path, shop)
    query = Query(bundle.ids.indices(["a"]), 10, eligible(12, None, bundle.ids.indices(["a"])), Order.RING)
    found = open_retriever(bundle, RetrieverName.TGH_1).retrieve(query)
    assert letters(bundle, found) == "bcdefgh" + "ik" + "j"
    by_score = open_retriever(bundle, RetrieverName.TGH_1).retrieve(replace(query, order=Order.SCORE))
    assert letters(bundle, by_score) == "bcdefghijk"


def test_tgh_2_leaves_out_of_the_second_anchor_what_the_first_chose(plain_bundle: Bundle) -> None:
    found = ask(plain_bundle, RetrieverName.TGH_2, "ba", 10, order=Order.RING, seen=True)
    assert letters(plain_bundle, found)[:6] == "bcdef" + "g"
    assert found.source_names()[:6] == [*[Source.HOP1] * 3, *[Source.HOP2] * 2, Source.HOP2]


def test_an_only_item_gets_the_budgets_of_both_anchors_of_tgh_2(plain_bundle: Bundle) -> None:
    one = ask(plain_bundle, RetrieverName.TGH_2, "a", 5, order=Order.RING)
    assert letters(plain_bundle, one) == "bcdef"
    two = ask(plain_bundle, RetrieverName.TGH_2, "ia", 5, order=Order.RING)
    assert letters(plain_bundle, two)[:4] == "bcde"


def test_items_that_may_not_be_returned_leave_before_budgets_count(plain_bundle: Bundle) -> None:
    history = plain_bundle.ids.indices(["a"])
    query = Query(history, 3, eligible(10, None, plain_bundle.ids.indices(list("abc"))), Order.RING)
    found = open_retriever(plain_bundle, RetrieverName.TGH_1).retrieve(query)
    assert letters(plain_bundle, found) == "def"


def test_a_ring_whose_stored_head_may_not_be_returned_gives_its_next_items(tmp_path: Path) -> None:
    """Ring 2 of a is {g, h, i}, of which two are stored; it must not be made up from ring 1, which kept f aside."""
    shop = Shop(
        tuple("abcdefghi"),
        shops.at_angles(*range(9)),
        (*((0, item, 1) for item in range(1, 6)), *((1, item, 1) for item in range(6, 9))),
        np.arange(1, 10, dtype=np.int64),
        np.zeros(9, np.int32),
        RingConfig(depth=(8, 2, 2)),
    )
    bundle = shops.build(tmp_path, shop)
    query = Query(bundle.ids.indices(["a"]), 5, eligible(9, None, bundle.ids.indices(list("agh"))), Order.RING)
    assert letters(bundle, open_retriever(bundle, RetrieverName.TGH_1).retrieve(query)) == "bcdei"


@pytest.mark.parametrize("name", [RetrieverName.TGH_1, RetrieverName.TGH_2, RetrieverName.POPULAR])
def test_a_filter_that_keeps_nothing_leaves_no_list(plain_bundle: Bundle, name: RetrieverName) -> None:
    history = plain_bundle.ids.indices(["a"])
    nothing = Eligible(10, np.zeros(10, np.bool_), few=np.empty(0, np.int32))
    assert len(open_retriever(plain_bundle, name).retrieve(Query(history, 5, nothing)).items) == 0


def test_an_item_that_followed_itself_is_in_its_own_first_ring(one_item_bundle: Bundle) -> None:
    query = Query(np.zeros(1, np.int32), 3, eligible(1, None, np.empty(0, np.int32)))
    found = open_retriever(one_item_bundle, RetrieverName.TGH_1).retrieve(query)
    assert found.items.tolist() == [0]
    assert found.source_names() == [Source.HOP1]
    assert found.scores.tolist() == [1.5]
