"""Each retriever without HTTP, and how long a bundle takes to open."""

import json
from collections.abc import Iterator

from loadtest.bench.row import Options, Row
from loadtest.running import run_shortlist


def in_process(options: Options) -> Iterator[Row]:
    """Every retriever of the bundle in one process."""
    arguments = ("bench", "retrievers", "--bundle", str(options.bundles), "--k", str(options.k))
    for line in run_shortlist(*arguments, "--seconds", str(options.seconds)).splitlines():
        figures = json.loads(line)
        yield Row("in process", figures.pop("retriever"), figures)


def opening(options: Options) -> Iterator[Row]:
    """A bundle opened in fresh processes."""
    for turn in range(options.rounds):
        figures = json.loads(run_shortlist("bench", "opening", "--bundle", str(options.bundles)))
        yield Row("bundle open", f"process {turn + 1}", figures)
