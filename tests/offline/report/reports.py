"""Small reports, made from ranked lists as evaluate makes them."""

from datetime import UTC, datetime

import numpy as np

from models.words import Split
from offline.measures.arrays import Ragged
from offline.report.assemble.audit import audit_report, dependence_of
from offline.report.assemble.evaluation import evaluation_report
from offline.report.assemble.inputs import HeldOut, ItemFacts, MethodLists, Plan, default_pairs
from offline.report.document.audit import AuditReport
from offline.report.document.evaluation import EvaluationReport
from offline.report.document.parts import Curve, Estimate, Provenance, Published

USERS, ITEMS = 60, 300
PLAN = Plan(ks=(1, 5, 10, 50), resamples=40, seed=3)
EVALUATED = ("tgh-1", "dr", "gr")
AUDITED = ("tgh-1", "tgh-2", "sem-nn", "popular")


def provenance(**changes: object) -> Provenance:
    """Where the small reports come from."""
    return Provenance(
        **{
            "data_set": "a shop",
            "bundle": "20261130T101500-3f2a",
            "split": Split.LEAVE_LAST_OUT,
            "command": "shortlist evaluate --bundle shop",
            "created": datetime(2026, 11, 30, 10, 15, tzinfo=UTC),
            "seed": PLAN.seed,
            "resamples": PLAN.resamples,
            "versions": {"numpy": np.__version__},
        }
        | changes
    )


def held_out(seed: int = 1) -> HeldOut:
    """Random targets and last items; item 299 is in no training sequence."""
    rng = np.random.default_rng(seed)
    targets, anchors = rng.integers(0, ITEMS, (2, USERS)).astype(np.int32)
    targets[0] = ITEMS - 1
    users, items = rng.integers(0, USERS, 900), rng.integers(0, ITEMS - 1, 900).astype(np.int32)
    return HeldOut(targets, anchors, users, items, users=USERS, interactions=900 + 2 * USERS)


def item_facts(seed: int = 1, *, links: bool = True) -> ItemFacts:
    """Random edges, leaves, values, links and embeddings."""
    rng = np.random.default_rng(seed)
    graph = Ragged.from_pairs(*rng.integers(0, ITEMS, (2, 1_200)), rng.random(1_200), n_rows=ITEMS)
    return ItemFacts(
        graph=graph,
        leaves=rng.integers(-1, 12, ITEMS).astype(np.int32),
        components=rng.random((3, ITEMS)),
        weights=np.array([0.25, 0.25, 0.5]),
        links=Ragged.from_pairs(*rng.integers(0, ITEMS, (2, 2_000)), n_rows=ITEMS) if links else None,
        embeddings=rng.normal(size=(ITEMS, 8)).astype(np.float32),
    )


def method_lists(name: str, held: HeldOut, seed: int) -> MethodLists:
    """Random lists that hold the target for about every second user, some lists short."""
    rng = np.random.default_rng(seed)
    long_list = np.array([rng.permutation(ITEMS)[:200] for _ in range(USERS)], np.int32)
    for user in np.flatnonzero(rng.random(USERS) < 0.5):
        swap = np.flatnonzero(long_list[user] == held.targets[user])
        place = rng.integers(0, 12)
        if len(swap):
            long_list[user, swap[0]] = long_list[user, place]
        long_list[user, place] = held.targets[user]
    long_list[3, 7:] = -1
    return MethodLists(name, {10: long_list[:, :10], 50: long_list[:, :50], 200: long_list}, took_s=0.5)


def methods(held: HeldOut, names: tuple[str, ...] = EVALUATED) -> list[MethodLists]:
    """Lists of several methods."""
    return [method_lists(name, held, seed) for seed, name in enumerate(names)]


def evaluation(names: tuple[str, ...] = EVALUATED, title: str = "A shop", seed: int = 1) -> EvaluationReport:
    """An evaluation with every section."""
    held = held_out(seed)
    pairs = default_pairs(names)
    return evaluation_report(
        methods(held, names),
        held,
        item_facts(),
        Plan(ks=PLAN.ks, pairs=pairs, resamples=PLAN.resamples, seed=PLAN.seed),
        title=title,
        provenance=provenance(),
        curves=[
            Curve(name="training loss", x_label="epoch", y_label="loss", points=((1, 3.0), (2, 2.0), (3, 1.5))),
            Curve(name="validation loss", x_label="epoch", y_label="loss", points=((1, 3.2), (2, 2.4), (3, 2.2))),
        ],
        published=[Published(method="dr", measure="Recall@50", published=0.228, ours=Estimate(value=0.2))],
        notes=["The data holds no star ratings."],
    )


def audit(title: str = "A shop") -> AuditReport:
    """An audit with every section."""
    held = held_out()
    lists = methods(held, AUDITED)
    full, last = np.random.default_rng(5).integers(0, 12, (2, USERS))
    return audit_report(
        lists,
        held,
        item_facts(),
        PLAN,
        title=title,
        provenance=provenance(command="shortlist audit --bundle shop"),
        dependence=dependence_of("dr", full, last, PLAN),
    )
