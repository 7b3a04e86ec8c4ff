"""What is written down of a request and of an event. Users and units appear as keyed hashes only."""

from datetime import UTC, datetime

import orjson

from models.words import SOURCES
from service.history import Event
from service.ports import Served
from service.schemas import RecommendRequest
from service.sinks.files import Record
from service.sinks.pseudonym import pseudonym

_SOURCES = [source.value for source in SOURCES]


def exposure_record(key: bytes, request_id: str, request: RecommendRequest, served: Served) -> Record:
    """One answered request: who was assigned, what was served, and why."""
    assignment = served.assignment
    unit = None if assignment is None else assignment.unit
    return {
        "request_id": request_id,
        "timestamp": datetime.now(UTC),
        "user_id": None if request.user_id is None else pseudonym(key, request.user_id),
        "unit": None if unit is None else _unit(key, unit),
        "scenario": request.scenario,
        "experiment": None if assignment is None else assignment.experiment,
        "variant": None if assignment is None else assignment.variant,
        "salt": None if assignment is None else assignment.salt,
        "share": None if assignment is None else assignment.share,
        "forced": assignment is not None and assignment.forced,
        "assigned": served.assigned,
        "served": served.served,
        "fallback_reason": served.reason,
        "bundle": served.bundle,
        "k": request.k,
        "items": orjson.Fragment(served.rows.ids_json(served.candidates)),
        "sources": [_SOURCES[code] for code in served.candidates.sources.tolist()],
    }


def _unit(key: bytes, unit: str) -> str:
    """`user:<hash of the id>` is the hash of `user_id` too, so that a user can be forgotten by it.

    >>> _unit(b"k", "session:s1") == "session:" + pseudonym(b"k", "s1")
    True
    """
    kind, _, name = unit.partition(":")
    return f"{kind}:{pseudonym(key, name)}"


def event_record(key: bytes, event: Event) -> Record:
    """One event in the columns of `interactions`, and the list that led to it."""
    return {
        "user_id": pseudonym(key, event.user_id),
        "item_id": event.item_id,
        "timestamp": event.timestamp.astimezone(UTC),
        "event": event.event,
        "event_id": event.event_id,
        "request_id": event.request_id,
    }
