"""Embeddings and text neighbours after an update: new texts are encoded, lists of other items only gain from them."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.bundle import layout
from models.bundle.reader import Bundle
from models.kernels import read_only
from models.neighbours import merged_neighbours
from models.similarity import Floats, Items
from offline.encoders.base import Vectors, encode_unique, without_text
from offline.encoders.choose import open_encoder
from offline.encoders.texts import item_texts
from offline.increment.counts import GONE, Renumbering
from offline.jobs.base import Context, Facts
from offline.jobs.embeddings import NO_ENCODER, text_facts

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Texts:
    """Embeddings after an update.

    Attributes:
        vectors: float32 [n, d].
        changed: bool [n]: items that are new or whose embedding differs from the base's.
    """

    vectors: Vectors
    changed: Mask


def compared(base: Bundle, vectors: Vectors, moves: Renumbering) -> Texts:
    """Which rows differ from the base's, to the bit."""
    old = base.array(layout.EMBEDDINGS)
    changed = moves.origin == GONE
    if old.shape[1] != vectors.shape[1]:
        return Texts(vectors, np.ones(len(vectors), np.bool_))
    known = np.flatnonzero(~changed)
    changed[known] = (vectors[known] != old[moves.origin[known]]).any(axis=1)
    return Texts(vectors, changed)


def encoded(context: Context, base: Bundle) -> tuple[Vectors, Facts]:
    """Embeddings of the items' texts, of which only those that the base lacks are encoded."""
    rules = context.config.text
    texts, old_texts = (item_texts(table, rules.template) for table in (context.items(), base.table(layout.ITEMS)))
    facts = text_facts(rules, texts)
    if rules.encoder == NO_ENCODER or not any(texts):
        return without_text(len(texts)), facts
    place = {text: row for row, text in enumerate(old_texts) if text} if any(old_texts) else {}
    missing = sorted({text for text in texts if text and text not in place})
    known = np.asarray(base.array(layout.EMBEDDINGS))
    if missing:
        encoder = open_encoder(rules.encoder, threads=context.config.engine.threads)
        fresh = encode_unique(encoder, missing, batch_size=rules.batch_size, progress=context.reporter.step)
        known = np.concatenate([known, fresh]) if place else fresh
        start = len(known) - len(fresh)
        place.update((text, start + row) for row, text in enumerate(missing))
    rows = np.fromiter((place.get(text, GONE) for text in texts), np.int64, len(texts))
    vectors = known[rows]
    vectors[rows == GONE] = 0
    return np.ascontiguousarray(vectors), facts


def updated_neighbours(base: Bundle, texts: Texts, moves: Renumbering, m: int) -> tuple[Items, Mask] | None:
    """Exact text neighbours int32 [n, m], and bool [n] whose changed; None where they must be computed anew."""
    old = base.array(layout.TEXT_NEIGHBOURS)
    if old.shape[1] != m or base.array(layout.EMBEDDINGS).shape[1] != texts.vectors.shape[1]:
        return None
    rows = np.full((len(texts.vectors), m), GONE, np.int32)
    kept = np.flatnonzero(moves.origin != GONE)
    lists = np.asarray(old[moves.origin[kept]])
    if not moves.same:
        moved = np.where(lists >= 0, moves.place[lists], GONE)
        lists = moved.astype(np.int32)
    rows[kept] = lists
    stale = texts.changed.copy()
    listed = np.where(rows >= 0, rows, 0)
    stale |= ((texts.changed[listed]) & (rows >= 0)).any(axis=1)
    stale[kept] |= (np.asarray(old[moves.origin[kept]]) >= 0).sum(axis=1) != (lists >= 0).sum(axis=1)
    before = rows.copy()
    merged_neighbours(read_only(texts.vectors), rows, np.flatnonzero(texts.changed).astype(np.int32), stale)
    return rows, stale | (rows != before).any(axis=1)


def embeddings_of(context: Context, own: Floats | None, base: Bundle) -> tuple[Vectors, Facts]:
    """The user's own vectors where given, else encoded texts."""
    return (own, {}) if own is not None else encoded(context, base)
