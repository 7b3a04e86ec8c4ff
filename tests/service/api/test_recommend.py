"""`POST /recommend` answers as the contract says."""

import json
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from models.bundle.reader import Bundle
from models.registry import open_retriever
from models.retrieval import Eligible, Query
from models.words import RetrieverName, Source
from service.app import Service
from tests.service.api.conftest import BRANDS, ITEM_IDS, ODD_IDS, SOLD_OUT

pytestmark = pytest.mark.anyio
TRAINING_FREE = ("tgh-1", "tgh-2", "sem-nn", "popular")
JSON = {"content-type": "application/json"}
HISTORY = ["item-010", "item-020", "item-030"]


async def ask(client: httpx.AsyncClient, path: str = "/recommend", **body: Any) -> dict[str, Any]:
    answer = await client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document


def ids(answer: dict[str, Any]) -> list[str]:
    return [item["item_id"] for item in answer["items"]]


async def test_the_answer_has_the_fields_of_the_contract(client: httpx.AsyncClient, bundles: Path) -> None:
    answer = await ask(client, user_id="u1", history=HISTORY, k=5)
    assert set(answer) == {
        *("request_id", "user_id", "retriever", "experiment", "items", "exact", "unknown_items", "bundle", "took_ms")
    }
    assert answer["user_id"] == "u1"
    assert answer["retriever"] == {"assigned": "tgh-2", "served": "tgh-2", "fallback_reason": None}
    assert answer["experiment"] is None
    assert answer["exact"] is None
    assert answer["bundle"] == (bundles / "CURRENT").read_text().strip()
    assert answer["took_ms"] > 0
    assert [item["rank"] for item in answer["items"]] == [1, 2, 3, 4, 5]
    assert all(set(item) == {"item_id", "rank", "score", "source"} for item in answer["items"])
    assert {item["source"] for item in answer["items"]} <= set(Source)


@pytest.mark.parametrize("name", TRAINING_FREE)
async def test_the_list_is_the_retrievers_own(client: httpx.AsyncClient, bundles: Path, name: str) -> None:
    bundle = Bundle.open(bundles)
    history = bundle.ids.indices(HISTORY)
    stock = np.asarray(bundle.array("available"))
    query = Query(history, 20, Eligible(bundle.n_items, stock, np.sort(history)))
    expected = open_retriever(bundle, RetrieverName(name)).retrieve(query)
    answer = await ask(client, f"/recommend/{name}", history=HISTORY, k=20)
    assert answer["retriever"] == {"assigned": name, "served": name, "fallback_reason": None}
    assert ids(answer) == bundle.ids.strings(expected.items)
    assert [item["source"] for item in answer["items"]] == expected.source_names()
    np.testing.assert_allclose([item["score"] for item in answer["items"]], expected.scores, atol=1e-6)


@pytest.mark.parametrize("path", ["/recommend", "/v1/recommend"])
async def test_the_body_may_name_the_retriever(client: httpx.AsyncClient, path: str) -> None:
    answer = await ask(client, path, history=HISTORY, retriever="sem-nn")
    assert answer["retriever"]["served"] == "sem-nn"


async def test_the_versioned_path_answers_the_same(client: httpx.AsyncClient) -> None:
    plain, versioned = [await ask(client, f"{p}/recommend/tgh-1", history=HISTORY) for p in ("", "/v1")]
    assert plain["items"] == versioned["items"]


async def test_equal_requests_give_equal_items(client: httpx.AsyncClient) -> None:
    answers = [await ask(client, history=HISTORY, k=80) for _ in range(3)]
    assert answers[0]["items"] == answers[1]["items"] == answers[2]["items"]


@pytest.mark.parametrize("k", [1, 50, 500])
async def test_k_is_honoured_up_to_what_may_be_returned(client: httpx.AsyncClient, k: int) -> None:
    found = ids(await ask(client, history=HISTORY, k=k))
    assert len(found) == len(set(found)) == min(k, len(ITEM_IDS) - len(HISTORY) - 1)


async def test_k_is_50_by_default(client: httpx.AsyncClient) -> None:
    assert len((await ask(client, history=HISTORY))["items"]) == 50


async def test_seen_items_stay_out_unless_asked_for(client: httpx.AsyncClient) -> None:
    walk = ["item-005", "item-006", "item-005"]
    assert not {"item-005", "item-006"} & set(ids(await ask(client, history=walk, k=500)))
    assert {"item-005", "item-006"} <= set(ids(await ask(client, history=walk, k=500, exclude_seen=False)))


@pytest.mark.parametrize("escaped", [True, False])
async def test_a_long_list_of_exclusions_means_what_a_short_one_means(client: httpx.AsyncClient, escaped: bool) -> None:
    some = [*ODD_IDS, *ids(await ask(client, history=HISTORY, k=10))]
    short = await ask(client, history=HISTORY, k=500, exclude=some)
    body = {"history": HISTORY, "k": 500, "exclude": [*some, *(f"none {place}" for place in range(1000))]}
    long = await client.post("/recommend", content=json.dumps(body, ensure_ascii=escaped).encode(), headers=JSON)
    assert long.json()["items"] == short["items"]
    assert short["items"]
    assert not set(some) & set(ids(short))


async def test_excluded_items_stay_out_and_unknown_exclusions_do_no_harm(client: httpx.AsyncClient) -> None:
    first = ids(await ask(client, history=HISTORY, k=10))
    others = ids(await ask(client, history=HISTORY, k=500, exclude=[*first, "never heard of"]))
    assert not set(first) & set(others)
    assert len(others) == len(ITEM_IDS) - len(HISTORY) - 1 - len(first)


@pytest.mark.parametrize("name", TRAINING_FREE)
async def test_what_is_sold_out_is_never_returned(client: httpx.AsyncClient, name: str) -> None:
    for history in (HISTORY, []):
        assert SOLD_OUT not in ids(await ask(client, f"/recommend/{name}", history=history, k=500))


@pytest.mark.parametrize("name", TRAINING_FREE)
@pytest.mark.parametrize(
    ("rules", "holds"),
    [
        ({"brand": ["OPI", " Zoya "]}, lambda n: BRANDS[n % 3] in ("OPI", "Zoya")),
        ({"category": ["Nails"]}, lambda n: n % 2 == 1),
        ({"category": ["Beauty"]}, lambda n: True),
        ({"price": {"gte": 5, "lte": 7}}, lambda n: 5 <= n % 20 <= 7),
        ({"price": {"lte": 3}, "brand": ["Essie"]}, lambda n: n % 20 <= 3 and n % 3 == 1),
        ({}, lambda n: True),
    ],
)
async def test_filters_hold_and_leave_nothing_out(
    client: httpx.AsyncClient, name: str, rules: dict[str, Any], holds: Any
) -> None:
    found = ids(await ask(client, f"/recommend/{name}", history=HISTORY, k=500, filter=rules))
    allowed = {item for n, item in enumerate(ITEM_IDS) if holds(n) and item not in (*HISTORY, SOLD_OUT)}
    assert set(found) == allowed


async def test_a_filter_that_nothing_passes_gives_an_empty_list(client: httpx.AsyncClient) -> None:
    assert (await ask(client, history=HISTORY, filter={"brand": ["no such brand"]}))["items"] == []


async def test_only_the_newest_200_of_a_history_count(client: httpx.AsyncClient) -> None:
    old, new = ["item-040"] * 300, ["item-050"] * 200
    found = ids(await ask(client, history=[*old, *new], k=500))
    assert "item-040" in found
    assert "item-050" not in found


async def test_unknown_items_are_reported_once_and_in_order(client: httpx.AsyncClient) -> None:
    answer = await ask(client, history=["x", "item-010", "y", "x", "item-020"])
    assert answer["unknown_items"] == ["x", "y"]
    assert answer["items"] == (await ask(client, history=["item-010", "item-020"]))["items"]


@pytest.mark.parametrize("body", [{}, {"user_id": "nobody"}, {"history": []}, {"history": ["unknown"]}])
async def test_who_has_no_history_gets_popular_items_and_is_told_so(
    client: httpx.AsyncClient, body: dict[str, Any]
) -> None:
    answer = await ask(client, **body)
    assert answer["retriever"] == {"assigned": "tgh-2", "served": "popular", "fallback_reason": "no_history"}
    assert {item["source"] for item in answer["items"]} == {"popular"}
    assert len(answer["items"]) == 50
    assert (await ask(client, fallback=False, **body))["items"] == answer["items"]


async def test_popular_itself_needs_no_excuse(client: httpx.AsyncClient) -> None:
    answer = await ask(client, "/recommend/popular")
    assert answer["retriever"] == {"assigned": "popular", "served": "popular", "fallback_reason": None}


@pytest.mark.parametrize("odd", ODD_IDS)
async def test_odd_ids_are_kept_to_the_byte(client: httpx.AsyncClient, odd: str) -> None:
    answer = await ask(client, user_id=odd, history=[odd], k=500)
    assert answer["user_id"] == odd
    assert answer["unknown_items"] == []
    assert set(ids(answer)) == set(ITEM_IDS) - {odd, SOLD_OUT}


@pytest.mark.parametrize(
    ("name", "served"), [("gr", "tgh-2"), ("dr", "tgh-2"), ("dr-prior", "tgh-2"), ("fused", "tgh-2")]
)
async def test_a_retriever_that_the_bundle_lacks_falls_back(client: httpx.AsyncClient, name: str, served: str) -> None:
    answer = await ask(client, f"/recommend/{name}", history=HISTORY)
    assert answer["retriever"] == {"assigned": name, "served": served, "fallback_reason": "bundle"}


@pytest.mark.parametrize("path", ["/recommend/id+sem", "/recommend/id%2Bsem", "/v1/recommend/id%2bsem"])
async def test_a_plus_in_a_path_may_be_encoded(client: httpx.AsyncClient, path: str) -> None:
    assert (await ask(client, path, history=HISTORY))["retriever"]["assigned"] == "id+sem"


async def test_without_fallback_a_retriever_that_cannot_answer_is_a_503(client: httpx.AsyncClient) -> None:
    answer = await client.post("/recommend/gr", json={"history": HISTORY, "fallback": False})
    assert answer.status_code == 503
    assert answer.json()["reason"] == "bundle"
    assert int(answer.headers["retry-after"]) >= 1


async def test_a_late_search_falls_back_within_the_deadline(client: httpx.AsyncClient, service: Service) -> None:
    class Slow:
        def retrieve(self, query: Query) -> None:
            import threading

            threading.Event().wait(0.5)

    assert service.runtime.engine is not None
    service.runtime.engine.retrievers[RetrieverName.SEM_NN] = Slow()  # type: ignore[assignment]
    answer = await ask(client, "/recommend/sem-nn", history=HISTORY, deadline_ms=20)
    assert answer["retriever"] == {"assigned": "sem-nn", "served": "popular", "fallback_reason": "deadline"}
    assert answer["took_ms"] < 400


async def test_server_timing_tells_the_stages(client: httpx.AsyncClient) -> None:
    answer = await client.post("/recommend", json={"history": HISTORY})
    stages = dict(part.split(";dur=") for part in answer.headers["server-timing"].split(", "))
    assert set(stages) == {"search", "total"}
    assert 0 < float(stages["search"]) < float(stages["total"])


async def test_the_order_of_a_tgh_list_is_the_callers_choice(client: httpx.AsyncClient) -> None:
    by_ring = await ask(client, history=HISTORY, k=10, order="ring", retriever="tgh-1")
    by_score = await ask(client, history=HISTORY, k=10, order="score", retriever="tgh-1")
    assert set(ids(by_ring)) == set(ids(by_score))
    scores = [item["score"] for item in by_score["items"] if item["source"] != "backfill"]
    assert scores == sorted(scores, reverse=True)
