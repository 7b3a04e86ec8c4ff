"""All jobs, in an order in which each comes after those it reads."""

from collections.abc import Iterable

from models.errors import ConfigError
from offline.jobs import embeddings, filters, graph, id_vectors, items, neighbours, rings, values
from offline.jobs.base import Job

JOBS: tuple[Job, ...] = (
    items.JOB,
    filters.JOB,
    graph.JOB,
    values.JOB,
    embeddings.JOB,
    neighbours.JOB,
    rings.JOB,
    id_vectors.JOB,
)


def job_named(name: str) -> Job:
    """The job of a name.

    Raises:
        ConfigError: there is none.
    """
    for job in JOBS:
        if job.name == name:
            return job
    raise ConfigError(
        "job",
        found=repr(name),
        expected=f"one of {', '.join(job.name for job in JOBS)}",
        remedy="See shortlist job --help.",
    )


def with_dependents(names: Iterable[str]) -> tuple[Job, ...]:
    """These jobs and all that read their artifacts, directly or not, in running order.

    >>> [job.name for job in with_dependents(["embeddings"])]
    ['embeddings', 'text-neighbours', 'rings']
    """
    touched = set(names)
    chosen = []
    for job in JOBS:
        if job.name in touched or touched.intersection(job.after):
            touched.add(job.name)
            chosen.append(job)
    return tuple(chosen)
