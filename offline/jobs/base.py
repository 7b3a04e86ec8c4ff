"""What a job is, and what it is given."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from models.bundle import layout
from models.bundle.writer import BundleWriter
from models.errors import BundleError, ConfigError
from models.ids import ItemIds
from offline.config import BuildConfig
from offline.counts import Counts
from offline.dataset import Dataset, Inputs, Keep, read_against, read_dataset
from offline.progress import Reporter
from offline.shards import Array, Arrays, Result, spread

Facts = dict[str, Any]


@dataclass
class Context:
    """What jobs share while one bundle is written.

    Attributes:
        writer: the bundle being written; jobs read each other's artifacts from it.
        config: the build configuration.
        inputs: the user's files; None where only the bundle is at hand.
        vectors: the user's own item vectors; None = encode the texts.
        reporter: told how far a job is.
        new_catalogue: read items and ids from the inputs; otherwise the bundle's own stay.
        keep: told when accepted interactions can be kept.
        updated: counts that were not read from the inputs but updated.
        kept: arrays that the next update asks for and bundles do not hold.
    """

    writer: BundleWriter
    config: BuildConfig
    inputs: Inputs | None = None
    vectors: Path | None = None
    reporter: Reporter = field(default_factory=Reporter)
    new_catalogue: bool = True
    keep: Keep | None = None
    updated: Counts | None = None
    kept: dict[str, Array] = field(default_factory=dict)

    @property
    def counts(self) -> Counts:
        """What to build from: updated counts, else the inputs, read at first use."""
        return self.dataset if self.updated is None else self.updated

    @cached_property
    def dataset(self) -> Dataset:
        """The inputs, read at first use.

        Raises:
            ConfigError: no inputs were given.
            InputError: they are malformed.
        """
        if self.inputs is None:
            raise ConfigError(
                "interactions",
                found="none",
                expected="interaction files, which this job reads",
                remedy="Give them with --interactions FILE.",
            )
        if self.new_catalogue:
            return read_dataset(self.inputs, self.config, self.keep)
        return read_against(self.inputs.interactions, self.ids(), self.config)

    def ids(self) -> ItemIds:
        """The ids of the bundle being written."""
        return ItemIds(*map(self.writer.read_array, (layout.ID_BYTES, layout.ID_OFFSETS, layout.ID_SLOTS)))

    def items(self) -> pa.Table:
        """The table of items of the bundle being written.

        Raises:
            BundleError: it holds none.
        """
        if not self.writer.has(layout.ITEMS):
            raise BundleError(
                f"bundle {self.writer.version}",
                found="no table of items",
                expected="the artifacts of job items",
                remedy="Run it first: shortlist job items.",
            )
        return pq.read_table(self.writer.folder / f"{layout.ITEMS}.parquet")

    def blocks(
        self, function: Callable[[Arrays, int], Result], names: Sequence[str], count: int, extra: Mapping[str, Array]
    ) -> Iterator[Result]:
        """Results of blocks of items in order, computed where the configuration says.

        Args:
            function: arrays by name and number of a block -> its arrays.
            names: artifacts of the bundle being written that it reads.
            count: number of blocks.
            extra: further arrays by name.
        """
        files = {name: self.writer.folder / f"{name}.npy" for name in names}
        return spread(function, files, extra, count, self.config.engine)

    def close(self) -> None:
        """Free what was read."""
        if "dataset" in self.__dict__:
            self.dataset.close()


@dataclass(frozen=True, slots=True)
class Job:
    """One step of a build; it writes one family of artifacts.

    Attributes:
        name: on the command line and in the manifest.
        about: one line for people.
        run: writes the artifacts; its result goes into the manifest.
        writes: layout names of the artifacts.
        after: jobs whose artifacts it reads.
        reads_inputs: whether it reads the user's interactions.
        section: of the manifest, where its facts go; empty = its name.
    """

    name: str
    about: str
    run: Callable[[Context], Facts]
    writes: tuple[str, ...]
    after: tuple[str, ...] = ()
    reads_inputs: bool = False
    section: str = ""
