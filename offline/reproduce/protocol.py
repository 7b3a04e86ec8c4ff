"""How each paper asks: which methods, in which settings, and what it compares."""

from collections.abc import Sequence
from dataclasses import dataclass

from models.words import Order, RetrieverName
from offline.evaluate import Settings
from offline.report.assemble.inputs import Plan
from offline.reproduce.published import VALUE_K, Paper

GR, DR, DR_PRIOR = RetrieverName.GR.value, RetrieverName.DR.value, RetrieverName.DR_PRIOR.value
BASE = "tgh-2 score"
"""What the methods of the heuristic's table are compared with."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One row of a table: a retriever, asked in one way.

    Attributes:
        label: name of the row.
        retriever: which one.
        order: order of TGH lists.
        history_items: see the history's newest so many items; None = all.
    """

    label: str
    retriever: RetrieverName
    order: Order = Order.SCORE
    history_items: int | None = None

    def settings(self) -> Settings:
        """As both papers ask: seen items allowed, short lists left short."""
        return Settings(self.order, exclude_seen=False, fill=False, history_items=self.history_items)


@dataclass(frozen=True, slots=True)
class Protocol:
    """The setting of a paper.

    Attributes:
        paper: which.
        asked: the rows, as far as the bundle can serve them.
        ks: cut-offs.
        value_k: cut-off of the value measures.
        truncate_history: keep a user's last so many items, before the split; None = all.
        needed: retrievers without which the paper cannot be redone.
    """

    paper: Paper
    asked: tuple[Asked, ...]
    ks: tuple[int, ...]
    value_k: int
    truncate_history: int | None = None
    needed: tuple[RetrieverName, ...] = ()

    def plan(self, labels: Sequence[str]) -> Plan:
        """What to measure of the rows that were asked."""
        return Plan(ks=self.ks, value_k=self.value_k, hop_k=min(max(self.ks), self.value_k), pairs=self._pairs(labels))

    def _pairs(self, labels: Sequence[str]) -> list[tuple[str, str]]:
        if self.paper is Paper.VALUE_PRIOR:
            wanted = [
                (DR, GR),
                (DR_PRIOR, GR),
                (GR, DR),
                (DR_PRIOR, DR),
                *[(x, GR) for x in labels if x not in (GR, DR, DR_PRIOR)],
            ]
        else:
            wanted = [(x, BASE) for x in labels if x != BASE]
            wanted += [(x, f"{x} (last item)") for x in labels]
        return [(x, a) for x, a in wanted if x in labels and a in labels]


def _plain(*names: RetrieverName) -> list[Asked]:
    return [Asked(name.value, name) for name in names]


HEURISTIC = Protocol(
    paper=Paper.HEURISTIC,
    asked=(
        Asked("tgh-1 ring", RetrieverName.TGH_1, Order.RING),
        Asked("tgh-1 score", RetrieverName.TGH_1),
        Asked("tgh-2 ring", RetrieverName.TGH_2, Order.RING),
        Asked("tgh-2 score", RetrieverName.TGH_2),
        *_plain(RetrieverName.SEM_NN, RetrieverName.ID_LAST, RetrieverName.ID_SEM, RetrieverName.POPULAR),
        *_plain(RetrieverName.DR, RetrieverName.DR_PRIOR, RetrieverName.GR, RetrieverName.FUSED),
        Asked("dr (last item)", RetrieverName.DR, history_items=1),
        Asked("fused (last item)", RetrieverName.FUSED, history_items=1),
    ),
    ks=(1, 5, 10),
    value_k=10,
)
"""TGH in both orders, the diagnostic baselines, what the bundle was trained for, and its last-1 ablations."""

VALUE_PRIOR = Protocol(
    paper=Paper.VALUE_PRIOR,
    asked=tuple(_plain(RetrieverName.GR, RetrieverName.DR, RetrieverName.DR_PRIOR)),
    ks=(VALUE_K,),
    value_k=VALUE_K,
    truncate_history=20,
    needed=(RetrieverName.GR, RetrieverName.DR, RetrieverName.DR_PRIOR),
)
"""The three methods of the paper, and no more, since vNDCG rests on what the compared methods found together."""

PROTOCOLS = {Paper.HEURISTIC: HEURISTIC, Paper.VALUE_PRIOR: VALUE_PRIOR}
