"""The calls as data: what is sent, and how what comes back is read. No I/O."""

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypedDict, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from service.client.answers import Answer, Degraded, ListedItem, Recommendation, SeenItem
from service.client.errors import ServiceError
from service.client.policy import Reply

AnswerT = TypeVar("AnswerT", bound=BaseModel)
DEFAULT_K = 50


class RecommendQuery(TypedDict, total=False):
    """The fields of `POST /recommend`; every one is optional, and the service's documentation says what each means."""

    user_id: str
    session_id: str
    scenario: str
    history: Sequence[str]
    k: int
    exclude: Sequence[str]
    exclude_seen: bool
    filter: Mapping[str, Any]
    value: Mapping[str, Any]
    order: Literal["score", "ring"]
    beam: int
    variant: str
    deadline_ms: float
    fallback: bool


@dataclass(frozen=True, slots=True)
class Event:
    """One thing a user did.

    Attributes:
        user_id: who.
        item_id: with which item.
        event: view, cart, purchase...
        request_id: `Recommendation.request_id` of the list that led to it.
        event_id: makes a repeated event count once.
        timestamp: when, with offset.
    """

    user_id: str
    item_id: str
    event: str = "view"
    request_id: str | None = None
    event_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    timestamp: datetime = field(default_factory=lambda: datetime.now(UTC))

    def document(self) -> dict[str, str]:
        """The event as JSON."""
        members = {
            "event_id": self.event_id,
            "user_id": self.user_id,
            "item_id": self.item_id,
            "event": self.event,
            "timestamp": self.timestamp.isoformat(),
        }
        return members if self.request_id is None else members | {"request_id": self.request_id}


@dataclass(frozen=True, slots=True)
class Call:
    """One request, relative to the service's address."""

    method: str
    path: str
    params: Mapping[str, str | int] = field(default_factory=dict)
    content: bytes | None = None


def recommend(retriever: str | None, query: RecommendQuery) -> Call:
    """`POST /recommend`, or `/recommend/{retriever}`."""
    path = "recommend" if retriever is None else f"recommend/{_segment(retriever)}"
    return Call("POST", path, content=_json(_plain(query)))


def send_events(events: Sequence[Event]) -> Call:
    """`POST /events`."""
    return Call("POST", "events", content=_json([event.document() for event in events]))


def item(item_id: str) -> Call:
    """`GET /items/{id}`."""
    return Call("GET", f"items/{_segment(item_id)}")


def search(q: str, cursor: str | None, limit: int | None) -> Call:
    """`GET /items`."""
    params = {"q": q or None, "cursor": cursor, "limit": limit}
    return Call("GET", "items", params={name: value for name, value in params.items() if value is not None})


def history(user_id: str) -> Call:
    """`GET /users/{id}/history`."""
    return Call("GET", f"users/{_segment(user_id)}/history")


def forget(user_id: str) -> Call:
    """`DELETE /users/{id}/history`."""
    return Call("DELETE", f"users/{_segment(user_id)}/history")


def set_available(item_id: str, available: Literal["in stock", "out of stock"]) -> Call:
    """`PUT /items/{id}/availability`."""
    return Call("PUT", f"items/{_segment(item_id)}/availability", content=_json({"available": available == "in stock"}))


def read(reply: Reply, kind: type[AnswerT]) -> AnswerT:
    """The reply's body as an answer.

    Raises:
        ServiceError: the body is not what the service promises.
    """
    try:
        return kind.model_validate_json(reply.body)
    except ValidationError as error:
        raise ServiceError("bad answer", status=reply.status) from error


class _History(Answer):
    items: list[SeenItem]


def read_history(reply: Reply) -> list[SeenItem]:
    """The body of a history."""
    return read(reply, _History).items


def instead(query: RecommendQuery, fallback: Sequence[str], error: ServiceError) -> Recommendation:
    """The client's own list as an answer, without what the caller holds already or leaves out."""
    left_out = {*query.get("history", ()), *query.get("exclude", ())}
    ids = [item_id for item_id in fallback if item_id not in left_out][: query.get("k", DEFAULT_K)]
    return Recommendation(
        items=[ListedItem(item_id=each, rank=rank, score=0.0, source="fallback") for rank, each in enumerate(ids, 1)],
        user_id=query.get("user_id"),
        degraded=Degraded(reason=error.reason, status=error.status),
    )


def _plain(query: RecommendQuery) -> dict[str, Any]:
    return {
        name: list(value) if name in ("history", "exclude") and isinstance(value, Sequence) else value
        for name, value in query.items()
    }


def _segment(text: str) -> str:
    return quote(text, safe="")


def _json(document: Any) -> bytes:
    return json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
