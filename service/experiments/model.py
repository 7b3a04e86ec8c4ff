"""An experiment as data, the same in the file, in the admin API and in Redis."""

from datetime import UTC, datetime
from typing import Annotated, Self

import orjson
from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from models.retrieval import ValueParams
from models.words import Order, RetrieverName
from service.schemas import Flag, Number, Whole

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}$")]
_DEFAULT_VALUE = ValueParams()


def _no_number(value: object) -> object:
    if isinstance(value, int | float):
        raise ValueError("should be ISO 8601 with offset")
    return value


Moment = Annotated[AwareDatetime, BeforeValidator(_no_number)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ValueWeights(_Strict):
    """Weights of the item value's components, normalised when used."""

    popularity: Number = Field(default=_DEFAULT_VALUE.weights[0], ge=0)
    rating: Number = Field(default=_DEFAULT_VALUE.weights[1], ge=0)
    brand: Number = Field(default=_DEFAULT_VALUE.weights[2], ge=0)

    @model_validator(mode="after")
    def _some(self) -> Self:
        if self.popularity + self.rating + self.brand <= 0:
            raise ValueError("at least one weight should be greater than 0")
        return self


class Variant(_Strict):
    """One arm: a retriever and its parameters."""

    name: Name = Field(description="Named in responses and exposures.")
    weight: Number = Field(default=1.0, ge=0, le=1e6, description="Share against the other variants.")
    retriever: RetrieverName = Field(description="Who answers.")
    alpha: Number | None = Field(default=None, ge=0, le=1, description="Weight of the value prior.")
    weights: ValueWeights | None = Field(default=None, description="Weights of the value's components.")
    pool: Whole | None = Field(default=None, ge=1, le=10_000, description="Candidates that are re-ranked.")
    order: Order | None = Field(default=None, description="Order of a tgh list.")
    beam: Whole | None = Field(default=None, ge=1, le=500, description="Beam width of gr.")
    bundle: str | None = Field(
        default=None,
        pattern=r"^[0-9]{8}T[0-9]{6}-[0-9a-f]{4}$",
        description="Version of a second bundle that this variant is served from; absent = the current one.",
    )

    def value(self) -> ValueParams | None:
        """Parameters of the value prior, None where the variant states none."""
        if self.alpha is None and self.weights is None and self.pool is None:
            return None
        stated = self.weights or ValueWeights()
        total = stated.popularity + stated.rating + stated.brand
        return ValueParams(
            alpha=_DEFAULT_VALUE.alpha if self.alpha is None else self.alpha,
            weights=(stated.popularity / total, stated.rating / total, stated.brand / total),
            pool=self.pool or _DEFAULT_VALUE.pool,
        )


class Experiment(_Strict):
    """Who takes part, and what they get."""

    name: Name
    salt: str = Field(min_length=1, max_length=128, description="Decides the buckets; new weights need a new one.")
    scenario: str | None = Field(
        default=None, min_length=1, max_length=256, description="Only requests of this scenario."
    )
    traffic: Number = Field(default=1.0, ge=0, le=1, description="Share of units that take part.")
    variants: tuple[Variant, ...] = Field(min_length=1, max_length=50)
    running: Flag = Field(default=False, description="Whether it decides requests now.")
    starts: Moment | None = Field(default=None, description="Not before this time.")
    stops: Moment | None = Field(default=None, description="Not from this time on.")

    @model_validator(mode="after")
    def _arms(self) -> Self:
        names = [variant.name for variant in self.variants]
        if len(set(names)) < len(names):
            raise ValueError("variants should have different names")
        if sum(variant.weight for variant in self.variants) <= 0:
            raise ValueError("at least one variant should have a weight greater than 0")
        return self

    def active(self, now: datetime) -> bool:
        """True while it decides requests."""
        return self.running and (self.starts is None or self.starts <= now) and (self.stops is None or now < self.stops)

    def variant(self, name: str) -> Variant | None:
        """The variant of that name."""
        return next((variant for variant in self.variants if variant.name == name), None)

    def share(self, variant: Variant) -> float:
        """Expected share of units that get the variant."""
        return variant.weight / sum(other.weight for other in self.variants)

    def arms(self) -> bytes:
        """What a salt stands for: the experiment's name and its variants, as canonical JSON."""
        return orjson.dumps([self.name, self.model_dump(mode="json", exclude_none=True)["variants"]])

    def encode(self) -> bytes:
        """As stored."""
        return self.model_dump_json(exclude_none=True).encode()


def utc_now() -> datetime:
    """The time now, with offset."""
    return datetime.now(UTC)
