"""What stands before and behind every request: ids, errors of ours, slow and vanished clients, limits."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from starlette.types import Message, Receive, Scope, Send

from service.app import Service, create_app
from service.body import ClientGoneError, read_body
from service.edge import Edge
from service.exchange import Exchange
from service.problems import ProblemError
from service.rate import RateGate
from service.settings import Settings
from tests.service.api.conftest import running

pytestmark = pytest.mark.anyio
PATHS = ("/recommend", "/healthz", "/items", "/nope", "/items/%FF")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("given", ["abc", "A-1._~+/=:@", "x" * 128])
async def test_a_usable_request_id_is_echoed_whatever_the_answer(
    client: httpx.AsyncClient, path: str, given: str
) -> None:
    answer = await client.get(path, headers={"x-request-id": given})
    assert answer.headers.get_list("x-request-id") == [given]
    if answer.status_code >= 400:
        assert answer.json()["request_id"] == given


@pytest.mark.parametrize("given", ["", " ", "a b", "x" * 129, 'a"b', "é", "a\tb", "<script>"])
async def test_any_other_request_id_is_replaced_by_a_fresh_one(client: httpx.AsyncClient, given: str) -> None:
    headers = {"x-request-id": given.encode()}
    seen = {(await client.get("/healthz", headers=headers)).headers["x-request-id"] for _ in range(2)}
    assert len(seen) == 2
    assert all(len(one) == 32 and int(one, 16) for one in seen)


async def test_the_request_id_stands_in_the_answer_of_recommend(client: httpx.AsyncClient) -> None:
    answer = await client.post("/recommend", json={}, headers={"x-request-id": "mine"})
    assert answer.json()["request_id"] == answer.headers["x-request-id"] == "mine"


@pytest.mark.parametrize("path", ["/recommend", "/recommend/tgh-1", "/recommend/%74gh-1"])
async def test_a_fault_of_ours_is_a_500_that_tells_nothing(
    client: httpx.AsyncClient, service: Service, path: str
) -> None:
    class Broken:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError("/secret/path")

    service.runtime.engine = Broken()  # type: ignore[assignment]
    answer = await client.post(path, json={"history": ["7"]})
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["request_id"] == answer.headers["x-request-id"]
    assert "secret" not in answer.text
    assert "RuntimeError" not in answer.text


async def test_a_fault_in_a_route_of_the_framework_is_answered_once(
    client: httpx.AsyncClient, service: Service
) -> None:
    class Broken:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError("/secret/path")

    service.runtime.engine = Broken()  # type: ignore[assignment]
    answer = await client.get("/items/7")
    assert answer.status_code == 500
    assert answer.json()["type"] == "urn:shortlist:problem:internal"
    assert "secret" not in answer.text


async def test_observers_hear_of_every_exchange(settings: Settings) -> None:
    heard: list[tuple[str, int, bool]] = []

    def observe(scope: Scope, exchange: Exchange, seconds: float) -> None:
        heard.append((exchange.route or scope["path"], exchange.status, "served" in exchange.facts))
        assert seconds > 0

    service = create_app(settings)
    service.runtime.observers.append(observe)
    async with running(service) as client:
        await client.post("/recommend", json={})
        await client.post("/recommend/tgh-1", json={"k": 0})
        await client.get("/nope")
    assert heard == [("/recommend", 200, True), ("/recommend/{retriever}", 422, False), ("/nope", 404, False)]


async def collect(app: Any, receive: Receive, **scope: Any) -> list[Message]:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await app({"type": "http", "method": "POST", "path": "/", "headers": [], **scope}, receive, send)
    return sent


async def test_a_client_that_leaves_before_its_body_is_complete_is_not_answered() -> None:
    messages = iter([{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}])

    async def receive() -> Message:
        return next(messages)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        with pytest.raises(ClientGoneError):
            await read_body(receive, limit=100, timeout_s=1)
        raise ClientGoneError

    assert await collect(Edge(app, direct={}, max_body_bytes=100), receive) == []


async def test_a_body_that_does_not_end_in_time_is_a_408() -> None:
    first = iter([{"type": "http.request", "body": b"{", "more_body": True}])

    async def receive() -> Message:
        return next(first, None) or await asyncio.Event().wait()  # type: ignore[return-value]

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await read_body(receive, limit=100, timeout_s=0.01)

    start, body = await collect(Edge(app, direct={}, max_body_bytes=100), receive)
    assert start["status"] == 408
    assert (b"connection", b"close") in start["headers"]
    assert json.loads(body["body"])["type"] == "urn:shortlist:problem:body-timeout"


@pytest.mark.parametrize("announced", [b"101", b"999999999999999999999", b"-1", b"x", b"1e3"])
async def test_an_announced_length_beyond_the_limit_is_refused_before_the_body_is_read(announced: bytes) -> None:
    async def receive() -> Message:
        raise AssertionError("the body was read")

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError("the application was asked")

    headers = [(b"content-length", announced)]
    start, _ = await collect(Edge(app, direct={}, max_body_bytes=100), receive, headers=headers)
    assert start["status"] == 413


def test_a_client_may_ask_so_often_and_no_more() -> None:
    now = [100.0]
    gate = RateGate(per_s=2, burst=3, clock=lambda: now[0])

    def passes(client: str) -> bool:
        try:
            gate({"path": "/recommend", "client": (client, 1)})
        except ProblemError as problem:
            return (problem.status, problem.headers) != (429, {"retry-after": "1"})
        return True

    assert [passes("a") for _ in range(5)] == [True, True, True, False, False]
    assert passes("b")
    now[0] += 0.5
    assert [passes("a") for _ in range(2)] == [True, False]
    now[0] += 60
    assert [passes("a") for _ in range(4)] == [True, True, True, False]


async def test_beyond_the_rate_limit_stands_a_429_but_probes_pass(settings: Settings) -> None:
    limited = settings.model_copy(update={"rate_limit_per_s": 0.01, "rate_burst": 1})
    async with running(create_app(limited)) as client:
        assert (await client.post("/recommend", json={})).status_code == 200
        answer = await client.post("/recommend", json={})
        assert answer.status_code == 429
        assert int(answer.headers["retry-after"]) > 1
        assert answer.json()["type"] == "urn:shortlist:problem:too-many-requests"
        assert (await client.get("/healthz")).status_code == 200
