"""The bundle that an audit needs, built for it alone: split, and without anything that is trained."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from models.bundle.reader import Bundle
from models.words import Split
from offline.build import Request, build
from offline.config import BuildConfig
from offline.dataset import Inputs
from offline.jobs import id_vectors
from offline.jobs.catalog import JOBS
from offline.progress import Reporter

TRAINED = (id_vectors.JOB.name,)


@contextmanager
def passing_bundle(inputs: Inputs, config: BuildConfig, reporter: Reporter) -> Iterator[Bundle]:
    """A bundle that lives as long as the block, with the last items held out whatever the configuration says.

    Raises:
        InputError: the files are malformed or hold nothing usable.
        ConfigError: a text encoder that cannot be loaded.
    """
    split = config.model_copy(update={"split": Split.LEAVE_LAST_OUT})
    with TemporaryDirectory(prefix="shortlist-audit-") as folder:
        build(Request(Path(folder), split, inputs), reporter, [job for job in JOBS if job.name not in TRAINED])
        yield Bundle.open(Path(folder), verify="sizes")
