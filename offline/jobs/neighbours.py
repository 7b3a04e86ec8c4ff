"""Job `text-neighbours`: the nearest items of each by cosine, with which short lists are filled."""

from collections.abc import Iterator
from functools import partial

from models.bundle import layout
from models.neighbours import NeighbourConfig, block_rows, exact_block, text_neighbours, width
from models.similarity import Items
from offline.jobs.base import Context, Facts, Job
from offline.shards import Arrays, Result


def neighbours_of_block(arrays: Arrays, block: int, *, m: int) -> Result:
    """Neighbours of the items of one block."""
    embeddings = arrays[layout.EMBEDDINGS]
    rows = block_rows(len(embeddings))
    return (exact_block(embeddings, block * rows, rows, m),)


def _blocks(context: Context, n_items: int, m: int) -> Iterator[Items]:
    work = partial(neighbours_of_block, m=m)
    for (rows,) in context.blocks(work, (layout.EMBEDDINGS,), -(-n_items // block_rows(n_items)), {}):
        yield rows


def run(context: Context) -> Facts:
    """Write the text neighbours."""
    embeddings = context.writer.read_array(layout.EMBEDDINGS)
    config = NeighbourConfig(m=context.config.text.neighbours)
    n_items = len(embeddings)
    blocks = _blocks(context, n_items, width(n_items, config))
    rows, facts = text_neighbours(embeddings, config, context.reporter.counter(n_items), blocks)
    context.writer.add_array(layout.TEXT_NEIGHBOURS, rows)
    return facts


JOB = Job("text-neighbours", "text neighbours", run, writes=(layout.TEXT_NEIGHBOURS,), after=("embeddings",))
