"""The first state: what a build on everything leaves for updates."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from models.errors import ConfigError
from offline.config import EngineKind
from offline.increment.dataset import rating_arrays, state_facts
from offline.increment.state import StateWriter, forget_old
from offline.ingest.catalogue import Catalogue
from offline.ingest.engine import Engine, QueryEngine
from offline.ingest.interactions import INTERACTIONS
from offline.jobs.base import Context


@contextmanager
def keeping(root: Path, context: Context) -> Iterator[Callable[[], None]]:
    """Keep the accepted interactions as they are read; the yielded function, called after all jobs, writes the rest.

    Raises:
        ConfigError: another engine than DuckDB.
    """
    if context.config.engine.kind is not EngineKind.DUCKDB:
        raise ConfigError(
            "--state",
            found=f"engine {context.config.engine.kind}",
            expected="engine duckdb",
            remedy="Build without --state; updates run on one machine.",
        )
    with StateWriter(root) as writer:

        def keep(engine: QueryEngine, catalogue: Catalogue | None) -> None:
            assert isinstance(engine, Engine)
            engine.save(INTERACTIONS, writer.next_rows())
            writer.add_catalogue(None if catalogue is None else catalogue.table)

        def finish() -> None:
            data = context.dataset
            writer.facts.update(state_facts(data.accepted, data.groups, data.report))
            writer.arrays.update({**rating_arrays(data.ratings()), **context.kept})
            writer.commit(context.writer.folder, context.writer.version)

        context.keep = keep
        yield finish
    forget_old(root, {context.writer.version})
