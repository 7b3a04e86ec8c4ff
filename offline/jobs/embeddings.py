"""Job `embeddings`: each item's text, or the user's own vector of it, as a row of length 1."""

from pathlib import Path

import numpy as np

from models.bundle import layout
from offline.encoders.base import Vectors, encode_unique, without_text
from offline.encoders.choose import open_encoder
from offline.encoders.texts import item_texts
from offline.encoders.vectors import read_vectors
from offline.jobs.base import Context, Facts, Job

NO_ENCODER = "none"


def _own(context: Context, path: Path) -> tuple[Vectors, Facts]:
    own = read_vectors(path, context.ids())
    return own.vectors, {"source": path.name, "items_without_vector": own.without, "vectors_not_used": own.unknown}


def _encoded(context: Context) -> tuple[Vectors, Facts]:
    rules = context.config.text
    texts = item_texts(context.items(), rules.template)
    facts = {"source": rules.encoder, "template": rules.template, "distinct_texts": len(set(texts) - {""})}
    if rules.encoder == NO_ENCODER or not any(texts):
        return without_text(len(texts)), facts
    encoder = open_encoder(rules.encoder, threads=context.config.engine.threads)
    step = context.reporter.step
    return encode_unique(encoder, texts, batch_size=rules.batch_size, progress=step), facts


def run(context: Context) -> Facts:
    """Write the embeddings."""
    vectors, facts = _encoded(context) if context.vectors is None else _own(context, context.vectors)
    context.writer.add_array(layout.EMBEDDINGS, vectors)
    blank = int((~vectors.any(axis=1)).sum())
    if blank:
        context.reporter.say(f"embeddings: {blank:,} of {len(vectors):,} items have no text or vector")
    return {**facts, "dimensions": int(vectors.shape[1]), "blank_rows": blank, "dtype": str(np.dtype(np.float32))}


JOB = Job("embeddings", "text embeddings", run, writes=(layout.EMBEDDINGS,), after=("items",))
