"""What the request path asks of the rest of the service; each may be absent, and then its rule of DESIGN.md holds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from models.retrieval import Candidates, Query, ValueParams
from models.words import FallbackReason, Order, RetrieverName
from service.item_rows import ItemRows
from service.schemas import RecommendRequest


class StageError(Exception):
    """A stage is down, late or full; the next one of the chain answers.

    Args:
        reason: what the response and the counters say.
    """

    def __init__(self, reason: FallbackReason) -> None:
        super().__init__(reason.value)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Assignment:
    """What an experiment decided for a request; None leaves what the request or the default says.

    Attributes:
        experiment: its name.
        variant: the assigned variant.
        retriever: who should answer.
        value: parameters of the value prior.
        order: order of a tgh list.
        beam: beam width of gr.
        bundle: version of a second bundle that the variant is served from; None = the current one.
        unit: to whom the variant sticks, `user:...` or `session:...`.
        salt: what the buckets were drawn with.
        share: expected share of units with this variant.
        forced: the caller chose the variant.
    """

    experiment: str
    variant: str
    retriever: RetrieverName
    value: ValueParams | None = None
    order: Order | None = None
    beam: int | None = None
    bundle: str | None = None
    unit: str | None = None
    salt: str = ""
    share: float = 1.0
    forced: bool = False


class HistoryStore(Protocol):
    """Where users' histories are kept."""

    async def read(self, user_id: str, *, deadline: float) -> Sequence[str]:
        """Item ids, oldest first; empty for an unknown user.

        Args:
            user_id: whose.
            deadline: when the answer is of no use any more, on the clock of `time.monotonic`, in seconds.

        Raises:
            StageError: the store is down or late.
        """
        ...


class Router(Protocol):
    """The running experiments."""

    def assign(self, request: RecommendRequest) -> Assignment | None:
        """What the running experiment decides for the request; None = no experiment takes it."""
        ...


class Generator(Protocol):
    """The worker that decodes semantic IDs."""

    async def retrieve(self, bundle: str, query: Query, *, deadline: float) -> tuple[Candidates, Mapping[str, float]]:
        """The k best items, and milliseconds by stage (`queue`, `encode`, `search`) for Server-Timing.

        Args:
            bundle: version of the bundle whose item indices the query speaks.
            query: the query.
            deadline: on the clock of `time.monotonic`, in seconds.

        Raises:
            StageError: the worker is down, late, full, or holds another bundle.
        """
        ...


class StockMask(Protocol):
    """What may be sold now, over the items of one bundle."""

    @property
    def mask(self) -> npt.NDArray[np.bool_] | None:
        """bool [n_items], never written into once it was given out; None while everything may be sold."""
        ...


@dataclass(slots=True)
class Served:
    """One answer to `/recommend`, as exposures, metrics and the response see it.

    Attributes:
        bundle: version.
        assigned: who was to answer.
        served: who did.
        reason: why these differ, None = they do not.
        candidates: the list.
        rows: writes the list.
        unknown: ids of the history that the bundle lacks.
        assignment: the experiment's decision.
        timings: milliseconds by stage.
    """

    bundle: str
    assigned: RetrieverName
    served: RetrieverName
    reason: FallbackReason | None
    candidates: Candidates
    rows: ItemRows
    unknown: list[str]
    assignment: Assignment | None
    timings: dict[str, float] = field(default_factory=dict)


class ExposureSink(Protocol):
    """Where it is written down what was shown."""

    def record(self, request_id: str, request: RecommendRequest, served: Served) -> None:
        """Take note; never waits, never raises."""
        ...
