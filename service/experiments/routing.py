"""From a request to a variant."""

from dataclasses import dataclass

from service.experiments.book import ExperimentBook
from service.experiments.buckets import admitted, arm
from service.experiments.model import Experiment, Variant


@dataclass(frozen=True, slots=True)
class Unit:
    """Whom an assignment sticks to.

    Attributes:
        kind: `user` or `session`.
        id: its id.
    """

    kind: str
    id: str

    @property
    def name(self) -> str:
        """As hashed: a user and a session of one id are two units."""
        return f"{self.kind}:{self.id}"


@dataclass(frozen=True, slots=True)
class Decision:
    """A variant for a request.

    Attributes:
        experiment, variant: what was decided.
        unit: for whom; None for a forced variant of a request without ids.
        forced: the caller chose the variant, so the analysis leaves it out.
    """

    experiment: Experiment
    variant: Variant
    unit: Unit | None
    forced: bool = False

    @property
    def share(self) -> float:
        """Expected share of units with this variant."""
        return self.experiment.share(self.variant)


class UnknownVariantError(Exception):
    """A request forces a variant that no experiment of its scenario has."""


def unit_of(user_id: str | None, session_id: str | None) -> Unit | None:
    """The user, else the session, else nobody."""
    if user_id is not None:
        return Unit("user", user_id)
    return None if session_id is None else Unit("session", session_id)


def decide(experiment: Experiment, unit: Unit) -> Decision | None:
    """The unit's variant, None if it does not take part."""
    if not admitted(experiment.salt, unit.name, experiment.traffic):
        return None
    place = arm(experiment.salt, unit.name, [variant.weight for variant in experiment.variants])
    return Decision(experiment, experiment.variants[place], unit)


def route(book: ExperimentBook, *, scenario: str | None, unit: Unit | None, forced: str | None) -> Decision | None:
    """What the running experiment decides, None if there is none or the unit takes no part in it.

    Raises:
        UnknownVariantError: the forced variant does not exist in the running experiment.
    """
    experiment = book.running(scenario)
    if forced is not None:
        variant = None if experiment is None else experiment.variant(forced)
        if experiment is None or variant is None:
            raise UnknownVariantError(forced)
        return Decision(experiment, variant, unit, forced=True)
    return None if experiment is None or unit is None else decide(experiment, unit)
