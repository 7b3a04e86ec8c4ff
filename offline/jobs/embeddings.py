"""Job `embeddings`: each item's text, or the user's own vector of it, as a row of length 1."""

from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from models.bundle import layout
from offline.config import TextRules
from offline.encoders.base import Encoder, Vectors, distinct_texts, normalised, spread, without_text
from offline.encoders.choose import open_encoder
from offline.encoders.texts import item_texts
from offline.encoders.vectors import read_vectors
from offline.jobs.base import Context, Facts, Job
from offline.shards import Array, Arrays, Result

NO_ENCODER = "none"
TEXT_BYTES, TEXT_OFFSETS = "text_bytes", "text_offsets"


def text_facts(rules: TextRules, texts: Sequence[str]) -> Facts:
    """What the manifest says of the texts."""
    return {"source": rules.encoder, "template": rules.template, "distinct_texts": len(set(texts) - {""})}


def own_vectors(context: Context, path: Path) -> tuple[Vectors, Facts]:
    """The user's own vectors, lined up with the items."""
    own = read_vectors(path, context.ids())
    return own.vectors, {"source": path.name, "items_without_vector": own.without, "vectors_not_used": own.unknown}


def _encoded(context: Context) -> tuple[Vectors, Facts]:
    rules = context.config.text
    texts = item_texts(context.items(), rules.template)
    facts = text_facts(rules, texts)
    if rules.encoder == NO_ENCODER or not any(texts):
        return without_text(len(texts)), facts
    distinct = distinct_texts(texts)
    vectors = spread(texts, distinct, _blocks(context, distinct))
    return vectors, facts


def _blocks(context: Context, distinct: Sequence[str]) -> Iterator[Vectors]:
    rules, threads = context.config.text, context.config.engine.threads
    encoded = [text.encode() for text in distinct]
    offsets = np.concatenate(([0], np.cumsum([len(one) for one in encoded]))).astype(np.int64)
    extra: dict[str, Array] = {TEXT_BYTES: np.frombuffer(b"".join(encoded), np.uint8), TEXT_OFFSETS: offsets}
    work = partial(vectors_of_block, name=rules.encoder, threads=threads, batch_size=rules.batch_size)
    done = context.reporter.counter(len(distinct))
    try:
        for (vectors,) in context.blocks(work, (), -(-len(distinct) // rules.batch_size), extra):
            yield vectors
            done(len(vectors))
    finally:
        _opened.cache_clear()


def vectors_of_block(arrays: Arrays, block: int, *, name: str, threads: int, batch_size: int) -> Result:
    """Vectors of one batch of distinct texts; a process opens the encoder once."""
    offsets = arrays[TEXT_OFFSETS][block * batch_size : (block + 1) * batch_size + 1]
    data = arrays[TEXT_BYTES]
    texts = [data[start:end].tobytes().decode() for start, end in pairwise(offsets.tolist())]
    return (normalised(_opened(name, threads).encode(texts)),)


@lru_cache(maxsize=1)
def _opened(name: str, threads: int) -> Encoder:
    return open_encoder(name, threads=threads)


def run(context: Context) -> Facts:
    """Write the embeddings."""
    vectors, facts = _encoded(context) if context.vectors is None else own_vectors(context, context.vectors)
    return write_embeddings(context, vectors, facts)


def write_embeddings(context: Context, vectors: Vectors, facts: Facts) -> Facts:
    """Write the embeddings; the facts for the manifest."""
    context.writer.add_array(layout.EMBEDDINGS, vectors)
    blank = int((~vectors.any(axis=1)).sum())
    if blank:
        context.reporter.say(f"embeddings: {blank:,} of {len(vectors):,} items have no text or vector")
    return {**facts, "dimensions": int(vectors.shape[1]), "blank_rows": blank, "dtype": str(np.dtype(np.float32))}


JOB = Job("embeddings", "text embeddings", run, writes=(layout.EMBEDDINGS,), after=("items",))
