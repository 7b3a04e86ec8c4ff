"""Job `items`: the catalogue, its ids and its stock."""

import numpy as np

from models.bundle import layout
from models.item_facts import item_facts
from offline.dataset import Inputs
from offline.ingest.sources import identified
from offline.jobs.base import Context, Facts, Job


def run(context: Context) -> Facts:
    """Read the inputs; write ids, items and availability, and state what was dropped and why."""
    dataset, writer = context.counts, context.writer
    writer.add_array(layout.ID_BYTES, dataset.ids.data)
    writer.add_array(layout.ID_OFFSETS, dataset.ids.offsets)
    writer.add_array(layout.ID_SLOTS, dataset.ids.slots)
    writer.add_table(layout.ITEMS, dataset.items)
    # Of the written table, so that equal catalogues make equal bytes however they came to be in memory.
    writer.add_mapped_table(layout.ITEM_FACTS, item_facts(context.items()))
    available = np.asarray(dataset.items["available"].to_numpy(zero_copy_only=False), np.bool_)
    writer.add_array(layout.AVAILABLE, available)
    as_of = context.config.items.stock_as_of
    writer.section("stock", {"as_of": None if as_of is None else as_of.isoformat()})
    writer.statistics(dataset.statistics())
    if context.inputs is not None:
        writer.section("inputs", _inputs(context.inputs))
    for line in dataset.report.lines():
        context.reporter.say(line)
    return {"available": int(available.sum()), "report": dataset.report.facts()}


def _inputs(inputs: Inputs) -> Facts:
    sources = [*inputs.interactions, *([] if inputs.items is None else [inputs.items])]
    return {str(source): facts for one in sources for source, facts in identified(one)}


JOB = Job(
    "items",
    "catalogue, ids, stock",
    run,
    writes=(
        layout.ID_BYTES,
        layout.ID_OFFSETS,
        layout.ID_SLOTS,
        layout.ITEMS,
        layout.ITEM_FACTS,
        layout.AVAILABLE,
    ),
    reads_inputs=True,
)
