"""Evaluation: the lists that serving would return, asked for every test user and compared with what came next."""

import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from models.bundle.reader import Bundle
from models.errors import BundleError, ConfigError, InputError
from models.filters import eligible
from models.fusion import FusionWeights
from models.registry import open_retriever, require
from models.retrieval import NO_ITEMS, Candidates, Items, Query, Retriever, ValueParams
from models.words import Order, RetrieverName, Split
from offline.config import BuildConfig, config_from
from offline.dataset import read_against
from offline.ingest.engine import Source
from offline.ingest.report import TableReport
from offline.ingest.sources import identified
from offline.measures.arrays import PAD
from offline.measures.ranking import ndcg, recall, target_ranks
from offline.progress import Reporter
from offline.split import Part, Sequences

SHORT_LIST = 10
"""Measures up to this k cut one list of this length; each larger k asks its own, since TGH budgets scale with k."""
BATCH_USERS = 512
LONGEST = 10_000
"""Greatest k; lists are kept as rows of a dense array."""

ANY_LENGTH = 1 << 30
ONE_LIST_UP_TO = {
    RetrieverName.SEM_NN: ANY_LENGTH,
    RetrieverName.ID_LAST: ANY_LENGTH,
    RetrieverName.ID_SEM: ANY_LENGTH,
    RetrieverName.POPULAR: ANY_LENGTH,
    RetrieverName.DR: ANY_LENGTH,
    RetrieverName.DR_PRIOR: ValueParams().pool,
    RetrieverName.FUSED: FusionWeights().pool,
    RetrieverName.GR: 50,
}
"""Up to which k a retriever's list begins with its lists for smaller k, so that the longest is asked alone: beyond
their pools and its least beam, `dr-prior`, `fused` and `gr` choose anew; `tgh` does for every k."""

NOTHING_DEEPER: Mapping[RetrieverName, int] = {}

ASKED_ALONE = frozenset({RetrieverName.GR})
"""Retrievers that use every core themselves; the others are asked by as many threads as there are cores."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How lists are asked.

    Attributes:
        order: order of TGH lists.
        exclude_seen: leave out what the history holds.
        fill: fill short lists.
        part: which target is looked for.
        history_items: retrievers see a history's newest so many items; None = all of it. What counts as seen stays.
    """

    order: Order = Order.SCORE
    exclude_seen: bool = True
    fill: bool = True
    part: Part = Part.TEST
    history_items: int | None = None


@dataclass(frozen=True, slots=True)
class Lists:
    """Ranked lists of all test users.

    Attributes:
        items: int32 [users, k], padded with -1.
        scores: float32 [users, k], 0 where padded.
        sources: uint8 [users, k], positions in `models.words.SOURCES`, 0 where padded.
    """

    items: Items
    scores: npt.NDArray[np.float32]
    sources: npt.NDArray[np.uint8]

    def top(self, k: int) -> "Lists":
        """The first k of each list."""
        return Lists(self.items[:, :k], self.scores[:, :k], self.sources[:, :k])


@dataclass(frozen=True, slots=True)
class TargetUsers:
    """Users with a target.

    Attributes:
        sequences: everybody's.
        users: int64 [n], rows of `sequences`.
        targets: int32 [n].
        part: which target.
    """

    sequences: Sequences
    users: npt.NDArray[np.int64]
    targets: Items
    part: Part

    def __len__(self) -> int:
        """Number of users."""
        return len(self.users)

    def history(self, row: int) -> Items:
        """int32: everything before the target of the row-th test user."""
        return self.sequences.history(int(self.users[row]), self.part)

    def user_ids(self) -> list[str]:
        """The users' ids."""
        names: list[str] = self.sequences.user_ids.take(self.users).to_pylist()
        return names


def build_config(bundle: Bundle) -> BuildConfig:
    """The configuration that a bundle was built with.

    Raises:
        ConfigError: this release does not know one of its keys.
    """
    return config_from(bundle.manifest.config, where=f"manifest of bundle {bundle.version}")


def read_target_users(bundle: Bundle, interactions: Sequence[Source], part: Part, reporter: Reporter) -> TargetUsers:
    """The users of interaction files, divided as the bundle's manifest says.

    Raises:
        BundleError: the bundle was built without a split, so it has seen the targets.
        InputError: the files are malformed, or no user has a target.
    """
    split = bundle.manifest.split
    if split.kind is Split.NONE:
        raise BundleError(
            f"bundle {bundle.version}",
            found="a bundle built on all interactions",
            expected="one built with a split",
            remedy="Build it with shortlist build --split leave-last-out.",
        )
    config = build_config(bundle).model_copy(update={"split": split.kind, "truncate_history": split.truncate_history})
    with read_against(interactions, bundle.ids, config) as dataset:
        _say_what_was_read(bundle, interactions, dataset.report.interactions, reporter)
        sequences = dataset.sequences()
    users = sequences.with_targets()
    if not len(users):
        raise InputError(
            ", ".join(map(str, interactions)),
            found=f"{len(sequences)} users, none with three interactions",
            expected="users with a target, one for validation and a history",
            remedy="Check that these are the interactions the bundle was built from.",
        )
    return TargetUsers(sequences, users, sequences.targets(users, part), part)


def _say_what_was_read(bundle: Bundle, sources: Sequence[Source], report: TableReport, reporter: Reporter) -> None:
    reporter.say(f"interactions: {report.read:,} rows read, {report.kept:,} kept")
    for finding in report.findings:
        if finding.dropped:
            reporter.say(f"  {finding.line()}")
    inputs = bundle.manifest.sections.get("inputs", {}).values()
    built_from = {str(facts["sha256"]) for facts in inputs if "sha256" in facts}
    files = [file for source in sources for file in identified(source)]
    other = [str(path) for path, told in files if told and told["sha256"] not in built_from]
    if built_from and other:
        reporter.say(f"  not the files that the bundle was built from: {', '.join(other)}")


def list_lengths(ks: Sequence[int]) -> dict[int, list[int]]:
    """Length of the list to ask for -> the k that are cut from it.

    >>> list_lengths([1, 5, 10, 50])
    {10: [1, 5, 10], 50: [50]}
    """
    asked: dict[int, list[int]] = {}
    for k in sorted(set(ks)):
        asked.setdefault(max(k, SHORT_LIST), []).append(k)
    return asked


def _asked(name: RetrieverName, lengths: Sequence[int]) -> list[int]:
    """The lengths of list to ask a retriever for; the others are cut from the longest."""
    return [max(lengths)] if max(lengths) <= ONE_LIST_UP_TO.get(name, 0) else list(lengths)


def _query(bundle: Bundle, history: Items, k: int, settings: Settings) -> Query:
    seen = history if settings.exclude_seen else NO_ITEMS
    allowed = eligible(bundle.n_items, None, seen)
    shown = history if settings.history_items is None else history[-settings.history_items :]
    return Query(history=shown, k=k, eligible=allowed, order=settings.order, fill=settings.fill)


def ask(
    bundle: Bundle, retriever: Retriever, test: TargetUsers, k: int, settings: Settings, reporter: Reporter
) -> Lists:
    """One list of up to k items for each test user."""
    lists = Lists(
        np.full((len(test), k), PAD, np.int32),
        np.zeros((len(test), k), np.float32),
        np.zeros((len(test), k), np.uint8),
    )

    def batch(start: int) -> list[Candidates]:
        rows = range(start, min(start + BATCH_USERS, len(test)))
        return retriever.retrieve_batch([_query(bundle, test.history(row), k, settings) for row in rows])

    starts = range(0, len(test), BATCH_USERS)
    with ThreadPoolExecutor(1 if retriever.name in ASKED_ALONE else os.cpu_count()) as threads:
        for start, found in zip(starts, threads.map(batch, starts), strict=True):
            _fill(lists, start, found)
            reporter.step(start + len(found), len(test))
    return lists


def _fill(lists: Lists, start: int, batch: Sequence[Candidates]) -> None:
    for row, found in enumerate(batch, start):
        n = len(found.items)
        lists.items[row, :n], lists.scores[row, :n] = found.items, found.scores
        lists.sources[row, :n] = found.sources


def measure(items: Items, targets: Items, ks: Sequence[int]) -> dict[str, float]:
    """`recall@k` and `ndcg@k` of each k, fractions."""
    ranks = target_ranks(items, targets)
    named = {"recall": recall(ranks, ks), "ndcg": ndcg(ranks, ks)}
    return {f"{name}@{k}": float(value) for name, values in named.items() for k, value in zip(ks, values, strict=True)}


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Measures of each method by name, and the lists they were taken from.

    Attributes:
        measures: method -> `recall@k`, `ndcg@k`.
        longest: method -> its lists for the greatest k.
        items: method -> k of a list -> int32 [users, k], padded with -1.
        seconds: method -> wall time of all its lists; None = they were read from a file.
    """

    measures: dict[str, dict[str, float]] = field(default_factory=dict)
    longest: dict[str, Lists] = field(default_factory=dict)
    items: dict[str, dict[int, Items]] = field(default_factory=dict)
    seconds: dict[str, float | None] = field(default_factory=dict)


def evaluate(
    bundle: Bundle,
    test: TargetUsers,
    names: Sequence[RetrieverName],
    ks: Sequence[int],
    settings: Settings,
    reporter: Reporter,
    *,
    deeper: Mapping[RetrieverName, int] = NOTHING_DEEPER,
) -> Evaluation:
    """Ask every retriever and measure its lists.

    Args:
        bundle: what is evaluated.
        test: the users with a target.
        names: the retrievers.
        ks: cut-offs.
        settings: how lists are asked.
        reporter: told how far it is.
        deeper: retriever -> k of a further list to keep beside those that the cut-offs need.

    Raises:
        ConfigError: no k, or one below 1 or above `LONGEST`.
        BundleError: the bundle lacks what a retriever needs.
    """
    if not ks or min(ks) < 1 or max(ks) > LONGEST:
        expected = f"whole numbers from 1 to {LONGEST:,}"
        raise ConfigError("k", found=str(list(ks)), expected=expected, remedy="Give --k 1,5,10,50.")
    require(bundle, names)
    evaluation = Evaluation()
    for name in names:
        retriever, lists, start = open_retriever(bundle, name), dict[int, Lists](), time.perf_counter()
        lengths = list_lengths(ks)
        kept = sorted({*lengths, deeper.get(name, max(lengths))})
        for length in _asked(name, kept):
            with reporter.job(f"{name} k={length}"):
                lists[length] = ask(bundle, retriever, test, length, settings, reporter)
        cut = {length: lists[length] if length in lists else lists[max(kept)].top(length) for length in kept}
        measures = [measure(cut[length].items, test.targets, cuts) for length, cuts in lengths.items()]
        evaluation.measures[name.value] = {key: value for found in measures for key, value in found.items()}
        evaluation.longest[name.value] = cut[max(lengths)]
        evaluation.items[name.value] = {length: found.items for length, found in cut.items()}
        evaluation.seconds[name.value] = time.perf_counter() - start
    return evaluation
