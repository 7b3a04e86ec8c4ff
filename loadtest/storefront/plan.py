"""Who visits, what they look at and which retriever they are sent to."""

import random
import uuid
from dataclasses import dataclass, field

from loadtest.asking import Zipf

AUTO = "auto"


@dataclass(frozen=True)
class Mix:
    """Shares of the traffic, 0 to 1.

    Attributes:
        new: visits of people that the service has never seen.
        forced: recommendations whose caller names a retriever, any but gr alike.
        gr: recommendations that name gr, where it is served; the rest is `auto`, and so the running experiment's.
        in_body: recommendations that carry the visit's own history; the others leave it to the store.
        leaves: chance to leave after each list.
        buys: chance to buy what was looked at.
    """

    new: float = 0.2
    forced: float = 0.2
    gr: float = 0.05
    in_body: float = 0.3
    leaves: float = 0.15
    buys: float = 0.05


@dataclass(frozen=True)
class Plan:
    """All that decides a visit.

    Attributes:
        items: ids by popularity.
        people: ids of returning users, the most active first.
        retrievers: names of those that are served.
        k: candidates a list.
        n_items: size of the catalogue.
        think_s: mean time between two steps of a visit, in seconds.
        mix: shares.
    """

    items: Zipf
    people: Zipf
    retrievers: tuple[str, ...]
    k: int
    n_items: int
    think_s: float
    mix: Mix = field(default_factory=Mix)

    def visitor(self, chance: random.Random) -> str:
        """Whose visit it is."""
        return f"new-{uuid.uuid4().hex}" if chance.random() < self.mix.new else self.people.draw(chance)

    def retriever(self, chance: random.Random) -> str:
        """Which retriever a recommendation names."""
        drawn = chance.random()
        if drawn < self.mix.gr and "gr" in self.retrievers:
            return "gr"
        if drawn < self.mix.gr + self.mix.forced:
            return chance.choice([name for name in self.retrievers if name != "gr"])
        return AUTO

    def click(self, shown: list[str], chance: random.Random) -> str | None:
        """What is clicked in a list, the top most often; None = the visit ends."""
        if not shown or chance.random() < self.mix.leaves:
            return None
        return Zipf.over(shown, 1.0).draw(chance)
