"""What a request costs the server, against a bare FastAPI route of the same request model that answers stored bytes.

Processor time of the server is compared, never rates or absolute times, so that a busy machine hardly shows; bounds are
about half of what is measured on a quiet one, and the ratios are printed.
"""

import http.client
import json
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadtest.asking import fetch, fetch_json, histories, popular_ids
from loadtest.machine import cpu_s
from loadtest.running import Service, beside_bare, redis_server

REQUESTS, ROUNDS, K = 400, 5, 50
USERS = 100


@pytest.fixture(scope="module")
def service(small_bundles: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    state = tmp_path_factory.mktemp("state")
    settings = {"data_dir": state, "deadline_ms": 5000, "history_timeout_ms": 5000}
    with redis_server() as redis, beside_bare(small_bundles, redis_url=redis, **settings) as running:
        yield running


@pytest.fixture(scope="module")
def past(service: Service) -> list[list[str]]:
    return histories(popular_ids(service.url, 80), USERS)


def cost_us(service: Service, path: str, bodies: list[dict[str, object]]) -> float:
    """Processor time of the server a request, in microseconds, over one connection."""
    connection = http.client.HTTPConnection(service.url.removeprefix("http://"), timeout=60)
    encoded = [json.dumps(body).encode() for body in bodies]
    before = cpu_s(service.pid)
    for number in range(REQUESTS):
        connection.request("POST", path, encoded[number % len(encoded)], {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        answer.read()
    connection.close()
    return (cpu_s(service.pid) - before) / REQUESTS * 1e6


def ratio(
    service: Service, ours: tuple[str, list[dict[str, object]]], base: tuple[str, list[dict[str, object]]]
) -> float:
    """Median over the rounds of the base's cost over ours: 1 = the same, 0.5 = twice the cost."""
    cost_us(service, *ours)
    pairs = [(cost_us(service, *base), cost_us(service, *ours)) for _ in range(ROUNDS)]
    return statistics.median(other / mine for other, mine in pairs)


def show(capsys: pytest.CaptureFixture[str], what: str, found: float, bound: float) -> None:
    with capsys.disabled():
        print(f"\n{what}: {found:.2f} by processor time, at least {bound}")


def test_tgh_2_costs_little_more_than_a_bare_route(
    service: Service, past: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    bodies = [{"history": one, "k": K, "retriever": "tgh-2"} for one in past]
    fetch(f"{service.url}/bare/answer", fetch(f"{service.url}/recommend", json.dumps(bodies[0]).encode()), "PUT")
    found = ratio(service, ("/recommend", bodies), ("/bare/recommend", bodies))
    show(capsys, "tgh-2 against a bare route", found, 0.4)
    assert found > 0.4


def test_a_stored_history_costs_little_more_than_one_in_the_body(
    service: Service, past: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    for user, history in enumerate(past):
        events = [
            {
                "event_id": f"{user}-{at}",
                "user_id": f"u{user}",
                "item_id": item,
                "timestamp": f"2026-01-01T00:00:{at:02}Z",
            }
            for at, item in enumerate(history)
        ]
        fetch_json(f"{service.url}/events", events)
    here = [{"history": one, "k": K, "retriever": "tgh-2"} for one in past]
    there = [{"user_id": f"u{user}", "k": K, "retriever": "tgh-2"} for user in range(len(past))]
    assert (
        fetch_json(f"{service.url}/recommend", there[0])["items"]
        == fetch_json(f"{service.url}/recommend", here[0])["items"]
    )
    found = ratio(service, ("/recommend", there), ("/recommend", here))
    show(capsys, "history from Redis against the body", found, 0.25)
    assert found > 0.25


def test_a_thousand_exclusions_cost_little_more_than_none(
    service: Service, past: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    plain = [{"history": one, "k": K, "retriever": "tgh-2"} for one in past]
    long = [body | {"exclude": [f"none-{place}" for place in range(1000)]} for body in plain]
    found = ratio(service, ("/recommend", long), ("/recommend", plain))
    show(capsys, "a thousand exclusions against none", found, 0.3)
    assert found > 0.3


def test_a_narrow_filter_costs_little_more_than_none(
    service: Service, past: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    plain = [{"history": one, "k": K, "retriever": "tgh-2"} for one in past]
    narrow = [body | {"filter": {"price": {"gte": 3, "lte": 3}}} for body in plain]
    found = ratio(service, ("/recommend", narrow), ("/recommend", plain))
    show(capsys, "narrow filter against none", found, 0.3)
    assert found > 0.3
