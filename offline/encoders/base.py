"""What an encoder is, and the parts that all of them share."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from models.errors import MissingExtraError

Vectors = npt.NDArray[np.float32]
Progress = Callable[[int, int], None]
"""Called with texts done and texts in all."""


class Encoder(Protocol):
    """Texts in, vectors out."""

    name: str

    def encode(self, texts: Sequence[str]) -> Vectors:
        """float32 [len(texts), d]; need not be normalised."""
        ...


def normalised(vectors: npt.NDArray[np.floating]) -> Vectors:
    """float32 [n, d] rows of length 1; a zero row stays zero.

    >>> normalised(np.array([[3.0, 4.0], [0.0, 0.0]])).round(3).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    wide = np.asarray(vectors, np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    unit: Vectors = np.divide(wide, lengths, out=np.zeros_like(wide), where=lengths > 0).astype(np.float32)
    return unit


def without_text(n_items: int) -> Vectors:
    """float32 [n_items, 1] of zeros: what a catalogue is embedded as when no text is to be used."""
    return np.zeros((n_items, 1), np.float32)


def encode_unique(encoder: Encoder, texts: Sequence[str], *, batch_size: int, progress: Progress) -> Vectors:
    """Embeddings of all texts, each distinct text encoded once; an empty text gets a zero row.

    Args:
        texts: one an item.
        batch_size: distinct texts encoded at once.
        progress: told after each batch.

    Returns:
        float32 [len(texts), d], L2-normalised; `without_text` where no item has any text.
    """
    distinct = distinct_texts(texts)

    def blocks() -> Iterator[Vectors]:
        for start in range(0, len(distinct), batch_size):
            yield normalised(encoder.encode(distinct[start : start + batch_size]))
            progress(min(start + batch_size, len(distinct)), len(distinct))

    return spread(texts, distinct, blocks())


def distinct_texts(texts: Sequence[str]) -> list[str]:
    """Each text once, texts of about one length together; the empty one left out.

    >>> distinct_texts(["long text", "b", "", "b", "a"])
    ['a', 'b', 'long text']
    """
    return sorted(set(texts) - {""}, key=lambda text: (len(text), text))


def spread(texts: Sequence[str], distinct: Sequence[str], blocks: Iterable[Vectors]) -> Vectors:
    """float32 [len(texts), d]: the vector of each text, a zero row for an empty one.

    Args:
        texts: one an item.
        distinct: as `distinct_texts` gives them.
        blocks: float32 [m, d]: vectors of the distinct texts, batch after batch.
    """
    if not distinct:
        return without_text(len(texts))
    known = np.concatenate(list(blocks))
    table = np.concatenate([known, np.zeros((1, known.shape[1]), np.float32)])
    place = {text: row for row, text in enumerate(distinct)}
    return np.ascontiguousarray(table[[place.get(text, len(distinct)) for text in texts]])


def missing_extra(feature: str, error: ImportError, extra: str) -> MissingExtraError:
    """The error for an optional dependency that is not installed."""
    return MissingExtraError(
        feature,
        found=f"no package {error.name}",
        expected=f"the packages of the extra `{extra}`",
        remedy=f"pip install 'shortlist[{extra}]'",
    )
