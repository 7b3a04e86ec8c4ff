"""How requests and replies travel: small binary messages, arrays as their bytes (little endian).

A mask over the catalogue travels as whichever is smallest: the items that it lets through, those that it does not, or
one bit an item.
"""

import struct
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt
import orjson

from models.retrieval import Candidates, Eligible, Items, Query, ValueParams
from models.words import Order

Mask = npt.NDArray[np.bool_]
ID_BYTES = 16


class MaskForm(IntEnum):
    """How a mask travels."""

    ALL = 0
    ONLY = 1
    EXCEPT = 2
    BITS = 3


class Status(IntEnum):
    """What became of a request."""

    OK = 0
    FAILED = 1


@dataclass(frozen=True, slots=True)
class Reply:
    """The worker's answer to one request.

    Attributes:
        id: of the request.
        status: whether it was decoded.
        candidates: the list; empty when it failed.
        queue_ms: from the request's arrival in Redis to the start of its batch.
        decode_ms: of its batch.
        batch: size of its batch.
    """

    id: bytes
    status: Status
    candidates: Candidates
    queue_ms: float = 0.0
    decode_ms: float = 0.0
    batch: int = 0


NOTHING = Candidates(np.empty(0, np.int32), np.empty(0, np.float32), np.empty(0, np.uint8))

_HEAD = struct.Struct("<I")
_REPLY = struct.Struct(f"<{ID_BYTES}sBbffHI")
_NO_FLAG = -1


def _pack_mask(mask: Mask | None) -> tuple[MaskForm, bytes]:
    if mask is None:
        return MaskForm.ALL, b""
    allowed = int(np.count_nonzero(mask))
    bits = (len(mask) + 7) // 8
    if 4 * min(allowed, len(mask) - allowed) >= bits:
        return MaskForm.BITS, np.packbits(mask).tobytes()
    form = MaskForm.ONLY if allowed <= len(mask) - allowed else MaskForm.EXCEPT
    return form, np.flatnonzero(mask if form is MaskForm.ONLY else ~mask).astype("<i4").tobytes()


def _unpack_mask(form: MaskForm, data: bytes, n_items: int) -> Mask | None:
    if form is MaskForm.ALL:
        return None
    if form is MaskForm.BITS:
        return np.unpackbits(np.frombuffer(data, np.uint8), count=n_items).view(np.bool_)
    mask = np.full(n_items, form is MaskForm.EXCEPT)
    mask[np.frombuffer(data, "<i4")] = form is MaskForm.ONLY
    return mask


def encode_query(query: Query) -> bytes:
    """A query as it lies in the stream."""
    form, mask = _pack_mask(query.eligible.mask)
    history, blocked = query.history.astype("<i4").tobytes(), query.eligible.blocked.astype("<i4").tobytes()
    head = orjson.dumps(
        {
            "k": query.k,
            "beam": query.beam,
            "fill": query.fill,
            "order": query.order,
            "value": [query.value.alpha, *query.value.weights, query.value.pool],
            "n_items": query.eligible.n_items,
            "form": form,
            "lengths": [len(history), len(blocked), len(mask)],
        }
    )
    return b"".join((_HEAD.pack(len(head)), head, history, blocked, mask))


def decode_query(data: bytes) -> Query:
    """What `encode_query` wrote."""
    (length,) = _HEAD.unpack_from(data)
    head = orjson.loads(data[_HEAD.size : _HEAD.size + length])
    parts, start = [], _HEAD.size + length
    for size in head["lengths"]:
        parts.append(data[start : start + size])
        start += size
    alpha, popularity, rating, brand, pool = head["value"]
    mask = _unpack_mask(MaskForm(head["form"]), parts[2], head["n_items"])
    return Query(
        history=_items(parts[0]),
        k=head["k"],
        eligible=Eligible(head["n_items"], mask, _items(parts[1])),
        order=Order(head["order"]),
        value=ValueParams(alpha, (popularity, rating, brand), int(pool)),
        beam=head["beam"],
        fill=head["fill"],
    )


def _items(data: bytes) -> Items:
    return np.frombuffer(data, "<i4").astype(np.int32)


def encode_reply(reply: Reply) -> bytes:
    """A reply as it is published."""
    found = reply.candidates
    flag = _NO_FLAG if found.exact is None else int(found.exact)
    head = _REPLY.pack(reply.id, reply.status, flag, reply.queue_ms, reply.decode_ms, reply.batch, len(found.items))
    arrays = (found.items.astype("<i4"), found.scores.astype("<f4"), found.sources.astype("u1"))
    return b"".join((head, *(array.tobytes() for array in arrays)))


def decode_reply(data: bytes) -> Reply:
    """What `encode_reply` wrote."""
    name, status, flag, queue_ms, decode_ms, batch, count = _REPLY.unpack_from(data)
    items = np.frombuffer(data, "<i4", count, _REPLY.size)
    scores = np.frombuffer(data, "<f4", count, _REPLY.size + 4 * count)
    sources = np.frombuffer(data, "u1", count, _REPLY.size + 8 * count)
    exact = None if flag == _NO_FLAG else bool(flag)
    return Reply(name, Status(status), Candidates(items, scores, sources, exact), queue_ms, decode_ms, batch)
