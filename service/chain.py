"""Degrading: who answers instead of whom, within one deadline."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from models.retrieval import Candidates, Query
from models.words import FallbackReason, RetrieverName
from service.engine import Engine
from service.ports import Generator, StageError
from service.problems import unavailable
from service.recheck import in_stock
from service.search_pool import SearchPool

R = RetrieverName
CHAINS: Mapping[RetrieverName, tuple[RetrieverName, ...]] = {
    R.GR: (R.GR, R.DR_PRIOR, R.TGH_2, R.POPULAR),
    R.DR: (R.DR, R.TGH_2, R.POPULAR),
    R.DR_PRIOR: (R.DR_PRIOR, R.TGH_2, R.POPULAR),
    R.FUSED: (R.FUSED, R.TGH_2, R.POPULAR),
    R.TGH_1: (R.TGH_1, R.POPULAR),
    R.TGH_2: (R.TGH_2, R.POPULAR),
    R.SEM_NN: (R.SEM_NN, R.POPULAR),
    R.ID_LAST: (R.ID_LAST, R.POPULAR),
    R.ID_SEM: (R.ID_SEM, R.POPULAR),
    R.POPULAR: (R.POPULAR,),
}
"""Who answers, in turn; the last one always can."""

LOOKUPS = frozenset({R.TGH_1, R.TGH_2, R.POPULAR})
"""Retrievers that take microseconds, so a thread would cost more than they do."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What one request asks of the chain.

    Attributes:
        assigned: who is to answer.
        query: the query.
        deadline: on the clock of `time.monotonic`, in seconds.
        fallback: whether another may answer.
        reason: why the history is not known, where that is a fault of ours.
    """

    assigned: RetrieverName
    query: Query
    deadline: float
    fallback: bool = True
    reason: FallbackReason | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """Who answered and why.

    Attributes:
        served: who did.
        reason: why not the assigned one, None = it was.
        candidates: the list.
        timings: milliseconds by stage.
    """

    served: RetrieverName
    reason: FallbackReason | None
    candidates: Candidates
    timings: dict[str, float] = field(default_factory=dict)


class Chain:
    """Asks one retriever after another until one answers.

    Args:
        pool: threads for searches.
        generator: the worker, None = there is none.
    """

    def __init__(self, pool: SearchPool, generator: Generator | None = None) -> None:
        self.pool, self.generator = pool, generator

    async def answer(self, engine: Engine, plan: Plan) -> Outcome:
        """The first list that can be had in time.

        Raises:
            ProblemError: 503, the assigned retriever cannot answer and `fallback` is false.
        """
        if not len(plan.query.history) and plan.assigned is not R.POPULAR:
            return self._without_history(engine, plan)
        reason: FallbackReason | None = None
        for name in CHAINS[plan.assigned]:
            try:
                candidates, timings = await self._stage(engine, name, plan)
            except StageError as error:
                reason = reason or error.reason
                self._allow(plan, reason)
            else:
                return Outcome(name, reason, candidates, timings)
        raise unavailable("No retriever could answer.", reason=reason or FallbackReason.BUNDLE)

    def _without_history(self, engine: Engine, plan: Plan) -> Outcome:
        """A new user is no fault, so popular items answer even where no fallback is wanted; a lost history is one."""
        if plan.reason is not None:
            self._allow(plan, plan.reason)
        candidates, timings = _lookup(engine, R.POPULAR, plan.query)
        return Outcome(R.POPULAR, plan.reason or FallbackReason.NO_HISTORY, candidates, timings)

    @staticmethod
    def _allow(plan: Plan, reason: FallbackReason) -> None:
        if not plan.fallback:
            raise unavailable(f"{plan.assigned} cannot answer, and no fallback was wanted.", reason=reason)

    async def _stage(self, engine: Engine, name: RetrieverName, plan: Plan) -> tuple[Candidates, dict[str, float]]:
        if name in engine.remote:
            return await self._remote(engine, plan)
        if name not in engine.retrievers:
            raise StageError(FallbackReason.BUNDLE)
        if name is not R.POPULAR and plan.deadline <= time.monotonic():
            raise StageError(FallbackReason.DEADLINE)
        if name in LOOKUPS:
            return _lookup(engine, name, plan.query)
        started = time.perf_counter()
        candidates = await self.pool.run(engine, name, plan.query, plan.deadline)
        return candidates, _timings(candidates, (time.perf_counter() - started) * 1e3)

    async def _remote(self, engine: Engine, plan: Plan) -> tuple[Candidates, dict[str, float]]:
        if self.generator is None:
            raise StageError(FallbackReason.WORKER)
        candidates, timings = await self.generator.retrieve(engine.version, plan.query, deadline=plan.deadline)
        return in_stock(engine, plan.query, candidates), dict(timings)


def _timings(candidates: Candidates, took_ms: float) -> dict[str, float]:
    """By stage where the retriever tells of them; the rest is the wait for a thread."""
    if candidates.stages is None:
        return {"search": took_ms}
    return {"queue": max(0.0, took_ms - sum(candidates.stages.values())), **candidates.stages}


def _lookup(engine: Engine, name: RetrieverName, query: Query) -> tuple[Candidates, dict[str, float]]:
    started = time.perf_counter()
    candidates = engine.retrievers[name].retrieve(query)
    return candidates, {"search": (time.perf_counter() - started) * 1e3}
