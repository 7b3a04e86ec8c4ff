"""Job `rings`: the scored ring lists of every item, so that serving TGH is a lookup and a merge."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from models.bundle import layout
from models.graph import Graph
from models.ring_lists import RingBlock, ring_block
from models.ring_store import write_ring_lists
from models.rings import Reverse, RingConfig, RingInputs, reverse
from offline.increment.state import RINGS_FOUND
from offline.jobs.base import Context, Facts, Job
from offline.shards import Array, Arrays, Result

BACK_OFFSETS, BACK_SOURCES = "back_offsets", "back_sources"
READS = (
    layout.GRAPH_OFFSETS,
    layout.GRAPH_TARGETS,
    layout.GRAPH_WEIGHTS,
    layout.EMBEDDINGS,
    layout.TEXT_NEIGHBOURS,
)


def rings_of_block(arrays: Arrays, block: int, *, config: RingConfig) -> Result:
    """Ring lists of the anchors of one block, as the fields of a `RingBlock`."""
    inputs = RingInputs(*(arrays[name] for name in READS[:4]))
    backwards = Reverse(arrays[BACK_OFFSETS], arrays[BACK_SOURCES])
    first, n_items = block * config.block, len(inputs.offsets) - 1
    anchors = np.arange(first, min(first + config.block, n_items), dtype=np.int32)
    found = ring_block(inputs, backwards, arrays[layout.TEXT_NEIGHBOURS], config, anchors)
    return found.items, found.scores, found.ends, found.sizes, found.found


def _blocks(context: Context, graph: Graph, config: RingConfig) -> Iterator[RingBlock]:
    backwards = reverse(graph)
    extra: dict[str, Array] = {BACK_OFFSETS: backwards.offsets, BACK_SOURCES: backwards.sources}
    work, known = partial(rings_of_block, config=config), []
    for result in context.blocks(work, READS, -(-graph.n_items // config.block), extra):
        block = RingBlock(*result)
        known.append(block.found)
        yield block
    context.kept[RINGS_FOUND] = np.concatenate(known)


def bundle_graph(context: Context) -> Graph:
    """The graph of the bundle being written."""
    names = (layout.GRAPH_OFFSETS, layout.GRAPH_TARGETS, layout.GRAPH_COUNTS, layout.GRAPH_WEIGHTS)
    return Graph(*(np.asarray(context.writer.read_array(name)) for name in names))


def run(context: Context) -> Facts:
    """Write the ring lists."""
    graph, read = bundle_graph(context), context.writer.read_array
    config = RingConfig(**context.config.rings.model_dump())
    return write_ring_lists(
        context.writer,
        graph,
        read(layout.EMBEDDINGS),
        read(layout.TEXT_NEIGHBOURS),
        config,
        context.reporter.counter(graph.n_items),
        _blocks(context, graph, config),
    )


JOB = Job(
    "rings",
    "ring lists of every item",
    run,
    writes=(
        layout.RING_OFFSETS,
        layout.RING_ENDS,
        layout.RING_SIZES,
        layout.RING_ITEMS,
        layout.RING_SCORES,
    ),
    after=("graph", "embeddings", "text-neighbours"),
)
