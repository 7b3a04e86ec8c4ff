"""A small bundle to break."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from models.bundle import layout
from models.bundle.manifest import SplitInfo
from models.bundle.writer import BundleWriter
from models.ids import ItemIds
from models.words import Split
from tests.shop import add_ids

IDS = ("a", "b", "c")


def fill(writer: BundleWriter) -> None:
    """Ids, one array an item, ragged rows, a table and a foreign file."""
    add_ids(writer, ItemIds.from_strings(IDS))
    writer.add_array(layout.POPULARITY, np.array([3, 1, 2], np.int64))
    writer.add_array(layout.POPULAR_ORDER, np.array([0, 2, 1], np.int32))
    writer.add_array(layout.CATEGORY_OFFSETS, np.array([0, 2, 2, 3], np.int64))
    writer.add_array(layout.CATEGORY_CODES, np.array([0, 1, 0], np.int32))
    writer.add_array(layout.EMBEDDINGS, np.eye(3, dtype=np.float32))
    writer.add_table(layout.ITEMS, pa.table({"item_id": list(IDS)}))
    weights = writer.folder.parent / f"weights-{writer.folder.name}"
    weights.write_bytes(b"weights")
    writer.add_file(layout.GENERATOR, weights)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty root."""
    return tmp_path / "bundles"


@pytest.fixture
def build(root: Path) -> Callable[[], str]:
    """Publishes one more bundle below the root and makes it current."""

    def publish() -> str:
        split = SplitInfo(kind=Split.LEAVE_LAST_OUT, truncate_history=20)
        with BundleWriter.create(root, split=split, config={"seed": 7}) as writer:
            fill(writer)
            writer.statistics({"users": np.int64(9)})
            writer.section("timings", {"graph_s": 0.5})
            return writer.publish()

    return publish
