"""Who answers instead of whom, and what is said about it."""

import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import anyio.lowlevel
import numpy as np
import pytest

from models.retrieval import Candidates, Eligible, Items, Query
from models.words import FallbackReason, RetrieverName
from service.chain import CHAINS, Chain, Outcome, Plan
from service.engine import Engine, open_engine
from service.ports import StageError
from service.problems import ProblemError
from service.search_pool import SearchPool

pytestmark = pytest.mark.anyio
R = RetrieverName
HISTORY: Items = np.array([3, 5], np.int32)


@pytest.fixture(scope="module")
def engine(bundles: Path) -> Engine:
    return open_engine(bundles)


class Scripted:
    """A retriever or a worker that does what it is told: answer, fail for a reason, or wait for an event."""

    def __init__(self, does: FallbackReason | threading.Event | None) -> None:
        self.does, self.asked = does, 0

    def retrieve_now(self) -> Candidates:
        self.asked += 1
        if isinstance(self.does, FallbackReason):
            raise StageError(self.does)
        if isinstance(self.does, threading.Event):
            self.does.wait(10)
        return Candidates(np.array([9], np.int32), np.ones(1, np.float32), np.zeros(1, np.uint8), exact=True)


class ScriptedSearch(Scripted):
    def retrieve(self, query: Query) -> Candidates:
        return self.retrieve_now()


class ScriptedWorker(Scripted):
    async def retrieve(self, bundle: str, query: Query, *, deadline: float) -> tuple[Candidates, Mapping[str, float]]:
        return self.retrieve_now(), {"queue": 1.0, "search": 2.0}


def plan(
    engine: Engine, assigned: RetrieverName, history: Items = HISTORY, seconds: float = 5.0, **more: object
) -> Plan:
    query = Query(history, 5, Eligible(engine.bundle.n_items))
    return replace(Plan(assigned, query, time.monotonic() + seconds), **more)  # type: ignore[arg-type]


def pool(limit: int = 8) -> SearchPool:
    return SearchPool(threads=2, limit=limit)


def with_retrievers(engine: Engine, **more: object) -> Engine:
    """The engine with further retrievers, named with `_` for `-`."""
    named = {R(name.replace("_", "-")): retriever for name, retriever in more.items()}
    return replace(engine, retrievers={**engine.retrievers, **named}, remote=frozenset({R.GR}))  # type: ignore[arg-type]


def test_every_retriever_has_a_chain_that_begins_with_it_and_ends_with_popular() -> None:
    assert set(CHAINS) == set(R)
    for name, chain in CHAINS.items():
        assert chain[0] is name
        assert chain[-1] is R.POPULAR
    assert CHAINS[R.GR] == (R.GR, R.DR_PRIOR, R.TGH_2, R.POPULAR)
    for name in (R.DR, R.DR_PRIOR, R.FUSED):
        assert CHAINS[name] == (name, R.TGH_2, R.POPULAR)


async def test_a_worker_that_answers_is_served_with_its_timings(engine: Engine) -> None:
    chain = Chain(pool(), ScriptedWorker(None))
    outcome = await chain.answer(with_retrievers(engine), plan(engine, R.GR))
    assert (outcome.served, outcome.reason, outcome.candidates.exact) == (R.GR, None, True)
    assert outcome.timings == {"queue": 1.0, "search": 2.0}


@pytest.mark.parametrize("reason", [FallbackReason.DEADLINE, FallbackReason.FULL, FallbackReason.WORKER])
async def test_a_worker_that_fails_is_replaced_by_dr_prior_and_the_reason_is_kept(
    engine: Engine, reason: FallbackReason
) -> None:
    chain, search = Chain(pool(), ScriptedWorker(reason)), ScriptedSearch(None)
    outcome = await chain.answer(with_retrievers(engine, dr_prior=search), plan(engine, R.GR))
    assert (outcome.served, outcome.reason, search.asked) == (R.DR_PRIOR, reason, 1)


async def test_the_first_reason_of_several_is_told(engine: Engine) -> None:
    chain = Chain(pool(), ScriptedWorker(FallbackReason.FULL))
    outcome = await chain.answer(with_retrievers(engine), plan(engine, R.GR))
    assert (outcome.served, outcome.reason) == (R.TGH_2, FallbackReason.FULL)


async def test_without_a_worker_gr_says_worker(engine: Engine) -> None:
    outcome = await Chain(pool()).answer(with_retrievers(engine), plan(engine, R.GR))
    assert (outcome.served, outcome.reason) == (R.TGH_2, FallbackReason.WORKER)


async def test_after_the_deadline_popular_still_answers(engine: Engine) -> None:
    outcome = await Chain(pool()).answer(engine, plan(engine, R.TGH_2, seconds=-1))
    assert (outcome.served, outcome.reason) == (R.POPULAR, FallbackReason.DEADLINE)
    assert len(outcome.candidates.items) == 5


async def test_searches_beyond_the_limit_are_refused_at_once_and_admitted_again_later(engine: Engine) -> None:
    release = threading.Event()
    slow = with_retrievers(engine, sem_nn=ScriptedSearch(release))
    chain = Chain(pool(limit=1))

    async def ask(seconds: float) -> Outcome:
        return await chain.answer(slow, plan(engine, R.SEM_NN, seconds=seconds))

    late = await ask(0.02)
    assert (late.served, late.reason) == (R.POPULAR, FallbackReason.DEADLINE)
    refused = await ask(5)
    assert (refused.served, refused.reason) == (R.POPULAR, FallbackReason.FULL)
    release.set()
    while (outcome := await ask(5)).reason is not None:
        assert outcome.reason is FallbackReason.FULL
        await anyio.lowlevel.checkpoint()
    assert outcome.served is R.SEM_NN


@pytest.mark.parametrize("assigned", [R.GR, R.DR, R.TGH_2, R.SEM_NN])
async def test_a_lost_history_is_answered_with_popular_items_and_its_reason(
    engine: Engine, assigned: RetrieverName
) -> None:
    empty = np.empty(0, np.int32)
    lost = plan(engine, assigned, empty, reason=FallbackReason.REDIS)
    outcome = await Chain(pool()).answer(engine, lost)
    assert (outcome.served, outcome.reason) == (R.POPULAR, FallbackReason.REDIS)
    with pytest.raises(ProblemError) as refused:
        await Chain(pool()).answer(engine, replace(lost, fallback=False))
    assert (refused.value.status, refused.value.reason) == (503, FallbackReason.REDIS)


@pytest.mark.parametrize("reason", [FallbackReason.DEADLINE, FallbackReason.FULL, FallbackReason.WORKER])
async def test_without_fallback_the_reason_becomes_a_503(engine: Engine, reason: FallbackReason) -> None:
    chain = Chain(pool(), ScriptedWorker(reason))
    with pytest.raises(ProblemError) as refused:
        await chain.answer(with_retrievers(engine), plan(engine, R.GR, fallback=False))
    assert (refused.value.status, refused.value.reason) == (503, reason)
    assert "retry-after" in dict(refused.value.headers or {})
