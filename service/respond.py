"""Writing the answer of `/recommend`: one orjson call, headers put together by hand."""

import orjson
from starlette.types import Send

from service.exchange import Exchange
from service.ports import Assignment, Served

CONTENT_TYPE = (b"content-type", b"application/json")


def render(exchange: Exchange, user_id: str | None, served: Served, took_ms: float) -> bytes:
    """The body as `RecommendResponse` documents it; `_value_` of an enum is an attribute, `value` a Python call."""
    assignment = served.assignment
    return orjson.dumps(
        {
            "request_id": exchange.request_id,
            "user_id": user_id,
            "retriever": {
                "assigned": served.assigned._value_,
                "served": served.served._value_,
                "fallback_reason": None if served.reason is None else served.reason._value_,
            },
            "experiment": _experiment(assignment),
            "items": orjson.Fragment(served.rows.json(served.candidates)),
            "exact": served.candidates.exact,
            "unknown_items": served.unknown,
            "bundle": served.bundle,
            "took_ms": round(took_ms, 3),
        }
    )


def _experiment(assignment: Assignment | None) -> dict[str, str] | None:
    return None if assignment is None else {"name": assignment.experiment, "variant": assignment.variant}


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
