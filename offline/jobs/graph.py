"""Job `graph`: which item directly followed which in training sequences."""

from models.bundle import layout
from models.graph import build_graph
from offline.jobs.base import Context, Facts, Job


def run(context: Context) -> Facts:
    """Count transitions and write the edges with their weights."""
    counted = context.counts.transitions()
    graph = build_graph(counted.sources, counted.targets, counted.counts, len(context.counts.ids))
    context.writer.add_array(layout.GRAPH_OFFSETS, graph.offsets)
    context.writer.add_array(layout.GRAPH_TARGETS, graph.targets)
    context.writer.add_array(layout.GRAPH_COUNTS, graph.counts)
    context.writer.add_array(layout.GRAPH_WEIGHTS, graph.weights)
    edges = len(graph.targets)
    return {"edges": edges, "mean_out_degree": edges / graph.n_items, "transitions": int(counted.counts.sum())}


JOB = Job(
    "graph",
    "transition graph",
    run,
    writes=(layout.GRAPH_OFFSETS, layout.GRAPH_TARGETS, layout.GRAPH_COUNTS, layout.GRAPH_WEIGHTS),
    after=("items",),
    reads_inputs=True,
)
