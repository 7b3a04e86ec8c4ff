"""When to try again: one conversation with the service as a generator, driven by the blocking and the async client."""

import json
import random
import time
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from service.client.errors import ServiceError

RETRIED = frozenset({429, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Policy:
    """How long and how often.

    Attributes:
        timeout_s: for one call, retries included, in seconds.
        retries: further tries after no answer or a status of RETRIED, as far as the time allows.
        backoff_s: longest wait before the first retry, doubled for each further one; the wait is drawn evenly from 0
            up. A `Retry-After` of the service takes its place.
    """

    timeout_s: float = 0.4
    retries: int = 1
    backoff_s: float = 0.05


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of any status."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Try:
    """Send the request and come back within `timeout_s` with a `Reply` or a `ServiceError`."""

    timeout_s: float


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait."""

    seconds: float


Outcome = Reply | ServiceError | None
Conversation = Generator[Try | Pause, Outcome, Reply]


def conversation(policy: Policy) -> Conversation:
    """Yields what to do next; returns the first reply below 400.

    Raises:
        ServiceError: the last one, when no try is left or the time is up.
    """
    deadline = time.monotonic() + policy.timeout_s
    for attempt in range(policy.retries + 1):
        outcome = yield Try(max(deadline - time.monotonic(), 0.001))
        error = _error(outcome)
        if error is None:
            assert isinstance(outcome, Reply)
            return outcome
        wait_s = _wait(error, policy, attempt)
        if attempt == policy.retries or wait_s is None or time.monotonic() + wait_s >= deadline:
            raise error
        yield Pause(wait_s)
    raise AssertionError("the last try returns or raises")


def _error(outcome: Outcome) -> ServiceError | None:
    if isinstance(outcome, Reply):
        return refusal(outcome) if outcome.status >= 300 else None
    return outcome


def _wait(error: ServiceError, policy: Policy, attempt: int) -> float | None:
    """Seconds before the next try, None = trying again is of no use."""
    if error.status not in RETRIED | {0}:
        return None
    if error.retry_after_s is not None:
        return error.retry_after_s
    return random.uniform(0, policy.backoff_s * 2**attempt)


def refusal(reply: Reply) -> ServiceError:
    """A reply of 300 or more as an error, with its problem document when it carries one."""
    return ServiceError(
        f"status {reply.status}",
        status=reply.status,
        problem=_problem(reply.body),
        retry_after_s=_seconds(reply.headers.get("retry-after")),
    )


def _problem(body: bytes) -> dict[str, Any]:
    """The problem document; empty for a proxy's page."""
    try:
        document = json.loads(body)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _seconds(text: str | None) -> float | None:
    """`Retry-After` in seconds; its other form, a date, is read as absent."""
    try:
        return max(float(text), 0.0) if text is not None else None
    except ValueError:
        return None
