"""One request and its answer as the edge sees them: id, headers that matter, what is noted for logs and metrics."""

import os
import re
import time
from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

SCOPE_KEY = "shortlist.exchange"
REQUEST_ID = re.compile(rb"[A-Za-z0-9._~+/=:@-]{1,128}")
"""What a caller's X-Request-ID may look like; any other is replaced by a fresh one."""


@dataclass(slots=True)
class Exchange:
    """One request and its answer.

    Attributes:
        request_id: the caller's, checked, or a fresh one.
        started: when its headers were complete, on the clock of `time.monotonic`, in seconds.
        content_type: header, lower case, or empty.
        content_encoding: header, lower case, or empty.
        content_length: header; None = absent (no body, or a chunked one), -1 = not a number.
        status: status of the answer, 0 = none yet.
        route: template of the path that answered, for metrics; empty = none.
        facts: what the route noted.
    """

    request_id: str
    started: float
    content_type: bytes = b""
    content_encoding: bytes = b""
    content_length: int | None = None
    status: int = 0
    route: str = ""
    facts: dict[str, Any] = field(default_factory=dict)


def fresh_id() -> str:
    """128 random bits in hexadecimal."""
    return os.urandom(16).hex()


def _length(value: bytes) -> int:
    return int(value) if value.isdigit() else -1


def open_exchange(headers: Iterable[tuple[bytes, bytes]]) -> Exchange:
    """Read the headers that matter, each once."""
    exchange = Exchange("", time.monotonic())
    for name, value in headers:
        if name == b"content-type":
            exchange.content_type = value.lower()
        elif name == b"content-length":
            exchange.content_length = _length(value)
        elif name == b"x-request-id" and REQUEST_ID.fullmatch(value):
            exchange.request_id = value.decode("ascii")
        elif name == b"content-encoding":
            exchange.content_encoding = value.lower()
    exchange.request_id = exchange.request_id or fresh_id()
    return exchange


def exchange_of(scope: MutableMapping[str, Any]) -> Exchange:
    """The exchange of an ASGI scope that came through the edge."""
    exchange: Exchange = scope[SCOPE_KEY]
    return exchange
