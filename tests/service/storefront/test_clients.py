"""The Python and the JavaScript client against a server that fails in every way; each test runs for all three."""

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest

from service import client as package
from service.client import AsyncShortlistClient, Event, Policy, Recommendation, ServiceError, ShortlistClient
from tests.service.storefront.faulty import Faulty, closed_port, reading_late, serving

SNIPPET = Path(package.__file__).parent.parent / "page" / "static" / "shortlist-client.js"
DRIVER = Path(__file__).with_name("call_client.mjs")
AMPLE_S, SHORT_S = 20.0, 0.3
"""Time for a call that should get its answer, and for one that should not."""
SLACK_S = 5.0
"""A busy machine may be this late; what these tests guard against is later by far."""


@dataclass
class Heard:
    """What a client answered or raised."""

    ids: list[str] = field(default_factory=list)
    degraded: tuple[str, int] | None = None
    reason: str | None = None
    status: int | None = None
    message: str | None = None
    took_s: float = 0.0


Ask = Callable[..., Heard]


def heard(answer: Recommendation | None) -> Heard:
    if answer is None:
        return Heard()
    degraded = answer.degraded
    return Heard(answer.item_ids, None if degraded is None else (degraded.reason, degraded.status))


def timed(action: Callable[[], Recommendation | None]) -> Heard:
    started = time.monotonic()
    try:
        result = heard(action())
    except ServiceError as error:
        result = Heard(reason=error.reason, status=error.status, message=str(error))
    result.took_s = time.monotonic() - started
    return result


@dataclass(frozen=True)
class Job:
    """One call of a client."""

    url: str
    method: str
    args: dict[str, Any]
    fallback: tuple[str, ...] = ()
    key: str | None = None
    retries: int = 1
    budget_s: float = AMPLE_S

    @property
    def policy(self) -> Policy:
        return Policy(timeout_s=self.budget_s, retries=self.retries, backoff_s=0.01)


def blocking(job: Job) -> Heard:
    with ShortlistClient(job.url, fallback=job.fallback, api_key=job.key, policy=job.policy) as client:
        if job.method == "send_events":
            return timed(lambda: client.send_events(Event(**job.args)))
        return timed(lambda: client.recommend(**job.args))


def in_loop(job: Job) -> Heard:
    async def call() -> Recommendation | None:
        async with AsyncShortlistClient(job.url, fallback=job.fallback, api_key=job.key, policy=job.policy) as client:
            if job.method == "send_events":
                await client.send_events(Event(**job.args))
                return None
            return await client.recommend(**job.args)

    return timed(lambda: anyio.run(call))


def javascript(job: Job) -> Heard:
    options = {"baseUrl": job.url, "fallback": job.fallback, "retries": job.retries, "timeoutMs": job.budget_s * 1000}
    options |= {} if job.key is None else {"apiKey": job.key}
    method = {"send_events": "sendEvents"}.get(job.method, job.method)
    text = json.dumps({"options": options, "method": method, "args": [job.args]})
    command = ["node", DRIVER, SNIPPET, text]
    outcome = json.loads(subprocess.run(command, capture_output=True, timeout=30, check=True).stdout)
    error, answer = outcome.get("error"), outcome.get("answer", {})
    if error:
        return Heard([], None, error["reason"], error["status"], error["message"], outcome["took_s"])
    why = answer.get("degraded")
    ids = [item["item_id"] for item in answer.get("items", [])]
    return Heard(ids, (why["reason"], why["status"]) if why else None, took_s=outcome["took_s"])


needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="no node on this machine")


CLIENTS = [blocking, in_loop, pytest.param(javascript, marks=needs_node)]


@pytest.fixture(params=CLIENTS, ids=lambda client: client.__name__)
def ask(request: pytest.FixtureRequest, faulty: Faulty) -> Ask:
    def call(url: str, *, method: str = "recommend", **rest: Any) -> Heard:
        kept = {name: rest.pop(name) for name in ("fallback", "key", "retries", "budget_s") if name in rest}
        found: Heard = request.param(Job(url, method, rest, **kept))
        return found

    faulty.asked.clear()
    faulty.bodies.clear()
    return call


@pytest.fixture(scope="module")
def faulty() -> Faulty:
    return Faulty()


@pytest.fixture(scope="module")
def base(faulty: Faulty) -> Iterator[str]:
    with serving(faulty.app) as url:
        yield url


def test_an_answer_comes_through_with_fields_of_a_newer_service(ask: Ask, base: str) -> None:
    assert ask(f"{base}/good", k=1).ids == ["a"]


def test_the_request_carries_every_field_and_the_key(ask: Ask, base: str, faulty: Faulty) -> None:
    query = {"user_id": "u/1 ü", "history": ["x", "007"], "k": 3, "value": {"alpha": 0.25}}
    ask(f"{base}/good", key="secret", **query)
    assert faulty.bodies["good"] == [query]
    assert faulty.keys["good"] == "Bearer secret"


def test_a_silent_service_costs_the_budget_and_no_more(ask: Ask, base: str) -> None:
    found = ask(f"{base}/silent", fallback=("b", "c"), budget_s=SHORT_S)
    assert (found.ids, found.degraded) == (["b", "c"], ("timeout", 0))
    assert SHORT_S * 0.9 < found.took_s < SHORT_S + SLACK_S


def test_a_body_that_never_ends_costs_the_budget_and_no_more(ask: Ask, base: str) -> None:
    found = ask(f"{base}/trickle", fallback=("b",), budget_s=SHORT_S)
    assert (found.ids, found.degraded) == (["b"], ("timeout", 0))
    assert found.took_s < SHORT_S + SLACK_S


def test_without_a_fallback_list_a_timeout_is_an_error(ask: Ask, base: str) -> None:
    found = ask(f"{base}/silent", budget_s=SHORT_S)
    assert (found.reason, found.status) == ("timeout", 0)


def test_nobody_listening_is_told_apart_from_a_timeout(ask: Ask) -> None:
    found = ask(closed_port(), fallback=("b",))
    assert (found.ids, found.degraded) == (["b"], ("no answer", 0))
    assert found.took_s < SHORT_S + SLACK_S


def test_a_busy_service_is_asked_again(ask: Ask, base: str, faulty: Faulty) -> None:
    assert ask(f"{base}/busy", fallback=("b",)).ids == ["a"]
    assert faulty.asked["busy"] == 2


def test_no_retry_when_none_is_allowed(ask: Ask, base: str, faulty: Faulty) -> None:
    assert ask(f"{base}/busy", fallback=("b",), retries=0).degraded == ("status 503", 503)
    assert faulty.asked["busy"] == 1


def test_a_wait_longer_than_the_budget_is_not_begun(ask: Ask, base: str, faulty: Faulty) -> None:
    found = ask(f"{base}/away", fallback=("b",), retries=5)
    assert (found.degraded, faulty.asked["away"]) == (("status 503", 503), 1)
    assert found.took_s < SHORT_S + SLACK_S


def test_what_the_caller_got_wrong_is_an_error_in_spite_of_a_fallback(ask: Ask, base: str, faulty: Faulty) -> None:
    found = ask(f"{base}/wrong", fallback=("b",), retries=3)
    assert (found.status, found.message, faulty.asked["wrong"]) == (422, "1 field is not valid: k", 1)


def test_a_proxys_page_is_a_failure_with_its_status(ask: Ask, base: str) -> None:
    assert ask(f"{base}/proxy", fallback=("b",)).degraded == ("status 502", 502)


def test_an_answer_that_is_not_the_services_is_not_passed_on(ask: Ask, base: str) -> None:
    assert ask(f"{base}/garbled", fallback=("b",)).degraded == ("bad answer", 200)


def test_the_fallback_list_leaves_out_what_the_shopper_has_and_is_cut_to_k(ask: Ask) -> None:
    found = ask(closed_port(), fallback=("a", "b", "c", "d"), history=["a"], exclude=["c"], k=1)
    assert found.ids == ["b"]


def test_a_repeated_event_keeps_its_id(ask: Ask, base: str, faulty: Faulty) -> None:
    ask(f"{base}/busy_events", method="send_events", user_id="u1", item_id="a", request_id="r1")
    first, second = faulty.bodies["busy_events"]
    assert first == second
    assert first[0]["event_id"]
    assert {"user_id": "u1", "item_id": "a", "event": "view", "request_id": "r1"}.items() <= first[0].items()


def test_time_spent_sending_is_not_given_again_to_waiting(base: str) -> None:
    """A server that takes the body late and then says nothing: a timeout for each phase alone would take both."""
    budget_s, late_s = 1.5, 1.2
    with (
        reading_late(late_s) as url,
        ShortlistClient(url, policy=Policy(timeout_s=budget_s, retries=0)) as client,
    ):
        found = timed(lambda: client.recommend(exclude=["x" * 250] * 40_000))
    assert found.reason == "timeout"
    assert late_s < found.took_s < budget_s + late_s / 2
