"""Building a bundle: all jobs, one after another, measured, published only when complete."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from models.bundle import layout, versions
from models.bundle.manifest import SplitInfo
from models.bundle.reader import Bundle
from models.bundle.writer import BundleWriter
from models.errors import ConfigError
from offline.config import BuildConfig
from offline.dataset import Inputs
from offline.increment.begin import keeping
from offline.jobs.base import Context, Job
from offline.jobs.catalog import JOBS, job_named, with_dependents
from offline.measure import measured
from offline.progress import Reporter

JOB_COSTS = "jobs"
"""Section of the manifest with each job's wall time (seconds) and peak memory (MiB)."""

FIRST_JOB = "items"

OUTDATED_BY: dict[str, tuple[str, ...]] = {
    "embeddings": (
        layout.CODES,
        layout.TRIE_STARTS,
        layout.TRIE_CODES,
        layout.TRIE_ITEMS,
        layout.GENERATOR,
        layout.QUERY_INPUTS,
        layout.QUERY_ENCODER,
        layout.ITEM_VECTORS,
        layout.INDEX,
        layout.TRAINING_CURVES,
    ),
}
"""Job -> trained artifacts that were learnt from what it writes."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to build, where, from what.

    Attributes:
        bundles: the bundles root.
        config: the build configuration.
        inputs: the user's files; None = only what the current bundle holds.
        vectors: the user's own item vectors.
        state: root of the states from which `shortlist update` goes on; None = keep none.
    """

    bundles: Path
    config: BuildConfig
    inputs: Inputs | None = None
    vectors: Path | None = None
    state: Path | None = None


def build(request: Request, reporter: Reporter, jobs: Sequence[Job] = JOBS) -> str:
    """Run every job, or those given in their order, and publish a new bundle. Its version.

    Raises:
        InputError: the files are malformed or hold nothing usable.
        ConfigError: no inputs, or a text encoder that cannot be loaded.
        BundleError: the bundle cannot be written; the one that serves stays.
    """
    with _new_writer(request) as writer:
        context = Context(writer, request.config, request.inputs, request.vectors, reporter)
        if request.state is None:
            return _run_and_publish(context, jobs, {})
        with keeping(request.state, context) as finish:
            return _run_and_publish(context, jobs, {}, finish)


def run_job(request: Request, name: str, reporter: Reporter) -> str:
    """Run one job alone on a new version derived from the current one (the first job makes a new root's first).

    Jobs that read its artifacts and whose own the current bundle holds run after it, and trained artifacts that it
    outdates are left out, so that a bundle never holds artifacts that disagree. Job `items` starts from nothing.

    Raises:
        ConfigError: no such job, or it needs inputs that were not given.
        BundleError: there is no current bundle to derive from, or an artifact that the job reads is missing.
    """
    job = job_named(name)
    if job.name == FIRST_JOB:
        jobs = _refreshed(job, Bundle.open(request.bundles)) if versions.current(request.bundles) else [job]
        with _new_writer(request) as writer:
            return _run_and_publish(_context(request, writer, reporter, new_catalogue=True), jobs, {})
    base = Bundle.open(request.bundles)
    _check_split(request, base, job)
    with BundleWriter.derive(request.bundles, base) as writer:
        writer.config = request.config.model_dump(mode="json")
        jobs = _refreshed(job, base)
        _leave_out(writer, OUTDATED_BY.get(job.name, ()), reporter)
        context = _context(request, writer, reporter, new_catalogue=False)
        return _run_and_publish(context, jobs, dict(base.manifest.sections.get(JOB_COSTS, {})))


def _new_writer(request: Request) -> BundleWriter:
    split = SplitInfo(kind=request.config.split, truncate_history=request.config.truncate_history)
    return BundleWriter.create(request.bundles, split=split, config=request.config.model_dump(mode="json"))


def _context(request: Request, writer: BundleWriter, reporter: Reporter, *, new_catalogue: bool) -> Context:
    return Context(writer, request.config, request.inputs, request.vectors, reporter, new_catalogue)


def _check_split(request: Request, base: Bundle, job: Job) -> None:
    asked = SplitInfo(kind=request.config.split, truncate_history=request.config.truncate_history)
    if asked != base.manifest.split:
        raise ConfigError(
            f"job {job.name}",
            found=f"split {asked.kind}, truncate_history {asked.truncate_history}",
            expected=f"those of the current bundle: {base.manifest.split.kind}, {base.manifest.split.truncate_history}",
            remedy="A bundle has one split; build a new one with shortlist build.",
        )


def _refreshed(job: Job, base: Bundle) -> Sequence[Job]:
    dependents = with_dependents([job.name])
    return [one for one in dependents if one is job or all(base.has(name) for name in one.writes)]


def _leave_out(writer: BundleWriter, names: Sequence[str], reporter: Reporter) -> None:
    gone = [name for name in names if writer.has(name)]
    for name in gone:
        for suffix in ("", ".npy", ".parquet"):
            (writer.folder / f"{name}{suffix}").unlink(missing_ok=True)
    if gone:
        reporter.say(f"left out, train them again: {', '.join(gone)}")


def _run_and_publish(
    context: Context,
    jobs: Sequence[Job],
    costs: dict[str, dict[str, float]],
    finish: Callable[[], None] = lambda: None,
) -> str:
    try:
        with measured() as total:
            for job in jobs:
                costs[job.name] = _run_measured(context, job)
            finish()
        context.writer.section(JOB_COSTS, costs)
    finally:
        context.close()
    version = context.writer.publish()
    total.peak_mib = max(costs[job.name]["peak_mib"] for job in jobs)
    context.reporter.done("all jobs", total)
    context.reporter.say(f"published {version}")
    return version


def _run_measured(context: Context, job: Job) -> dict[str, float]:
    with context.reporter.job(job.name), measured() as cost:
        facts = job.run(context)
    context.writer.section(job.section or job.name, facts)
    context.reporter.done(job.name, cost)
    return cost.facts()
