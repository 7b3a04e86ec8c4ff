"""The client for threads."""

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Literal, Self, Unpack

import httpx

from service.client import calls
from service.client.answers import Item, Recommendation, SearchPage, SeenItem
from service.client.calls import Call, Event, RecommendQuery
from service.client.errors import ServiceError
from service.client.policy import Outcome, Pause, Policy, Reply, Try, conversation

PHASES = ("connect", "read", "write", "pool")


class ShortlistClient:
    """Talks to one service over kept connections; may be shared by threads.

    Args:
        base_url: where the service is; a path in it is kept.
        fallback: item ids that `recommend` answers with when the service does not.
        api_key: sent as a bearer token.
        policy: how long and how often.
        transport: for tests and proxies.

    All methods raise `ServiceError`.
    """

    def __init__(
        self,
        base_url: str,
        *,
        fallback: Sequence[str] = (),
        api_key: str | None = None,
        policy: Policy | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._fallback = tuple(fallback)
        self._policy = policy or Policy()
        self._http = httpx.Client(base_url=base_url, headers=request_headers(api_key), transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the kept connections."""
        self._http.close()

    def recommend(self, *, retriever: str | None = None, **query: Unpack[RecommendQuery]) -> Recommendation:
        """Candidates; with a fallback list, an answer in any case but a wrong request."""
        try:
            return calls.read(self._do(calls.recommend(retriever, query)), Recommendation)
        except ServiceError as error:
            if error.is_callers_fault or not self._fallback:
                raise
            return calls.instead(query, self._fallback, error)

    def send_events(self, *events: Event) -> None:
        """Appends events to the histories of their users; safe to repeat."""
        self._do(calls.send_events(events))

    def item(self, item_id: str) -> Item:
        """One item of the catalogue."""
        return calls.read(self._do(calls.item(item_id)), Item)

    def search(self, q: str = "", *, cursor: str | None = None, limit: int | None = None) -> SearchPage:
        """Items that hold the words; no words = all, most popular first."""
        return calls.read(self._do(calls.search(q, cursor, limit)), SearchPage)

    def history(self, user_id: str) -> list[SeenItem]:
        """What the service keeps of a user, oldest first."""
        return calls.read_history(self._do(calls.history(user_id)))

    def forget(self, user_id: str) -> None:
        """Erases a user's history."""
        self._do(calls.forget(user_id))

    def set_available(self, item_id: str, available: Literal["in stock", "out of stock"]) -> None:
        """Takes an item out of every list, or lets it in again."""
        self._do(calls.set_available(item_id, available))

    def _do(self, call: Call) -> Reply:
        talk = conversation(self._policy)
        outcome: Outcome = None
        try:
            while True:
                step = talk.send(outcome)
                outcome = self._step(call, step)
        except StopIteration as end:
            reply: Reply = end.value
            return reply

    def _step(self, call: Call, step: Try | Pause) -> Outcome:
        if isinstance(step, Try):
            return self._try(call, step.timeout_s)
        time.sleep(step.seconds)
        return None

    def _try(self, call: Call, timeout_s: float) -> Reply | ServiceError:
        deadline = time.monotonic() + timeout_s
        try:
            with self._http.stream(
                call.method, call.path, params=call.params, content=call.content, extensions=shrinking(deadline)
            ) as response:
                return Reply(response.status_code, dict(response.headers), _body(response, deadline))
        except httpx.TimeoutException as error:
            return because("timeout", error)
        except httpx.HTTPError as error:
            return because("no answer", error)


def request_headers(api_key: str | None) -> dict[str, str]:
    """Headers of every request."""
    headers = {"accept": "application/json", "content-type": "application/json"}
    return headers if api_key is None else headers | {"authorization": f"Bearer {api_key}"}


def because(reason: str, cause: Exception) -> ServiceError:
    """An error that remembers what the transport said."""
    error = ServiceError(reason)
    error.__cause__ = cause
    return error


def shrinking(deadline: float) -> dict[str, Any]:
    """Request extensions that give each phase what is left, where httpx gives each phase the whole timeout.

    The transport reads its timeouts anew as each phase starts, just after it told the `trace` hook about it. A server
    that trickles its headers may stretch the last phase to twice what was left.
    """
    phases = dict.fromkeys(PHASES, deadline - time.monotonic())

    def on_phase(_name: str, _facts: object) -> None:
        phases.update(dict.fromkeys(PHASES, max(deadline - time.monotonic(), 0.001)))

    return {"timeout": phases, "trace": on_phase}


def _body(response: httpx.Response, deadline: float) -> bytes:
    chunks = []
    for chunk in response.iter_bytes():
        chunks.append(chunk)
        if time.monotonic() > deadline:
            raise httpx.ReadTimeout("the body came too slowly", request=response.request)
    return b"".join(chunks)
