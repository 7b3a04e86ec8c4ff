"""Facts of items are the same whether a bundle holds them mapped or an older one only as a table."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from models.bundle import layout
from models.bundle.reader import Bundle
from models.bundle.writer import BundleWriter
from offline.build import Request, build
from offline.jobs import filters, graph, items, values
from offline.progress import Reporter
from service.catalogue import Catalogue
from tests.offline.shop import config, inputs

JOBS = (items.JOB, filters.JOB, graph.JOB, values.JOB)


def without_facts(root: Path) -> Bundle:
    """A version derived from the current one that lacks the mapped facts."""
    with BundleWriter.derive(root, Bundle.open(root)) as writer:
        (writer.folder / layout.ITEM_FACTS).unlink()
        writer.publish()
    return Bundle.open(root)


def test_mapped_facts_are_those_of_the_table(tmp_path: Path) -> None:
    build(Request(tmp_path / "bundles", config(), inputs(tmp_path)), Reporter(quiet=True), JOBS)
    bundle = Bundle.open(tmp_path / "bundles")
    before = pa.total_allocated_bytes()
    mapped = Catalogue(bundle)
    words = mapped._table["words"].to_pylist()
    allocated = pa.total_allocated_bytes() - before
    older = Catalogue(without_facts(tmp_path / "bundles"))
    everything = np.arange(bundle.n_items, dtype=np.int32)

    assert allocated == 0
    assert words == older._table["words"].to_pylist()
    assert mapped.describe(everything, None) == older.describe(everything, None)
    assert mapped.titles(everything) == older.titles(everything)
    assert any(mapped.titles(everything))
    for text in ("", words[0].upper(), words[-1][:3]):
        found = mapped.search(text, cursor=None, limit=bundle.n_items).items
        np.testing.assert_array_equal(found, older.search(text, cursor=None, limit=bundle.n_items).items)
        assert len(found)
