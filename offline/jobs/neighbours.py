"""Job `text-neighbours`: the nearest items of each by cosine, with which short lists are filled."""

from models.bundle import layout
from models.neighbours import NeighbourConfig, text_neighbours
from offline.jobs.base import Context, Facts, Job


def run(context: Context) -> Facts:
    """Write the text neighbours."""
    embeddings = context.writer.read_array(layout.EMBEDDINGS)
    config = NeighbourConfig(m=context.config.text.neighbours)
    rows, facts = text_neighbours(embeddings, config, context.reporter.counter(len(embeddings)))
    context.writer.add_array(layout.TEXT_NEIGHBOURS, rows)
    return facts


JOB = Job("text-neighbours", "text neighbours", run, writes=(layout.TEXT_NEIGHBOURS,), after=("embeddings",))
