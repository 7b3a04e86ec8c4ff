"""The catalogue over HTTP: search, pages, single items, neighbours."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from models.bundle.reader import Bundle
from tests.service.api.conftest import BRANDS, ITEM_IDS, ODD_IDS, SOLD_OUT

pytestmark = pytest.mark.anyio


async def pages(client: httpx.AsyncClient, **params: Any) -> list[dict[str, Any]]:
    """All items of all pages."""
    found: list[dict[str, Any]] = []
    while True:
        answer = (await client.get("/items", params=params)).json()
        found += answer["items"]
        if answer["next_cursor"] is None:
            return found
        params["cursor"] = answer["next_cursor"]


@pytest.mark.parametrize("limit", [1, 7, 100])
async def test_pages_hold_every_item_once_most_popular_first(client: httpx.AsyncClient, limit: int) -> None:
    found = await pages(client, limit=limit)
    assert sorted(item["item_id"] for item in found) == sorted(ITEM_IDS)
    counts = [item["popularity"] for item in found]
    assert counts == sorted(counts, reverse=True)


async def test_every_word_must_be_found_in_title_brand_or_id(client: httpx.AsyncClient) -> None:
    found = {item["item_id"] for item in await pages(client, q="RED opi", limit=3)}
    assert found == {item for n, item in enumerate(ITEM_IDS) if n % 2 and n % 3 == 0}
    assert [item["item_id"] for item in await pages(client, q="item-042")] == ["item-042"]
    assert await pages(client, q="no such words") == []


async def test_pages_of_a_search_neither_repeat_nor_skip(client: httpx.AsyncClient) -> None:
    whole = await pages(client, q="blue", limit=100)
    assert await pages(client, q="blue", limit=3) == whole
    assert len(whole) == 50


async def test_items_can_be_asked_for_by_id_in_order(client: httpx.AsyncClient) -> None:
    answer = (await client.get("/items", params={"id": ["a/b", "unknown", "item-003"]})).json()
    assert [item["item_id"] for item in answer["items"]] == ["a/b", "item-003"]
    assert answer["next_cursor"] is None


@pytest.mark.parametrize(
    ("params", "name"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": 101}, "limit"),
        ({"limit": "x"}, "limit"),
        ({"cursor": "%%%"}, "cursor"),
        ({"cursor": "é"}, "cursor"),
        ({"cursor": "dW5rbm93bg"}, "cursor"),
        ({"q": "x" * 257}, "q"),
        ({"id": ["x" * 257]}, "id"),
        ({"id": ["x"] * 101}, "id"),
    ],
)
async def test_a_bad_parameter_is_a_422_that_names_it(
    client: httpx.AsyncClient, params: dict[str, Any], name: str
) -> None:
    answer = await client.get("/items", params=params)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert [error["parameter"] for error in answer.json()["errors"]] == [name]


@pytest.mark.parametrize("item_id", [*ODD_IDS, "item-000", SOLD_OUT])
async def test_an_item_is_found_by_its_percent_encoded_id(client: httpx.AsyncClient, item_id: str) -> None:
    answer = await client.get(f"/items/{quote(item_id, safe='').replace('.', '%2E')}")
    assert answer.status_code == 200
    n = ITEM_IDS.index(item_id)
    item = answer.json()
    assert item["item_id"] == item_id
    assert item["title"] == f"Polish {n} {'red' if n % 2 else 'blue'}"
    assert item["brand"] == BRANDS[n % 3]
    assert item["price"] == n % 20
    assert item["categories"] == [["Beauty", "Nails" if n % 2 else "Hair"]]
    assert item["available"] is (item_id != SOLD_OUT)
    assert set(item["value"]) == {"popularity", "rating", "brand"}


@pytest.mark.parametrize("path", ["/items/unknown", "/items/unknown/neighbours", "/items/a%252Fb", "/items/%00"])
async def test_an_unknown_item_is_a_404(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    assert answer.status_code == 404
    assert answer.json()["type"] == "urn:shortlist:problem:unknown-item"


async def test_neighbours_are_the_edges_of_the_graph_heaviest_first(client: httpx.AsyncClient, bundles: Path) -> None:
    bundle = Bundle.open(bundles)
    offsets, targets, counts = (bundle.array(f"graph_{part}") for part in ("offsets", "targets", "counts"))
    index = bundle.ids.index("a/b")
    begin, end = int(offsets[index]), int(offsets[index + 1])
    expected = dict(zip(bundle.ids.strings(targets[begin:end]), counts[begin:end].tolist(), strict=True))
    answer = (await client.get("/items/a%2Fb/neighbours", params={"limit": 200})).json()
    assert {edge["item_id"]: edge["count"] for edge in answer["neighbours"]} == expected
    weights = [edge["weight"] for edge in answer["neighbours"]]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] == 1.0
    assert answer["ring_sizes"][0] == len(expected)


async def test_incoming_edges_are_the_outgoing_ones_of_the_others(client: httpx.AsyncClient) -> None:
    incoming = (await client.get("/items/7/neighbours", params={"limit": 200})).json()["incoming"]
    assert incoming
    for edge in incoming:
        path = f"/items/{quote(edge['item_id'], safe='')}/neighbours"
        back = (await client.get(path, params={"limit": 200})).json()["neighbours"]
        assert {"7": edge["count"]}.items() <= {b["item_id"]: b["count"] for b in back}.items()


async def test_incoming_edges_come_most_often_first_then_by_item_index(client: httpx.AsyncClient) -> None:
    orders = set()
    for item_id in ITEM_IDS[:90]:
        incoming = (await client.get(f"/items/{item_id}/neighbours", params={"limit": 200})).json()["incoming"]
        shown = [(-edge["count"], edge["item_id"].encode()) for edge in incoming]
        assert shown == sorted(shown)
        orders.add([edge["weight"] for edge in incoming] == sorted((e["weight"] for e in incoming), reverse=True))
    assert False in orders, "in no case does the order by weight differ, so nothing was tested"


async def test_the_number_of_edges_can_be_limited(client: httpx.AsyncClient) -> None:
    answer = (await client.get("/items/7/neighbours", params={"limit": 1})).json()
    assert len(answer["neighbours"]) == len(answer["incoming"]) == 1
