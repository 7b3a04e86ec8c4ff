"""Writing the answer of `/recommend`: one orjson call, headers put together by hand."""

from typing import Any

import numpy as np
import orjson
from starlette.types import Send

from models.words import SOURCES
from service.exchange import Exchange
from service.ports import Served

SOURCE_TEXT = tuple(source.value for source in SOURCES)
DECIMALS = 6
"""Of a score; float32 holds about seven digits."""
CONTENT_TYPE = (b"content-type", b"application/json")


def document(exchange: Exchange, user_id: str | None, served: Served, took_ms: float) -> dict[str, Any]:
    """The answer as `RecommendResponse` documents it."""
    candidates = served.candidates
    scores = candidates.scores.astype(np.float64).round(DECIMALS).tolist()
    rows = zip(served.item_ids, range(1, len(scores) + 1), scores, candidates.sources.tolist(), strict=True)
    assignment = served.assignment
    return {
        "request_id": exchange.request_id,
        "user_id": user_id,
        "retriever": {
            "assigned": served.assigned.value,
            "served": served.served.value,
            "fallback_reason": None if served.reason is None else served.reason.value,
        },
        "experiment": None if assignment is None else {"name": assignment.experiment, "variant": assignment.variant},
        "items": [
            {"item_id": item_id, "rank": rank, "score": score, "source": SOURCE_TEXT[source]}
            for item_id, rank, score, source in rows
        ],
        "exact": candidates.exact,
        "unknown_items": served.unknown,
        "bundle": served.bundle,
        "took_ms": round(took_ms, 3),
    }


def server_timing(timings: dict[str, float], took_ms: float) -> bytes:
    """The `Server-Timing` header.

    >>> server_timing({"queue": 1.5, "search": 0.25}, 2.0)
    b'queue;dur=1.500, search;dur=0.250, total;dur=2.000'
    """
    stages = "".join([f"{stage};dur={ms:.3f}, " for stage, ms in timings.items()])
    return f"{stages}total;dur={took_ms:.3f}".encode()


async def send_json(send: Send, body: bytes, timing: bytes) -> None:
    """A 200 in two messages, without a response object between."""
    headers = [CONTENT_TYPE, (b"content-length", b"%d" % len(body)), (b"server-timing", timing)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def render(exchange: Exchange, user_id: str | None, served: Served, took_ms: float) -> bytes:
    """The body."""
    return orjson.dumps(document(exchange, user_id, served, took_ms))
