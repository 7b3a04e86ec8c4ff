"""What an update needs beside the bundle: the accepted interactions, the catalogue as read, and counts.

It holds users' interactions, so it is kept apart from the bundles that replicas fetch. One folder a bundle version;
parts that a version shares with the one before it are hard links.
"""

import json
import os
import secrets
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from models.bundle import layout
from models.bundle.reader import Array, Bundle, map_array, sha256
from models.bundle.stream import write_array
from models.errors import ConfigError

FACTS, CATALOGUE = "facts.json", "catalogue.parquet"
ROWS = "rows-{number:05}.parquet"
RATING_ITEMS, RATING_VALUES, RATING_COUNTS = "rating_items", "rating_values", "rating_counts"
ABOUT = "about"
COUNTED = (layout.ID_BYTES, layout.GRAPH_TARGETS, layout.GRAPH_COUNTS, layout.POPULARITY, layout.RING_ENDS)
"""Artifacts by whose checksums a state knows its bundle."""
RINGS_FOUND = "rings_found"
"""int32 [n]: rings of each anchor that are known in full."""


@dataclass(frozen=True, slots=True)
class State:
    """The state of one bundle version.

    Attributes:
        folder: its folder.
        facts: as `StateWriter.commit` was given them.
    """

    folder: Path
    facts: Mapping[str, Any]

    @classmethod
    def of(cls, root: Path, base: Bundle) -> Self:
        """The state of a bundle, or of the one it was trained from.

        Raises:
            ConfigError: there is none, or it belongs to other counts.
        """
        for version in (base.version, base.manifest.sections.get("derived", {}).get("from", base.version)):
            path = root / version / FACTS
            if path.is_file():
                state = cls(path.parent, json.loads(path.read_text()))
                if all(base.manifest.files[name].sha256 == digest for name, digest in state.facts[ABOUT].items()):
                    return state
        raise ConfigError(
            str(root),
            found=f"no state of bundle {base.version}",
            expected="what the build of its counts left there",
            remedy="Build once with shortlist build --state DIR; updates keep it from then on.",
        )

    def rows(self) -> list[Path]:
        """Files of accepted interactions, one a build or update, oldest first."""
        return sorted(self.folder.glob("rows-*.parquet"))

    def catalogue(self) -> pa.Table | None:
        """The catalogue as read; None where the items are those of the interactions."""
        path = self.folder / CATALOGUE
        return pq.read_table(path) if path.is_file() else None

    def array(self, name: str) -> Array:
        """A memory-mapped array."""
        return map_array(self.folder / f"{name}.npy")


@dataclass(slots=True)
class StateWriter:
    """A state being written; a context manager that leaves nothing behind unless committed.

    Attributes:
        root: folder of all states.
        arrays: written at the end, by name.
        facts: written last.
        folder: what is being written.
    """

    root: Path
    arrays: dict[str, Array] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    folder: Path = field(init=False)

    def __post_init__(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        self.folder = self.root / f".staging-{secrets.token_hex(4)}"
        self.folder.mkdir()

    def next_rows(self) -> Path:
        """Where the next part of accepted interactions goes."""
        return self.folder / ROWS.format(number=len(list(self.folder.glob("rows-*.parquet"))))

    def link(self, path: Path) -> None:
        """Take a file of an earlier state."""
        try:
            os.link(path, self.folder / path.name)
        except OSError:
            shutil.copyfile(path, self.folder / path.name)

    def add_catalogue(self, table: pa.Table | None) -> None:
        """Keep the catalogue as read."""
        if table is not None:
            pq.write_table(table, self.folder / CATALOGUE, compression="zstd")

    def commit(self, bundle: Path, version: str) -> None:
        """Finish it as the state of a bundle version that is still being written in a folder."""
        self.facts[ABOUT] = {f"{name}.npy": sha256(bundle / f"{name}.npy") for name in COUNTED}
        for name, array in self.arrays.items():
            write_array(self.folder / f"{name}.npy", np.asarray(array))
        (self.folder / FACTS).write_text(json.dumps(self.facts, ensure_ascii=False))
        self.folder.rename(self.root / version)

    def __enter__(self) -> Self:
        """The writer itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove what was not committed."""
        shutil.rmtree(self.folder, ignore_errors=True)


def forget_old(root: Path, keep: Collection[str]) -> None:
    """Remove the states of all versions but some; what these share with them stays."""
    for folder in root.iterdir():
        if folder.name not in keep and not folder.name.startswith(".staging-"):
            shutil.rmtree(folder)
