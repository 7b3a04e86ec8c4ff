"""What happened in each epoch of a training."""

from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Epoch:
    """One epoch; measures are NaN where it was not validated."""

    epoch: int
    steps: int
    """Since the start of training."""
    dense_loss: float
    generative_loss: float
    ndcg_10: float
    recall_10: float
    recall_50: float
    seconds: float


@dataclass(slots=True)
class Curves:
    """All epochs so far."""

    epochs: list[Epoch] = field(default_factory=list)

    def best(self) -> Epoch | None:
        """The epoch of the best validation NDCG@10, the first of equals; None before any validation."""
        validated = [epoch for epoch in self.epochs if epoch.ndcg_10 == epoch.ndcg_10]
        return max(validated, key=lambda epoch: epoch.ndcg_10, default=None)

    def validations_since_best(self) -> int:
        """Validations after the best one."""
        best = self.best()
        return sum(1 for epoch in self.epochs if best and epoch.epoch > best.epoch and epoch.ndcg_10 == epoch.ndcg_10)

    def table(self) -> pa.Table:
        """One row an epoch."""
        return pa.Table.from_pylist(self.rows())

    def rows(self) -> list[dict[str, Any]]:
        """As plain values."""
        return [asdict(epoch) for epoch in self.epochs]

    @classmethod
    def of(cls, rows: list[dict[str, Any]]) -> "Curves":
        """From `rows`."""
        return cls([Epoch(**row) for row in rows])
