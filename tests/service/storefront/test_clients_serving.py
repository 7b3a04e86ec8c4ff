"""The clients against the real service: each call comes back as the service answers it."""

import json
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import anyio
import httpx
import pytest

from service.client import AsyncShortlistClient, Event, Policy, ServiceError, ShortlistClient
from tests.service.storefront.shop import ODD_ID
from tests.service.storefront.test_clients import DRIVER, SNIPPET

PATIENT = Policy(timeout_s=20, retries=0)


def test_a_recommendation_is_the_services_answer_typed(url: str) -> None:
    with ShortlistClient(url, policy=PATIENT) as shortlist:
        found = shortlist.recommend(retriever="tgh-1", history=["P07"], k=5)
    answer = httpx.post(f"{url}/recommend/tgh-1", json={"history": ["P07"], "k": 5}).json()
    assert [item.model_dump() for item in found.items] == answer["items"]
    assert found.retriever is not None
    assert (found.retriever.served, found.bundle, found.degraded) == ("tgh-1", answer["bundle"], None)


def test_both_python_clients_give_the_same(url: str) -> None:
    async def ask() -> tuple[list[str], str]:
        async with AsyncShortlistClient(url, policy=PATIENT) as shortlist:
            found = await shortlist.recommend(retriever="tgh-2", history=["P07", "P10"], k=7)
            return found.item_ids, (await shortlist.item(ODD_ID)).item_id

    with ShortlistClient(url, policy=PATIENT) as shortlist:
        expected = shortlist.recommend(retriever="tgh-2", history=["P07", "P10"], k=7).item_ids
    assert anyio.run(ask) == (expected, ODD_ID)


def test_ids_with_slashes_and_percent_signs_find_their_item(url: str) -> None:
    with ShortlistClient(url, policy=PATIENT) as shortlist:
        assert shortlist.item(ODD_ID).item_id == ODD_ID


def test_pages_of_a_search_follow_each_other_without_gap_or_repeat(url: str) -> None:
    with ShortlistClient(url, policy=PATIENT) as shortlist:
        first = shortlist.search("lipstick", limit=12)
        second = shortlist.search("lipstick", cursor=first.next_cursor, limit=12)
    ids = [item.item_id for item in (*first.items, *second.items)]
    assert (len(ids), len(set(ids)), second.next_cursor) == (20, 20, None)


def test_a_wrong_field_is_named(url: str) -> None:
    with ShortlistClient(url, fallback=["P01"], policy=PATIENT) as shortlist, pytest.raises(ServiceError) as caught:
        shortlist.recommend(k=0)
    assert caught.value.status == 422
    assert [error["pointer"] for error in caught.value.problem["errors"]] == ["#/k"]


def test_an_event_is_in_the_history_and_gone_when_forgotten(live_url: str) -> None:
    view, cart = Event("client/1", "P07"), Event("client/1", ODD_ID, event="cart")
    with ShortlistClient(live_url, policy=PATIENT) as shortlist:
        shortlist.send_events(view, cart)
        shortlist.send_events(view)
        seen = [(entry.item_id, entry.event) for entry in shortlist.history("client/1")]
        shortlist.forget("client/1")
        assert (seen, shortlist.history("client/1")) == ([("P07", "view"), (ODD_ID, "cart")], [])


def test_an_item_out_of_stock_leaves_the_lists_until_it_is_back(live_url: str) -> None:
    with ShortlistClient(live_url, policy=PATIENT) as shortlist:

        def listed() -> bool:
            return "P20" in shortlist.recommend(retriever="popular", k=100).item_ids

        assert listed()
        shortlist.set_available("P20", "out of stock")
        assert not listed()
        shortlist.set_available("P20", "in stock")
        assert listed()


Call = Callable[..., dict[str, Any]]


@pytest.fixture
def javascript(url: str) -> Call:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node on this machine")

    def call(method: str, *args: Any) -> dict[str, Any]:
        job = {"options": {"baseUrl": url, "timeoutMs": 20_000}, "method": method, "args": args}
        done = subprocess.run([node, DRIVER, SNIPPET, json.dumps(job)], capture_output=True, timeout=60, check=True)
        outcome: dict[str, Any] = json.loads(done.stdout)
        return outcome

    return call


def test_the_snippet_gives_what_the_python_client_gives(url: str, javascript: Call) -> None:
    found = javascript("recommend", {"history": ["P07"], "k": 5}, {"retriever": "tgh-1"})["answer"]
    with ShortlistClient(url, policy=PATIENT) as shortlist:
        assert [item["item_id"] for item in found["items"]] == (
            shortlist.recommend(retriever="tgh-1", history=["P07"], k=5).item_ids
        )
    assert found["degraded"] is None


def test_the_snippet_finds_odd_ids_alone_and_together(javascript: Call) -> None:
    assert javascript("item", ODD_ID)["answer"]["item_id"] == ODD_ID
    assert [item["item_id"] for item in javascript("items", [ODD_ID, "P07"])["answer"]["items"]] == [ODD_ID, "P07"]


def test_the_snippet_names_a_wrong_field(javascript: Call) -> None:
    error = javascript("recommend", {"k": 0})["error"]
    assert (error["status"], error["problem"]["errors"][0]["pointer"]) == (422, "#/k")
