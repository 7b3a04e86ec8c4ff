"""Partial credit of each method under the relevance rules that the data allows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from offline.measures.arrays import Floats, Ints, Ragged
from offline.measures.bootstrap import Interval
from offline.measures.credit import best_credit, credit_ndcg, ideal_credit, ideal_of_counts
from offline.measures.relevance import credited, leaf_counts, random_control, same_leaf
from offline.report.assemble.inputs import HeldOut, ItemFacts, MethodLists
from offline.report.assemble.ledger import Key, Ledger
from offline.report.document.parts import CreditRow, Estimate, Rule


@dataclass(frozen=True, slots=True)
class CreditRule:
    """One relevance rule, bound to the users of a test split.

    Attributes:
        name: the rule.
        relevance: int32 [users, m] items -> float64 [users, m] credit.
        ideal: k -> float64 [users], discounted credit of the best possible list.
    """

    name: Rule
    relevance: Callable[[Ints], Floats]
    ideal: Callable[[int], Floats]


def credit_rules(held: HeldOut, facts: ItemFacts, judgments: Ragged | None, *, seed: int) -> list[CreditRule]:
    """The rules that the data allows.

    Args:
        held: the test split.
        facts: the items; the category rule needs leaves, co-purchase needs links.
        judgments: supplied grades, one row a user; None = none.
        seed: seed of the random control.
    """
    rules = []
    if facts.leaves is not None:
        rules.append(_category(held.targets, facts.leaves))
    if judgments is not None:
        rules.append(_listed(Rule.GRADED, judgments))
    if facts.links is not None:
        linked = credited(facts.links, held.targets)
        control = random_control(linked, held.targets, n_items=facts.n_items, rng=np.random.default_rng(seed))
        rules += [_listed(Rule.CO_PURCHASE, linked), _listed(Rule.RANDOM_CONTROL, control)]
    return rules


def _category(targets: Ints, leaves: Ints) -> CreditRule:
    counts = leaf_counts(targets, leaves)
    return CreditRule(
        Rule.CATEGORY, lambda items: same_leaf(items, targets, leaves), lambda k: ideal_of_counts(counts, k)
    )


def _listed(name: Rule, credit: Ragged) -> CreditRule:
    return CreditRule(name, credit.lookup, lambda k: ideal_credit(credit, k))


def enter_credits(
    ledger: Ledger, methods: Sequence[MethodLists], rules: Sequence[CreditRule], ks: Sequence[int]
) -> None:
    """Credit and its NDCG of each method under each rule at each cut-off."""
    for rule in rules:
        ideals = {k: rule.ideal(k) for k in ks}
        for method in methods:
            for k, ideal in ideals.items():
                q = rule.relevance(method.top(k))
                ledger.mean(("credit", method.name, rule.name, k), best_credit(q, k))
                ledger.mean(("credit-ndcg", method.name, rule.name, k), credit_ndcg(q, ideal, k))


def credit_rows(
    settled: Mapping[Key, Interval], name: str, rules: Sequence[CreditRule], ks: Sequence[int]
) -> tuple[CreditRow, ...]:
    """The settled credits of one method."""
    return tuple(
        CreditRow(
            rule=rule.name,
            k=k,
            credit=Estimate.of(settled["credit", name, rule.name, k]),
            ndcg=Estimate.of(settled["credit-ndcg", name, rule.name, k]),
        )
        for rule in rules
        for k in ks
    )
