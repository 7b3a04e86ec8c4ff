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

    name: str = Field(description="The experiment's name.")
    variant: str = Field(description="The variant that this unit got.")


class CandidateAnswer(BaseModel):
    """One candidate."""

    item_id: str = Field(description="The item's id.")
    rank: int = Field(ge=1, description="1 = best.")
    score: float = Field(description="Comparable within one list only; rounded to six decimals.")
    source: Source = Field(description="Why the item is in the list.")


class RecommendResponse(BaseModel):
    """A ranked list, best first."""

    request_id: str = Field(
        description="Also in the header X-Request-ID; send it with the events that the list leads to."
    )
    user_id: str | None = Field(description="As asked; null = none.")
    retriever: RetrieverAnswer
    experiment: ExperimentAnswer | None = Field(description="The experiment that decided; null = none did.")
    items: list[CandidateAnswer] = Field(description="Best first; never null.")
    exact: bool | None = Field(description="gr: the list is provably what an unbounded beam would have found.")
    unknown_items: list[str] = Field(description="Ids of the history that the bundle does not hold.")
    bundle: str = Field(description="Version of the bundle that answered.")
    took_ms: float = Field(description="Time from the request's headers to its answer, in milliseconds.")


class ValueRanks(BaseModel):
    """Catalogue-percentile ranks, 0 to 1, the components of the item value."""

    popularity: float = Field(description="Of the logarithm of interactions.")
    rating: float = Field(description="Of the lower bound of the star rating.")
    brand: float = Field(description="Of the number of items that carry the brand.")


class ItemAnswer(BaseModel):
    """One item of the catalogue; null where the catalogue says nothing."""

    item_id: str = Field(description="The item's id.")
    title: str | None = Field(description="Its title.")
    brand: str | None = Field(description="Its brand, as the catalogue writes it.")
    price: float | None = Field(description="In the catalogue's currency.")
    categories: list[list[str]] = Field(description="Paths from the widest category to the narrowest.")
    available: bool = Field(description="Whether it may be sold now: the catalogue under the operators' overrides.")
    rating_avg: float | None = Field(description="Mean star rating.")
    rating_count: int | None = Field(description="Number of ratings.")
    popularity: int | None = Field(description="Interactions of the item in the data that the bundle was built from.")
    value: ValueRanks | None = Field(description="Components of the item value; null = the bundle has none.")


class ItemPage(BaseModel):
    """Items, most popular first."""

    items: list[ItemAnswer] = Field(description="Items of the page.")
    next_cursor: str | None = Field(description="Cursor of the next page; null = this is the last.")
    bundle: str = Field(description="Version of the bundle that answered.")


class NeighbourAnswer(BaseModel):
    """An item that followed (or came before) the one asked about."""

    item_id: str = Field(description="The other item's id.")
    title: str | None = Field(description="Its title; null = none.")
    count: int = Field(description="How often it followed.")
    weight: float = Field(description="log(1 + count) over the greatest of the item it follows.")
    hop: Literal[1] = Field(default=1, description="Steps from the item asked about.")


class NeighboursAnswer(BaseModel):
    """The transition graph around one item."""

    item_id: str = Field(description="The item asked about.")
    neighbours: list[NeighbourAnswer] = Field(description="Items that followed it, most often first.")
    incoming: list[NeighbourAnswer] = Field(description="Items that it followed, most often first.")
    ring_sizes: list[int] | None = Field(description="Number of items first reached in 1, 2 and 3 steps.")
    bundle: str = Field(description="Version of the bundle that answered.")


class HealthAnswer(BaseModel):
    """The process answers."""

    status: Literal["ok"] = Field(description="Always `ok`.")


class ReadyAnswer(BaseModel):
    """A bundle is loaded and warm."""

    status: Literal["ready"] = Field(description="Always `ready`.")
    bundle: str = Field(description="Version that is served.")
    n_items: int = Field(description="Size of the catalogue.")
    retrievers: list[RetrieverName] = Field(description="Who can be asked.")


class FieldProblem(BaseModel):
    """One bad field."""

    detail: str = Field(description="What is wrong with it.")
    pointer: str | None = Field(default=None, description="JSON pointer into the body, in URI fragment form.")
    parameter: str | None = Field(default=None, description="Name of a query or path parameter.")


class Problem(BaseModel):
    """RFC 9457 problem details."""

    type: str = Field(description="`urn:shortlist:problem:` and the kind of problem.")
    title: str = Field(description="The status in words.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="What is wrong with this request, and what to do.")
    request_id: str = Field(description="Of the request, for the operator's log.")
    errors: list[FieldProblem] = Field(default=[], description="Every bad field.")
    reason: FallbackReason | None = Field(default=None, description="Of a 503: what is missing.")
