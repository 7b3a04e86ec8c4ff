"""The published statistics and reference figures, through the real build and the real evaluation."""

from pathlib import Path

import numpy as np
import pytest

from models.bundle.reader import Bundle
from models.words import Order, RetrieverName
from offline.build import Request, build
from offline.config import BuildConfig
from offline.counts import Transitions
from offline.dataset import Inputs, read_dataset
from offline.evaluate import Settings, TargetUsers, evaluate, read_target_users
from offline.progress import Reporter
from offline.split import Part, Sequences

DATA = Path(__file__).parents[2].parent / "shared" / "data"
QUIET = Reporter(quiet=True)
SPLIT = BuildConfig.model_validate({"split": "leave-last-out", "text": {"encoder": "none"}})

pytestmark = [
    pytest.mark.real_data,
    pytest.mark.skipif(not DATA.is_dir(), reason="the public data sets are not at ../shared/data"),
]


def inputs(name: str) -> Inputs:
    folder = DATA / f"amazon-{name}-2014"
    items = folder / "items.jsonl.gz"
    return Inputs((folder / "interactions.csv.gz",), items if items.is_file() else None)


def one_hop(found: Transitions, sequences: Sequences, n_items: int) -> float:
    """Share of test targets that are one hop from the last item."""
    users = sequences.with_targets()
    last = sequences.targets(users, Part.VALIDATION).astype(np.int64)
    edges = found.sources.astype(np.int64) * n_items + found.targets
    return float(np.isin(last * n_items + sequences.targets(users, Part.TEST), edges).mean())


PUBLISHED = {
    "beauty": (22_363, 12_101, 114_582, 9.47, 8.61),
    "sports": (35_598, 18_357, 180_610, 9.84, 5.13),
    "toys": (19_412, 11_924, 102_268, 8.58, 8.06),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_statistics_are_the_published_ones(name: str) -> None:
    users, items, edges, degree, coverage = PUBLISHED[name]
    with read_dataset(inputs(name), SPLIT) as dataset:
        n_items, found, sequences = len(dataset.ids), dataset.transitions(), dataset.sequences()

    assert (len(sequences.with_targets()), n_items, len(found.counts)) == (users, items, edges)
    assert round(edges / n_items, 2) == degree
    assert round(100 * one_hop(found, sequences, n_items), 2) == coverage


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bundle, TargetUsers]:
    root = tmp_path_factory.mktemp("toys")
    config = BuildConfig.model_validate({"split": "leave-last-out", "ratings": {"low": 0, "high": 1}})
    build(Request(root, config, inputs("toys")), QUIET)
    bundle = Bundle.open(root)
    return bundle, read_target_users(bundle, inputs("toys").interactions, Part.TEST, QUIET)


REFERENCE = {
    Order.RING: {RetrieverName.TGH_1: (3.72, 7.04, 9.03, 6.10), RetrieverName.TGH_2: (3.73, 7.01, 9.39, 6.24)},
    Order.SCORE: {RetrieverName.TGH_1: (3.72, 7.20, 9.03, 6.14), RetrieverName.TGH_2: (2.91, 7.33, 9.39, 5.89)},
}


@pytest.mark.parametrize("order", list(Order))
def test_tgh_on_toys_gives_the_reference_figures(toys: tuple[Bundle, TargetUsers], order: Order) -> None:
    """Percent R@1, R@5, R@10, N@10; seen items included, short lists left short."""
    settings = Settings(order=order, exclude_seen=False, fill=False)

    found = evaluate(*toys, list(REFERENCE[order]), [1, 5, 10], settings, QUIET).measures

    for name, expected in REFERENCE[order].items():
        measured = [100 * found[name][key] for key in ("recall@1", "recall@5", "recall@10", "ndcg@10")]
        assert measured == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize(("keep", "cold"), [(None, 279), (20, 296)])
def test_cold_targets_of_toys(keep: int | None, cold: int) -> None:
    """Targets that no training sequence holds, with whole histories and with those cut to 20 before the split."""
    with read_dataset(inputs("toys"), SPLIT.model_copy(update={"truncate_history": keep})) as dataset:
        popularity, sequences = dataset.popularity(), dataset.sequences()

    targets = sequences.targets(sequences.with_targets(), Part.TEST)
    assert int((popularity[targets] == 0).sum()) == cold


def test_the_graph_of_the_bundle_is_that_of_the_published_statistics(toys: tuple[Bundle, TargetUsers]) -> None:
    facts = toys[0].manifest.sections["graph"]

    assert (facts["edges"], round(facts["mean_out_degree"], 2)) == (102_268, 8.58)


def test_a_build_stays_within_two_gibibytes(toys: tuple[Bundle, TargetUsers]) -> None:
    costs = toys[0].manifest.sections["jobs"]

    assert max(cost["peak_mib"] for cost in costs.values()) < 2048
