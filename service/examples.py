"""Examples of the OpenAPI document: what a request of each operation looks like and what it is answered.

A test holds each of them to the schema beside it.
"""

from typing import Any

from service.problems import ProblemKind

ITEM = "B004756YJA"
VERSION = "20261130T101500-3f2a"
REQUEST_ID = "0b7d2f6e5a7c4a1e"

_RECOMMENDED = {
    "request_id": REQUEST_ID,
    "user_id": "u1",
    "retriever": {"assigned": "gr", "served": "dr-prior", "fallback_reason": "deadline"},
    "experiment": {"name": "retriever-1", "variant": "gr"},
    "items": [
        {"item_id": ITEM, "rank": 1, "score": 0.83, "source": "dr"},
        {"item_id": "B004ZT0SSG", "rank": 2, "score": 0.79, "source": "dr"},
    ],
    "exact": None,
    "unknown_items": [],
    "bundle": VERSION,
    "took_ms": 1.9,
}
_EVENT = {
    "event_id": "e-1001",
    "user_id": "u1",
    "item_id": ITEM,
    "timestamp": "2026-11-30T10:00:00Z",
    "event": "view",
    "request_id": REQUEST_ID,
}
_ITEM = {
    "item_id": ITEM,
    "title": "Nail lacquer, red",
    "brand": "OPI",
    "price": 8.5,
    "categories": [["Beauty", "Nail Polish"]],
    "available": True,
    "rating_avg": 4.4,
    "rating_count": 212,
    "popularity": 931,
    "value": {"popularity": 0.97, "rating": 0.81, "brand": 0.99},
}
_NEIGHBOUR = {"item_id": "B004ZT0SSG", "title": "Top coat", "count": 17, "weight": 1.0, "hop": 1}
_BUNDLES = {"serves": VERSION, "current": VERSION, "versions": ["20261129T101500-91c0", VERSION], "refusal": None}
_EXPERIMENT = {
    "name": "retriever-1",
    "salt": "autumn",
    "scenario": "home",
    "traffic": 1.0,
    "variants": [
        {"name": "graph", "weight": 1.0, "retriever": "tgh-2"},
        {"name": "gr", "weight": 1.0, "retriever": "gr"},
    ],
    "running": True,
}
_RUNNING = {
    "name": "retriever-1",
    "scenario": "home",
    "variants": [{"name": "graph", "retriever": "tgh-2"}, {"name": "gr", "retriever": "gr"}],
}

REQUESTS: dict[str, Any] = {
    "recommend": {"history": [ITEM, "B004ZT0SSG"], "k": 10, "retriever": "tgh-2"},
    "recommendFrom": {"user_id": "u1", "k": 10},
    "postEvents": _EVENT,
    "putAvailability": {"available": False},
    "putAvailabilities": {"items": [{"item_id": ITEM, "available": False}]},
    "putExperiment": _EXPERIMENT,
}
"""Bodies by operation id."""

ANSWERS: dict[str, Any] = {
    "recommend": _RECOMMENDED,
    "recommendFrom": _RECOMMENDED,
    "getHealth": {"status": "ok"},
    "getReadiness": {
        "status": "ready",
        "bundle": VERSION,
        "n_items": 12101,
        "retrievers": ["tgh-1", "tgh-2", "popular"],
    },
    "postEvents": {"accepted": 1, "duplicates": 0},
    "getHistory": {
        "user_id": "u1",
        "items": [{"item_id": ITEM, "event": "view", "timestamp": "2026-11-30T10:00:00Z", "weight": 1.0}],
    },
    "deleteHistory": {"user_id": "u1", "erased": 1},
    "putAvailability": {"item_id": ITEM, "available": False, "revision": 7},
    "putAvailabilities": {"changed": 1, "revision": 7, "unknown_items": []},
    "listRunningExperiments": {"experiments": [_RUNNING]},
    "listItems": {"items": [_ITEM], "next_cursor": "MjA", "bundle": VERSION},
    "getItem": _ITEM,
    "getNeighbours": {
        "item_id": ITEM,
        "neighbours": [_NEIGHBOUR],
        "incoming": [_NEIGHBOUR],
        "ring_sizes": [14, 203, 2790],
        "bundle": VERSION,
    },
    "listBundles": _BUNDLES,
    "reloadBundle": _BUNDLES,
    "rollBackBundle": _BUNDLES,
    "listExperiments": {"experiments": [_EXPERIMENT]},
    "getExperiment": _EXPERIMENT,
    "putExperiment": _EXPERIMENT,
    "startExperiment": _EXPERIMENT,
    "stopExperiment": _EXPERIMENT | {"running": False},
}
"""Answers of status 200 by operation id."""

PARAMETERS: dict[str, tuple[str, str]] = {
    "item_id": ("The item's id, percent-encoded.", ITEM),
    "user_id": ("The user's id, percent-encoded.", "u1"),
    "name": ("The experiment's name.", "retriever-1"),
    "retriever": ("Who should answer.", "tgh-2"),
    "cursor": ("`next_cursor` of the page before.", "MjA"),
}
"""Description and example by name."""

_PROBLEMS: dict[int, tuple[ProblemKind, str, str]] = {
    400: (ProblemKind.NOT_JSON, "Bad Request", "The body is not JSON: expected value at line 1 column 1."),
    401: (ProblemKind.UNAUTHORISED, "Unauthorized", "The request needs a key: Authorization: Bearer KEY."),
    403: (ProblemKind.FORBIDDEN, "Forbidden", "The key does not have the scope write."),
    404: (ProblemKind.UNKNOWN_ITEM, "Not Found", "The bundle holds no such item."),
    408: (ProblemKind.BODY_TIMEOUT, "Request Timeout", "The body did not arrive in time."),
    409: (ProblemKind.CONFLICT, "Conflict", "Another experiment runs in this scenario: stop it first."),
    413: (ProblemKind.BODY_TOO_LARGE, "Content Too Large", "The body has more than 2097152 bytes."),
    415: (ProblemKind.UNSUPPORTED_MEDIA_TYPE, "Unsupported Media Type", "The body must be application/json."),
    422: (ProblemKind.BAD_FIELD, "Unprocessable Content", "A field is not valid."),
    429: (ProblemKind.TOO_MANY_REQUESTS, "Too Many Requests", "Too many requests from this address."),
    503: (ProblemKind.UNAVAILABLE, "Service Unavailable", "No bundle is loaded."),
}


def problem(status: int) -> dict[str, Any]:
    """A problem document of a status."""
    kind, title, detail = _PROBLEMS[status]
    document: dict[str, Any] = {
        "type": f"urn:shortlist:problem:{kind}",
        "title": title,
        "status": status,
        "detail": detail,
        "request_id": REQUEST_ID,
    }
    if status == 422:
        document["errors"] = [{"detail": "Input should be less than or equal to 500", "pointer": "#/k"}]
    if status == 503:
        document["reason"] = "bundle"
    return document


def add_examples(operation: dict[str, Any]) -> None:
    """Put them into an operation of the document; both versions of a path share theirs."""
    name = operation["operationId"].removesuffix("V1")
    for parameter in operation.get("parameters", ()):
        if parameter["name"] in PARAMETERS:
            parameter["description"], parameter["example"] = PARAMETERS[parameter["name"]]
    if name in REQUESTS:
        operation["requestBody"]["content"]["application/json"]["example"] = REQUESTS[name]
    for status, answer in operation["responses"].items():
        for media_type, content in answer.get("content", {}).items():
            if media_type == "application/json" and name in ANSWERS:
                content["example"] = ANSWERS[name]
            elif media_type == "application/problem+json":
                content["example"] = problem(int(status))
