"""What the service answers, for the OpenAPI document; answers are written with orjson, not through these."""

from typing import Literal

from pydantic import BaseModel, Field

from models.words import FallbackReason, RetrieverName, Source


class RetrieverAnswer(BaseModel):
    """Who was to answer and who did."""

    assigned: RetrieverName
    served: RetrieverName
    fallback_reason: FallbackReason | None = Field(
        description="Why another than the assigned one answered; null = none."
    )


class ExperimentAnswer(BaseModel):
    """The experiment that decided, where one did."""

    name: str
    variant: str


class CandidateAnswer(BaseModel):
    """One candidate."""

    item_id: str
    rank: int = Field(ge=1)
    score: float = Field(description="Comparable within one list only; rounded to six decimals.")
    source: Source = Field(description="Why the item is in the list.")


class RecommendResponse(BaseModel):
    """A ranked list, best first."""

    request_id: str
    user_id: str | None
    retriever: RetrieverAnswer
    experiment: ExperimentAnswer | None
    items: list[CandidateAnswer]
    exact: bool | None = Field(description="gr: the list is provably what an unbounded beam would have found.")
    unknown_items: list[str] = Field(description="Ids of the history that the bundle does not hold.")
    bundle: str = Field(description="Version of the bundle that answered.")
    took_ms: float = Field(description="Time from the request's headers to its answer, in milliseconds.")


class ValueRanks(BaseModel):
    """Catalogue-percentile ranks, 0 to 1, the components of the item value."""

    popularity: float
    rating: float
    brand: float


class ItemAnswer(BaseModel):
    """One item of the catalogue; null where the catalogue says nothing."""

    item_id: str
    title: str | None
    brand: str | None
    price: float | None
    categories: list[list[str]]
    available: bool = Field(description="Whether it may be sold now: the catalogue under the operators' overrides.")
    rating_avg: float | None
    rating_count: int | None
    popularity: int | None = Field(description="Interactions of the item in the data that the bundle was built from.")
    value: ValueRanks | None


class ItemPage(BaseModel):
    """Items, most popular first."""

    items: list[ItemAnswer]
    next_cursor: str | None = Field(description="Cursor of the next page; null = this is the last.")
    bundle: str


class NeighbourAnswer(BaseModel):
    """An item that followed (or came before) the one asked about."""

    item_id: str
    title: str | None
    count: int = Field(description="How often it followed.")
    weight: float = Field(description="log(1 + count) over the greatest of the item it follows.")
    hop: Literal[1] = 1


class NeighboursAnswer(BaseModel):
    """The transition graph around one item."""

    item_id: str
    neighbours: list[NeighbourAnswer] = Field(description="Items that followed it, most often first.")
    incoming: list[NeighbourAnswer] = Field(description="Items that it followed, most often first.")
    ring_sizes: list[int] | None = Field(description="Number of items first reached in 1, 2 and 3 steps.")
    bundle: str


class HealthAnswer(BaseModel):
    """The process answers."""

    status: Literal["ok"]


class ReadyAnswer(BaseModel):
    """A bundle is loaded and warm."""

    status: Literal["ready"]
    bundle: str
    n_items: int
    retrievers: list[RetrieverName]


class FieldProblem(BaseModel):
    """One bad field."""

    detail: str
    pointer: str | None = Field(default=None, description="JSON pointer into the body, in URI fragment form.")
    parameter: str | None = Field(default=None, description="Name of a query or path parameter.")


class Problem(BaseModel):
    """RFC 9457 problem details."""

    type: str
    title: str
    status: int
    detail: str
    request_id: str
    errors: list[FieldProblem] = []
    reason: FallbackReason | None = None
