"""Job `rings`: the scored ring lists of every item, so that serving TGH is a lookup and a merge."""

from models.bundle import layout
from models.graph import Graph
from models.ring_store import write_ring_lists
from models.rings import RingConfig
from offline.jobs.base import Context, Facts, Job


def run(context: Context) -> Facts:
    """Write the ring lists."""
    read = context.writer.read_array
    graph = Graph(
        read(layout.GRAPH_OFFSETS), read(layout.GRAPH_TARGETS), read(layout.GRAPH_COUNTS), read(layout.GRAPH_WEIGHTS)
    )
    return write_ring_lists(
        context.writer,
        graph,
        read(layout.EMBEDDINGS),
        read(layout.TEXT_NEIGHBOURS),
        RingConfig(**context.config.rings.model_dump()),
        context.reporter.counter(graph.n_items),
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
