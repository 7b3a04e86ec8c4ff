"""What every retriever promises, present and future ones: see `models.retrieval.Retriever`."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.bundle.reader import Bundle
from models.filters import eligible
from models.registry import available, missing, open_retriever
from models.retrieval import Candidates, Items, Query, Retriever
from models.words import Order, RetrieverName, Source
from tests.shop import odd_shop
from tests.strategies import queries

ODD_ITEMS = odd_shop(1).n_items
quick = settings(max_examples=60)


@pytest.fixture(scope="module", params=list(RetrieverName))
def name(request: pytest.FixtureRequest, odd_bundle: Bundle) -> RetrieverName:
    """Each retriever in turn; one that the fixtures cannot hold yet is skipped."""
    lacking = missing(odd_bundle, request.param)
    if lacking:
        pytest.skip(f"{request.param} needs {', '.join(lacking)}: add them in tests/shop.py")
    return request.param


@pytest.fixture(scope="module")
def odd(odd_bundle: Bundle, name: RetrieverName) -> Retriever:
    """The retriever over the random catalogue."""
    return open_retriever(odd_bundle, name)


@pytest.fixture(scope="module")
def twins(twin_bundle: Bundle, name: RetrieverName) -> Retriever:
    """The retriever over items alike."""
    return open_retriever(twin_bundle, name)


@pytest.fixture(scope="module")
def lonely(one_item_bundle: Bundle, name: RetrieverName) -> Retriever:
    """The retriever over one item."""
    return open_retriever(one_item_bundle, name)


def items(*indices: int) -> Items:
    return np.array(indices, np.int32)


def own(found: Candidates) -> int:
    """How many items come before the backfill."""
    return sum(source is not Source.BACKFILL for source in found.source_names())


def same(left: Candidates, right: Candidates, name: RetrieverName) -> bool:
    """Equal lists; scores of GR may differ by 1e-4 under batching."""
    slack = 1e-4 if name is RetrieverName.GR else 0.0
    return (
        left.items.tolist() == right.items.tolist()
        and left.sources.tolist() == right.sources.tolist()
        and bool(np.all(np.abs(left.scores - right.scores) <= slack))
    )


def test_it_answers_to_its_name(odd: Retriever, name: RetrieverName, odd_bundle: Bundle) -> None:
    assert odd.name is name
    assert name in available(odd_bundle)


@quick
@given(query=queries(ODD_ITEMS, fill=True))
def test_a_list_is_as_long_as_k_and_the_eligible_items_allow(odd: Retriever, query: Query) -> None:
    assert len(odd.retrieve(query).items) == min(query.k, query.eligible.count())


@quick
@given(query=queries(ODD_ITEMS))
def test_no_item_comes_twice_and_none_that_may_not_be_returned(odd: Retriever, query: Query) -> None:
    found = odd.retrieve(query).items
    assert len(set(found.tolist())) == len(found) <= query.k
    assert query.eligible.allows(found).all()


@quick
@given(query=queries(ODD_ITEMS))
def test_types_are_those_of_the_contract_and_scores_are_finite(odd: Retriever, query: Query) -> None:
    found = odd.retrieve(query)
    assert (found.items.dtype, found.scores.dtype, found.sources.dtype) == (np.int32, np.float32, np.uint8)
    assert len(found.items) == len(found.scores) == len(found.sources)
    assert np.isfinite(found.scores).all()


@quick
@given(query=queries(ODD_ITEMS))
def test_backfill_comes_last_and_its_scores_never_increase(odd: Retriever, query: Query) -> None:
    found = odd.retrieve(query)
    assert all(source is Source.BACKFILL for source in found.source_names()[own(found) :])
    assert (np.diff(found.scores[max(0, own(found) - 1) :]) <= 0).all()


@quick
@given(query=queries(ODD_ITEMS))
def test_in_score_order_scores_never_increase_and_ties_are_in_index_order(odd: Retriever, query: Query) -> None:
    if query.order is not Order.SCORE:
        return
    found = odd.retrieve(query)
    scores, ranked = found.scores[: own(found)], found.items[: own(found)]
    assert (np.diff(scores) <= 0).all()
    assert (np.diff(ranked)[np.diff(scores) == 0] > 0).all()


@quick
@given(query=queries(ODD_ITEMS, fill=True))
def test_without_filling_the_list_is_the_part_before_the_backfill(odd: Retriever, query: Query) -> None:
    unfilled = Query(query.history, query.k, query.eligible, query.order, query.value, query.beam, fill=False)
    full, short = odd.retrieve(query), odd.retrieve(unfilled)
    if len(query.history):
        assert short.items.tolist() == full.items[: own(full)].tolist()
        assert Source.BACKFILL not in short.source_names()


@settings(max_examples=20)
@given(asked=st.lists(queries(ODD_ITEMS), max_size=6))
def test_a_batch_gives_the_lists_of_its_single_queries(odd: Retriever, name: RetrieverName, asked: list[Query]) -> None:
    together = odd.retrieve_batch(asked)
    assert len(together) == len(asked)
    assert all(same(one, odd.retrieve(query), name) for one, query in zip(together, asked, strict=True))


@quick
@given(query=queries(ODD_ITEMS))
def test_asking_twice_gives_the_same_list_and_changes_nothing_that_was_handed_in(
    odd: Retriever, name: RetrieverName, query: Query
) -> None:
    mask = None if query.eligible.mask is None else query.eligible.mask.copy()
    history, blocked = query.history.copy(), query.eligible.blocked.copy()
    assert same(odd.retrieve(query), odd.retrieve(query), name)
    assert np.array_equal(query.history, history)
    assert np.array_equal(query.eligible.blocked, blocked)
    assert mask is None or np.array_equal(query.eligible.mask, mask)


def test_a_user_without_history_gets_popular_items_that_say_so(odd: Retriever) -> None:
    found = odd.retrieve(Query(items(), 9, eligible(ODD_ITEMS, None, items(4))))
    popularity = odd_shop(1).popularity
    best = [int(item) for item in np.argsort(-popularity, kind="stable") if item != 4][:9]
    assert found.items.tolist() == best
    assert set(found.source_names()) == {Source.POPULAR}


def test_repeats_in_a_history_and_items_without_text_or_edges_are_served(odd: Retriever) -> None:
    shop = odd_shop(1)
    textless = np.flatnonzero(~shop.embeddings.any(axis=1))
    edgeless = np.setdiff1d(np.arange(ODD_ITEMS), [source for source, _, _ in shop.edges])
    for last in (int(textless[0]), int(edgeless[0])):
        history = items(last, 3, 3, last, last)
        assert len(odd.retrieve(Query(history, 10, eligible(ODD_ITEMS, None, history))).items) == 10


def test_nothing_eligible_gives_an_empty_list(odd: Retriever) -> None:
    nothing = np.zeros(ODD_ITEMS, np.bool_)
    for history in (items(), items(2, 5)):
        assert len(odd.retrieve(Query(history, 5, eligible(ODD_ITEMS, nothing, items()))).items) == 0


def test_a_catalogue_of_one_item_is_served_until_it_is_seen(lonely: Retriever) -> None:
    assert lonely.retrieve(Query(items(), 5, eligible(1, None, items()))).items.tolist() == [0]
    assert lonely.retrieve(Query(items(0, 0), 5, eligible(1, None, items()))).items.tolist() == [0]
    assert lonely.retrieve(Query(items(0, 0), 5, eligible(1, None, items(0)))).items.tolist() == []


def test_items_alike_come_in_index_order(twins: Retriever) -> None:
    history = items(3)
    found = twins.retrieve(Query(history, 4, eligible(8, None, history)))
    scores = found.scores[: own(found)]
    assert (np.diff(found.items[: own(found)])[np.diff(scores) == 0] > 0).all()
    assert same(found, twins.retrieve(Query(history, 4, eligible(8, None, history))), twins.name)


def test_what_is_out_of_stock_and_what_is_excluded_are_left_out_together(odd: Retriever) -> None:
    stock = np.ones(ODD_ITEMS, np.bool_)
    stock[::2] = False
    found = odd.retrieve(Query(items(1, 2), ODD_ITEMS, eligible(ODD_ITEMS, stock, items(1, 7, 9))))
    assert sorted(found.items.tolist()) == [item for item in range(1, ODD_ITEMS, 2) if item not in (1, 7, 9)]
