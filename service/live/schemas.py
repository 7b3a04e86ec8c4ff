"""What the live routes take and answer."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, Field, RootModel, StringConstraints
from pydantic_core import PydanticCustomError

from models.words import RetrieverName
from service.experiments.model import Experiment
from service.history import Event
from service.schemas import Flag, Id, Strictly

MAX_EVENTS = 1_000
MAX_FLIPS = 10_000
AHEAD = timedelta(days=1)
EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)


def _text(value: object) -> object:
    if not isinstance(value, str) or value[4:5] != "-":
        raise PydanticCustomError("no_time", "timestamp should be ISO 8601 with offset")
    return value


def _plausible(moment: datetime) -> datetime:
    if not EARLIEST <= moment <= datetime.now(UTC) + AHEAD:
        raise PydanticCustomError("implausible_time", "timestamp should lie between 1970 and a day from now")
    return moment


EventTime = Annotated[AwareDatetime, BeforeValidator(_text), AfterValidator(_plausible)]
EventType = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$")]


class EventBody(Strictly):
    """One thing a user did."""

    event_id: Id = Field(description="The caller's id of it; the same id of the same user again is a no-op.")
    user_id: Id = Field(description="Who.")
    item_id: Id = Field(description="With which item; ids that the bundle lacks are kept too.")
    timestamp: EventTime = Field(description="When, ISO 8601 with offset; order of arrival does not matter.")
    event: EventType = Field(default="view", description="view, cart, purchase...")
    request_id: Id | None = Field(default=None, description="Request id of the list that led to it.")

    def event_of(self) -> Event:
        """As the store takes it."""
        return Event(self.event_id, self.user_id, self.item_id, self.timestamp, self.event, self.request_id)


class EventBatch(RootModel[Annotated[list[EventBody], Field(min_length=1, max_length=MAX_EVENTS)]]):
    """Many events, in any order."""


class EventsAnswer(BaseModel):
    """What became of the events."""

    accepted: int = Field(description="Events that were new.")
    duplicates: int = Field(description="Events whose id was known.")


class HistoryEntry(BaseModel):
    """One entry of a history."""

    item_id: str = Field(description="The item's id.")
    event: str = Field(description="What happened.")
    timestamp: datetime = Field(description="When it happened.")
    weight: float = Field(description="Weight of that kind of event.")


class HistoryAnswer(BaseModel):
    """A stored history, oldest first."""

    user_id: str = Field(description="Whose history.")
    items: list[HistoryEntry] = Field(description="Oldest first; empty for an unknown user.")


class ErasedAnswer(BaseModel):
    """What was erased."""

    user_id: str = Field(description="Whose history.")
    erased: int = Field(description="Entries that the history held.")


class AvailabilityBody(Strictly):
    """Whether an item may be sold."""

    available: Flag = Field(description="Whether it may be sold.")


class AvailabilityAnswer(BaseModel):
    """An item's availability as every process will see it."""

    item_id: str = Field(description="The item's id.")
    available: bool = Field(description="Whether it may be sold.")
    revision: int = Field(description="Grows with each change of stock.")


class Flip(Strictly):
    """One item of a bulk change."""

    item_id: Id = Field(description="The item's id.")
    available: Flag = Field(description="Whether it may be sold.")


class FlipsBody(Strictly):
    """A bulk change of stock; the last word on an item counts."""

    items: list[Flip] = Field(min_length=1, max_length=MAX_FLIPS, description="Items and whether they may be sold.")


class FlipsAnswer(BaseModel):
    """What a bulk change did."""

    changed: int = Field(description="Items that were named.")
    revision: int = Field(description="Grows with each change of stock.")
    unknown_items: list[str] = Field(description="Ids that the served bundle lacks; kept for the next one.")


class BundleAnswer(BaseModel):
    """Bundles as this process sees them."""

    serves: str | None = Field(description="The version that answers; null = none.")
    current: str | None = Field(description="What CURRENT names.")
    versions: list[str] = Field(description="Versions on this disk, oldest first.")
    refusal: str | None = Field(description="Why the newest one was refused; null = it was not.")


class ExperimentsAnswer(BaseModel):
    """Every experiment that is known."""

    experiments: list[Experiment] = Field(description="All of them, running or not.")


class RunningVariant(BaseModel):
    """One arm."""

    name: str = Field(description="What `variant` of a request names.")
    retriever: RetrieverName


class RunningExperiment(BaseModel):
    """An experiment as those see it who ask for lists."""

    name: str = Field(description="The experiment's name.")
    scenario: str | None = Field(description="It decides requests of this scenario only; null = of any.")
    variants: list[RunningVariant] = Field(description="Its arms.")


class RunningAnswer(BaseModel):
    """Experiments that run now."""

    experiments: list[RunningExperiment] = Field(description="Those that decide requests now.")
