"""What the answers said: who answered instead of whom and why, in which variant, from which bundle."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any


def fault(answer: dict[str, Any], k: int, n_items: int) -> str | None:
    """What is wrong with a list; None = nothing.

    >>> answer = {"items": [{"item_id": "a", "rank": 1, "score": 0.5, "source": "hop1"}]}
    >>> fault(answer, 1, 10), fault(answer, 2, 1000)
    (None, '1 items instead of 2')
    """
    items = answer["items"]
    if len(items) > k or (len(items) < k and n_items > k + 500):
        return f"{len(items)} items instead of {k}"
    if [item["rank"] for item in items] != list(range(1, len(items) + 1)):
        return "ranks with gaps"
    if len({item["item_id"] for item in items}) != len(items):
        return "an item twice"
    return None


@dataclass
class Tallies:
    """Counts of answered recommendations.

    Attributes:
        served: by (assigned, served, fallback reason or empty).
        variants: by experiment and variant.
        sources: items by source.
        bundles: by version.
    """

    served: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    variants: Counter[str] = field(default_factory=Counter)
    sources: Counter[str] = field(default_factory=Counter)
    bundles: Counter[str] = field(default_factory=Counter)

    def note(self, answer: dict[str, Any]) -> None:
        """Count one answer."""
        retriever, experiment = answer["retriever"], answer["experiment"]
        self.served[retriever["assigned"], retriever["served"], retriever["fallback_reason"] or ""] += 1
        self.variants["none" if experiment is None else f"{experiment['name']}/{experiment['variant']}"] += 1
        self.sources.update(item["source"] for item in answer["items"])
        self.bundles[answer["bundle"]] += 1

    def fallback_share(self) -> float:
        """Share of lists by another retriever than the assigned one; new users, whom nobody knows, not counted."""
        total = sum(self.served.values())
        fell = sum(n for (_, _, reason), n in self.served.items() if reason not in ("", "no_history"))
        return fell / total if total else 0.0

    def rows(self) -> list[dict[str, object]]:
        """For a CSV, the most frequent first."""
        return [
            {"assigned": assigned, "served": served, "fallback_reason": reason, "lists": n}
            for (assigned, served, reason), n in self.served.most_common()
        ]
