"""Searches that go together: the lists of each alone, and no one's fault is another's."""

import asyncio
import threading
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.registry import open_retriever
from models.retrieval import Candidates, Eligible, Query
from models.words import FallbackReason, RetrieverName
from service.engine import Engine, open_engine
from service.ports import StageError
from service.search_pool import GATHERED, SearchPool
from tests.neural_shop import add_neural
from tests.shop import build, odd_shop
from tests.strategies import queries

pytestmark = pytest.mark.anyio
R = RetrieverName
N_ITEMS = odd_shop(1).n_items
LATER_S = 30.0


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    one, root = odd_shop(1), tmp_path_factory.mktemp("trained")
    build(root, one, lambda writer, _: add_neural(writer, one.embeddings, one.popularity))
    return open_engine(root)


class Together:
    """Answers an item that the history names; refuses item 9 and, in a batch, all that come with it."""

    def __init__(self, name: RetrieverName = R.DR, at_once: int = 4) -> None:
        self.name, self.at_once = name, at_once
        self.batches: list[int] = []
        self.begun, self.go = threading.Event(), threading.Event()
        self.go.set()

    def retrieve(self, query: Query) -> Candidates:
        return self.retrieve_batch([query])[0]

    def retrieve_batch(self, asked: Sequence[Query]) -> list[Candidates]:
        self.begun.set()
        self.go.wait(LATER_S)
        self.batches.append(len(asked))
        return [self._one(query) for query in asked]

    @staticmethod
    def _one(query: Query) -> Candidates:
        if query.history[0] == 9:
            raise ValueError("nine")
        return Candidates(query.history[:1], np.ones(1, np.float32), np.zeros(1, np.uint8))


def serving(engine: Engine, together: Together) -> Engine:
    return replace(engine, retrievers={**engine.retrievers, together.name: together})


async def ask(pool: SearchPool, engine: Engine, item: int, seconds: float = LATER_S) -> int | Exception:
    query = Query(np.array([item], np.int32), 1, Eligible(N_ITEMS))
    try:
        return int((await pool.run(engine, R.DR, query, time.monotonic() + seconds)).items[0])
    except (StageError, ValueError) as error:
        return error


async def test_what_comes_in_one_turn_goes_together_and_each_gets_its_own_list(engine: Engine) -> None:
    together = Together(at_once=8)
    pool = SearchPool(threads=1, limit=64)
    found = await asyncio.gather(*(ask(pool, serving(engine, together), item) for item in range(8)))
    assert found == list(range(8))
    assert together.batches == [8]
    assert pool.admitted == 0


async def test_no_more_go_together_than_the_retriever_is_best_asked_at_once(engine: Engine) -> None:
    together = Together(at_once=3)
    pool = SearchPool(threads=1, limit=64)
    found = await asyncio.gather(*(ask(pool, serving(engine, together), item) for item in range(8)))
    assert (found, together.batches) == (list(range(8)), [3, 3, 2])


async def test_idle_threads_share_what_waits(engine: Engine) -> None:
    together = Together(at_once=8)
    pool = SearchPool(threads=2, limit=64)
    await asyncio.gather(*(ask(pool, serving(engine, together), item) for item in range(8)))
    assert sorted(together.batches) == [4, 4]


async def test_one_that_fails_fails_alone(engine: Engine) -> None:
    together = Together(at_once=8)
    pool = SearchPool(threads=1, limit=64)
    found = await asyncio.gather(*(ask(pool, serving(engine, together), item) for item in (1, 9, 3)))
    assert (found[0], found[2]) == (1, 3)
    assert isinstance(found[1], ValueError)
    assert pool.admitted == 0


async def test_one_whose_deadline_passes_does_not_hold_up_the_others_of_its_batch(engine: Engine) -> None:
    together = Together(at_once=8)
    together.go.clear()
    pool = SearchPool(threads=1, limit=64)
    others = [asyncio.ensure_future(ask(pool, serving(engine, together), item)) for item in (1, 2)]
    late = await ask(pool, serving(engine, together), 3, seconds=0.02)
    assert isinstance(late, StageError)
    assert late.reason is FallbackReason.DEADLINE
    together.go.set()
    assert await asyncio.gather(*others) == [1, 2]
    assert pool.admitted == 0


async def test_those_that_give_up_before_they_begin_are_not_searched_and_free_their_place(engine: Engine) -> None:
    together = Together(at_once=1)
    together.go.clear()
    pool = SearchPool(threads=1, limit=3)
    first = asyncio.ensure_future(ask(pool, serving(engine, together), 1))
    await asyncio.to_thread(together.begun.wait, LATER_S)
    late = await ask(pool, serving(engine, together), 2, seconds=0.02)
    gone = asyncio.ensure_future(ask(pool, serving(engine, together), 3))
    await asyncio.sleep(0)
    assert (isinstance(late, StageError), pool.admitted) == (True, 2)
    gone.cancel()
    await asyncio.wait([gone])
    assert pool.admitted == 1
    together.go.set()
    assert await first == 1
    assert together.batches == [1]


async def test_beyond_the_limit_they_are_refused_at_once(engine: Engine) -> None:
    together = Together()
    together.go.clear()
    pool = SearchPool(threads=1, limit=2)
    waiting = [asyncio.ensure_future(ask(pool, serving(engine, together), item)) for item in (1, 2)]
    await asyncio.sleep(0)
    refused = await ask(pool, serving(engine, together), 3)
    assert isinstance(refused, StageError)
    assert refused.reason is FallbackReason.FULL
    together.go.set()
    assert await asyncio.gather(*waiting) == [1, 2]


async def test_searches_of_different_retrievers_never_mix(engine: Engine) -> None:
    one, other = Together(at_once=8), Together(at_once=8)
    pool = SearchPool(threads=1, limit=64)
    sides = [serving(engine, one), serving(engine, other)]
    found = await asyncio.gather(*(ask(pool, sides[item % 2], item) for item in range(8)))
    assert (found, one.batches, other.batches) == (list(range(8)), [4], [4])


@given(st.data(), st.sampled_from([R.DR, R.DR_PRIOR, R.FUSED]), st.integers(1, GATHERED + 4), st.integers(1, 2))
@settings(max_examples=25, deadline=None)
def test_lists_are_those_that_each_query_has_alone(
    engine: Engine, data: st.DataObject, name: RetrieverName, n: int, threads: int
) -> None:
    asked = data.draw(st.lists(queries(N_ITEMS), min_size=n, max_size=n))
    pool = SearchPool(threads=threads, limit=64)

    async def all_at_once() -> list[Candidates]:
        deadline = time.monotonic() + LATER_S
        return await asyncio.gather(*(pool.run(engine, name, query, deadline) for query in asked))

    alone = open_retriever(engine.bundle, name)
    for found, query in zip(asyncio.run(all_at_once()), asked, strict=True):
        wanted = alone.retrieve(query)
        assert found.items.tolist() == wanted.items.tolist()
        assert found.scores.tolist() == wanted.scores.tolist()
        assert found.sources.tolist() == wanted.sources.tolist()
    pool.shutdown()
