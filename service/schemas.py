"""What `POST /recommend` takes. Unknown fields are refused; numbers and flags are never guessed from strings."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from models.words import Order

MAX_ID_BYTES = 256
MAX_K = 500
MAX_HISTORY = 200
"""A longer history counts with its newest items."""
MAX_EXCLUDED = 5_000
MAX_FILTER_WORDS = 100
MAX_POOL = 10_000
LONGEST_CHARACTER = 4
"""UTF-8 bytes of one character at most."""


def _fits(value: str) -> str:
    if len(value) * LONGEST_CHARACTER > MAX_ID_BYTES and len(value.encode()) > MAX_ID_BYTES:
        raise PydanticCustomError(
            "id_too_long", "id should have at most {limit} bytes of UTF-8", {"limit": MAX_ID_BYTES}
        )
    return value


Id = Annotated[str, StringConstraints(min_length=1, max_length=MAX_ID_BYTES), AfterValidator(_fits)]
"""1 to 256 bytes of UTF-8."""
Word = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
Flag = Annotated[bool, Strict()]
Whole = Annotated[int, Strict()]
Number = Annotated[float, Strict(), Field(allow_inf_nan=False)]
Price = Annotated[Number, Field(ge=0)]
Weight = Annotated[Number, Field(ge=0)]


class RetrieverChoice(StrEnum):
    """A retriever, or `auto`: whoever the running experiment names, else the configured default."""

    AUTO = "auto"
    TGH_1 = "tgh-1"
    TGH_2 = "tgh-2"
    DR = "dr"
    DR_PRIOR = "dr-prior"
    GR = "gr"
    FUSED = "fused"
    SEM_NN = "sem-nn"
    ID_LAST = "id-last"
    ID_SEM = "id+sem"
    POPULAR = "popular"


class Strictly(BaseModel):
    """Base of request bodies."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PriceRange(Strictly):
    """Both ends count; an item without a price matches no range."""

    gte: Price | None = Field(default=None, description="Lowest price.")
    lte: Price | None = Field(default=None, description="Highest price.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.gte is not None and self.lte is not None and self.gte > self.lte:
            raise PydanticCustomError("empty_range", "gte should not be greater than lte")
        return self


class FilterFields(Strictly):
    """Which items may be returned; all rules must hold, any value of a list will do."""

    brand: Annotated[list[Word], Field(fail_fast=True)] = Field(
        default=[], max_length=MAX_FILTER_WORDS, description="Brands, compared as trimmed text; empty = any."
    )
    category: Annotated[list[Word], Field(fail_fast=True)] = Field(
        default=[], max_length=MAX_FILTER_WORDS, description="Names of categories at any level; empty = any."
    )
    price: PriceRange | None = Field(default=None, description="Range of prices.")


class Weights(Strictly):
    """Weights of the item value's components; normalised to sum 1; one that is left out is 0."""

    popularity: Weight = Field(default=0.0, description="Weight of the popularity rank.")
    rating: Weight = Field(default=0.0, description="Weight of the rating rank.")
    brand: Weight = Field(default=0.0, description="Weight of the brand footprint rank.")

    @model_validator(mode="after")
    def _some(self) -> Self:
        if max(self.popularity, self.rating, self.brand) <= 0:
            raise PydanticCustomError("all_zero", "at least one weight should be greater than 0")
        return self

    def normalised(self) -> tuple[float, float, float]:
        """The weights, sum 1; scaled by the greatest first so that neither tiny nor huge ones over- or underflow.

        >>> Weights(popularity=1, brand=3).normalised()
        (0.25, 0.0, 0.75)
        """
        greatest = max(self.popularity, self.rating, self.brand)
        scaled = (self.popularity / greatest, self.rating / greatest, self.brand / greatest)
        total = sum(scaled)
        return scaled[0] / total, scaled[1] / total, scaled[2] / total


class ValueFields(Strictly):
    """The value prior of `dr-prior` and `fused`."""

    alpha: Number = Field(default=0.5, ge=0, le=1, description="Weight of the value against the similarity.")
    weights: Weights | None = Field(default=None, description="Weights of the components; absent = 0.25, 0.25, 0.5.")
    pool: Whole = Field(default=200, ge=1, le=MAX_POOL, description="Candidates that are re-ranked, at least k.")


class RecommendRequest(Strictly):
    """One request for candidates; every field is optional."""

    user_id: Id | None = Field(default=None, description="Whose stored history counts when `history` is absent.")
    session_id: Id | None = Field(default=None, description="Unit of an experiment when there is no user.")
    scenario: Id | None = Field(default=None, description="Where the list is shown; experiments may ask for it.")
    history: Annotated[list[Id], Field(fail_fast=True)] | None = Field(
        default=None,
        description="Item ids, oldest first; the newest 200 count. Absent = the stored history of the user.",
    )
    k: Whole = Field(default=50, ge=1, le=MAX_K, description="Number of candidates.")
    retriever: RetrieverChoice = Field(default=RetrieverChoice.AUTO, description="Who should answer.")
    exclude: Annotated[list[Id], Field(fail_fast=True)] = Field(
        default=[], max_length=MAX_EXCLUDED, description="Item ids that must not be returned."
    )
    exclude_seen: Flag = Field(default=True, description="Leave out the items of the history.")
    filter: FilterFields | None = Field(default=None, description="Rules that every returned item satisfies.")
    value: ValueFields | None = Field(default=None, description="Parameters of the value prior.")
    order: Order = Field(default=Order.SCORE, description="Order of a tgh list.")
    beam: Whole | None = Field(default=None, ge=1, le=MAX_K, description="Beam width of gr; absent = max(50, k).")
    variant: Id | None = Field(default=None, description="Variant to force, for checks of a running experiment.")
    deadline_ms: Number | None = Field(
        default=None,
        ge=1,
        le=60_000,
        description="Time the answer may take, in milliseconds; absent = the configured one.",
    )
    fallback: Flag = Field(default=True, description="false = a 503 instead of another retriever's list.")
