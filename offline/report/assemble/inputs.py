"""What an evaluation measures: lists of each method, the test split, the catalogue's facts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.errors import InputError
from offline.measures.arrays import Floats, Ints, Ragged, check_lists, check_users

SHORT_K = 10
"""Measures up to this k cut one list asked with it; each larger k asks its own list."""


@dataclass(frozen=True, slots=True)
class MethodLists:
    """The lists of one method.

    Attributes:
        name: as it stands in the tables.
        at: k it was asked with -> int32 [users, k], best first, padded with -1. It holds 10 where a k <= 10 is
            measured, and each larger k that is.
        took_s: seconds to make all the lists; None = not measured.
    """

    name: str
    at: Mapping[int, Ints]
    took_s: float | None = None

    def top(self, k: int) -> Ints:
        """The list to measure at k: int32 [users, k].

        Raises:
            InputError: the method was not asked with the k that this cut-off needs.
        """
        asked = max(k, SHORT_K)
        if asked not in self.at:
            raise InputError(
                f"lists of {self.name}",
                found=f"lists asked with k = {sorted(self.at)}",
                expected=f"one asked with k = {asked}",
                remedy="Ask each method once with k = 10 and once with each larger k that is measured.",
            )
        return self.at[asked][:, :k]


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The test split: one row a user, and the training part that everything was learnt from.

    Attributes:
        targets: int32 [users], the held-out item.
        anchors: int32 [users], the last item before it, -1 = empty history.
        training_users: int [n], the user of each training interaction.
        training_items: int32 [n], its item.
        users: users of the whole data set, those without a target included.
        interactions: interactions of the whole data set, held-out ones included.
    """

    targets: Ints
    anchors: Ints
    training_users: npt.NDArray[np.integer]
    training_items: Ints
    users: int
    interactions: int

    def __post_init__(self) -> None:
        check_users("last items", self.anchors, len(self.targets))
        check_users("items of training interactions", self.training_items, len(self.training_users))


@dataclass(frozen=True, slots=True)
class ItemFacts:
    """What the catalogue and the build know of the items.

    Attributes:
        graph: transition graph of the training part, one row an item, with edge weights.
        leaves: int32 [n_items], leaf category, -1 = none; None = the catalogue has no categories.
        components: float64 [components, n_items], value components; None = no values.
        weights: float64 [components], value weights, sum 1.
        component_names: names of the components in the same order.
        links: co-purchase links, one row an item; None = the catalogue has none.
        embeddings: float32 [n_items, d], text embeddings; None = none.
    """

    graph: Ragged
    leaves: Ints | None = None
    components: Floats | None = None
    weights: Floats | None = None
    component_names: Sequence[str] = ("popularity", "rating", "brand")
    links: Ragged | None = None
    embeddings: npt.NDArray[np.float32] | None = None

    @property
    def n_items(self) -> int:
        """Catalogue size."""
        return self.graph.n_rows

    @property
    def values(self) -> Floats | None:
        """float64 [n_items], the weighted sum of the components."""
        if self.components is None or self.weights is None:
            return None
        return np.asarray(self.weights @ self.components, np.float64)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure.

    Attributes:
        ks: cut-offs of Recall and NDCG.
        value_k: cut-off of BV, vNDCG, decomposition and sweep.
        hop_k: cut-off of recall by hop and of overlap.
        pairs: (x, a) names of methods to compare.
        seed: seed of the bootstrap, the random control and the random pairs.
        resamples: bootstrap samples of each interval.
    """

    ks: Sequence[int] = (1, 5, 10, 50)
    value_k: int = 50
    hop_k: int = 10
    pairs: Sequence[tuple[str, str]] = ()
    seed: int = 0
    resamples: int = 1_000


def default_pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """Every method against `gr`, as the value-prior paper compares; without it against the first.

    >>> default_pairs(["tgh-1", "gr", "dr"])
    [('tgh-1', 'gr'), ('dr', 'gr')]
    >>> default_pairs(["tgh-1", "popular"])
    [('popular', 'tgh-1')]
    """
    if not names:
        return []
    base = "gr" if "gr" in names else names[0]
    return [(name, base) for name in names if name != base]


def asked_ks(plan: Plan) -> list[int]:
    """The k of every list that a plan measures.

    >>> asked_ks(Plan(ks=(1, 5, 10, 50), value_k=50))
    [10, 50]
    """
    return sorted({max(k, SHORT_K) for k in (*plan.ks, plan.value_k, plan.hop_k)})


def check_methods(methods: Sequence[MethodLists], users: int) -> None:
    """Refuse lists that are not of the test users.

    Raises:
        InputError: the lists of a method have another number of rows, or another width than their k.
    """
    for method in methods:
        for k, lists in method.at.items():
            check_lists(lists, users)
            if lists.shape[1] != k:
                raise InputError(
                    f"lists of {method.name} for k = {k}",
                    found=f"{lists.shape[1]} columns",
                    expected=f"{k}",
                    remedy="Pad short lists with -1.",
                )


def check_pairs(pairs: Sequence[tuple[str, str]], names: Sequence[str]) -> None:
    """Refuse a comparison of a method that was not measured.

    Raises:
        InputError: a pair names another method.
    """
    unknown = {name for pair in pairs for name in pair} - set(names)
    if unknown:
        raise InputError(
            "comparisons",
            found=f"methods {sorted(unknown)}",
            expected=f"two of {list(names)}",
            remedy="Compare methods whose lists are given.",
        )
