"""What the service answers. Fields that a newer service adds are ignored."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict


class Answer(BaseModel):
    """Base of all answers."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class ListedItem(Answer):
    """One candidate.

    Attributes:
        item_id: opaque id.
        rank: 1 is the best.
        score: comparable within one list only.
        source: why it is in the list; `fallback` = from the client's own list.
    """

    item_id: str
    rank: int
    score: float
    source: str


class Route(Answer):
    """Who was to answer, who did, and why these differ."""

    assigned: str
    served: str
    fallback_reason: str | None = None


class Experiment(Answer):
    """The running experiment and the variant of this unit."""

    name: str
    variant: str


class Degraded(Answer):
    """Why the client answered itself: the reason and status of the `ServiceError` it hides."""

    reason: str
    status: int


class Recommendation(Answer):
    """The answer of `recommend`; `degraded` is set when it is the client's fallback list."""

    items: list[ListedItem]
    request_id: str | None = None
    user_id: str | None = None
    retriever: Route | None = None
    experiment: Experiment | None = None
    exact: bool | None = None
    unknown_items: list[str] = []
    bundle: str | None = None
    took_ms: float | None = None
    degraded: Degraded | None = None

    @property
    def item_ids(self) -> list[str]:
        """Ids of the items, best first."""
        return [item.item_id for item in self.items]


class Item(Answer):
    """What the catalogue says of an item."""

    item_id: str
    title: str | None = None
    brand: str | None = None
    price: float | None = None
    categories: list[list[str]] = []
    available: bool = True


class SearchPage(Answer):
    """A page of items; `next_cursor` is None on the last one."""

    items: list[Item]
    next_cursor: str | None = None


class SeenItem(Answer):
    """One entry of a user's history."""

    item_id: str
    timestamp: datetime | None = None
    event: str = "view"
