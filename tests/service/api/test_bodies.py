"""Nothing that a client can send is answered with anything but a documented problem."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from models.words import RetrieverName
from service.schemas import RecommendRequest, RetrieverChoice

pytestmark = pytest.mark.anyio
JSON = {"content-type": "application/json"}
LIMIT = 2 * 1024 * 1024


async def refused(client: httpx.AsyncClient, status: int, body: bytes, path: str = "/recommend") -> dict[str, Any]:
    answer = await client.post(path, content=body, headers=JSON)
    return problem(answer, status)


def problem(answer: httpx.Response, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    document: dict[str, Any] = answer.json()
    assert {"type", "title", "status", "detail", "request_id"} <= set(document)
    assert document["status"] == status
    assert document["request_id"] == answer.headers["x-request-id"]
    return document


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nonsense",
        b"{'k': 1}",
        b"{} {}",
        b'\xef\xbb\xbf{"k":1}',
        b'{"user_id":"\xff"}',
        b'{"user_id":"\\ud800"}',
        b'{"k":NaN}',
        b'{"deadline_ms":Infinity}',
        b'{"value":{"alpha":-Infinity}}',
        b'{"history":' + b"[" * 100_000,
        b'{"k":' + b"9" * 10_000 + b"}",
    ],
)
async def test_what_is_not_json_is_a_400(client: httpx.AsyncClient, body: bytes) -> None:
    assert (await refused(client, 400, body))["type"] == "urn:shortlist:problem:not-json"


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        (b"[]", ["#"]),
        (b"null", ["#"]),
        (b'"text"', ["#"]),
        (b'{"k":0}', ["#/k"]),
        (b'{"k":501}', ["#/k"]),
        (b'{"k":"5"}', ["#/k"]),
        (b'{"k":5.5}', ["#/k"]),
        (b'{"k":true}', ["#/k"]),
        (b'{"k":null}', ["#/k"]),
        (b'{"k":1' + b"0" * 400 + b"}", ["#/k"]),
        (b'{"colour":1,"k":0}', ["#/k", "#/colour"]),
        (b'{"a/b~ %":1}', ["#/a~1b~0%20%25"]),
        (b'{"user_id":""}', ["#/user_id"]),
        (b'{"user_id":7}', ["#/user_id"]),
        (b'{"history":["a",7]}', ["#/history/1"]),
        (b'{"history":["a",""]}', ["#/history/1"]),
        (b'{"history":"a"}', ["#/history"]),
        (b'{"history":{}}', ["#/history"]),
        (b'{"exclude":[null]}', ["#/exclude/0"]),
        (b'{"exclude_seen":"yes"}', ["#/exclude_seen"]),
        (b'{"fallback":1}', ["#/fallback"]),
        (b'{"retriever":"best"}', ["#/retriever"]),
        (b'{"order":"random"}', ["#/order"]),
        (b'{"beam":0}', ["#/beam"]),
        (b'{"deadline_ms":0}', ["#/deadline_ms"]),
        (b'{"deadline_ms":1e999}', ["#/deadline_ms"]),
        (b'{"filter":{"colour":["red"]}}', ["#/filter/colour"]),
        (b'{"filter":{"brand":"OPI"}}', ["#/filter/brand"]),
        (b'{"filter":{"price":{"gte":9,"lte":1}}}', ["#/filter/price"]),
        (b'{"filter":{"price":{"gte":-1}}}', ["#/filter/price/gte"]),
        (b'{"value":{"alpha":1.5}}', ["#/value/alpha"]),
        (b'{"value":{"weights":{"popularity":-1}}}', ["#/value/weights/popularity"]),
        (b'{"value":{"weights":{"popularity":0,"rating":0,"brand":0}}}', ["#/value/weights"]),
        (b'{"value":{"weights":{}}}', ["#/value/weights"]),
        (b'{"value":{"pool":0}}', ["#/value/pool"]),
    ],
)
async def test_a_bad_field_is_a_422_that_points_at_it(
    client: httpx.AsyncClient, body: bytes, pointers: list[str]
) -> None:
    document = await refused(client, 422, body)
    assert [error["pointer"] for error in document["errors"]] == pointers
    assert all(error["detail"] for error in document["errors"])


@pytest.mark.parametrize("field", ["user_id", "session_id", "scenario", "variant"])
@pytest.mark.parametrize(("character", "most"), [("a", 256), ("é", 128), ("🧴", 64)])
async def test_an_id_has_at_most_256_bytes(client: httpx.AsyncClient, field: str, character: str, most: int) -> None:
    for body in ({field: character * most}, {"history": [character * most], "exclude": [character * most]}):
        assert (await client.post("/recommend", json=body)).status_code == 200
    body = json.dumps({field: character * (most + 1)}).encode()
    assert (await refused(client, 422, body))["errors"][0]["pointer"] == f"#/{field}"
    body = json.dumps({"history": ["ok", character * (most + 1)]}).encode()
    assert (await refused(client, 422, body))["errors"][0]["pointer"] == "#/history/1"


async def test_5000_exclusions_pass_and_5001_do_not(client: httpx.AsyncClient) -> None:
    assert (await client.post("/recommend", json={"exclude": ["x"] * 5000})).status_code == 200
    document = await refused(client, 422, json.dumps({"exclude": ["x"] * 5001}).encode())
    assert document["errors"][0]["pointer"] == "#/exclude"


async def test_a_member_named_twice_counts_with_its_last_value(client: httpx.AsyncClient) -> None:
    answer = await client.post("/recommend", content=b'{"k":0,"k":3}', headers=JSON)
    assert len(answer.json()["items"]) == 3


async def test_bodies_full_of_errors_are_answered_without_listing_them_all(client: httpx.AsyncClient) -> None:
    body = b"{" + b",".join(b'"x%d":1' % n for n in range(100_000)) + b"}"
    assert len(body) < LIMIT
    assert len((await refused(client, 422, body))["errors"]) == 1


async def test_a_body_of_2_mib_passes_and_a_byte_more_is_a_413(client: httpx.AsyncClient) -> None:
    fits = b'{"k":1}'.ljust(LIMIT)
    assert (await client.post("/recommend", content=fits, headers=JSON)).status_code == 200
    await refused(client, 413, fits + b" ")


async def test_a_body_without_announced_length_is_counted(client: httpx.AsyncClient) -> None:
    async def chunks(total: int) -> AsyncIterator[bytes]:
        yield b'{"k":1}'
        for _ in range(total // 65_536):
            yield b" " * 65_536

    fits = await client.post("/recommend", content=chunks(LIMIT - 65_536), headers=JSON)
    assert fits.status_code == 200
    problem(await client.post("/recommend", content=chunks(LIMIT), headers=JSON), 413)


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "application/json; charset=utf-8",
        "Application/JSON;charset=UTF-8",
        'application/json; charset="utf-8"',
    ],
)
async def test_json_in_utf_8_is_taken(client: httpx.AsyncClient, content_type: str) -> None:
    answer = await client.post("/recommend", content=b"{}", headers={"content-type": content_type})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"content-type": ""},
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "application/json; charset=latin-1"},
        {"content-type": "application/json", "content-encoding": "gzip"},
    ],
)
async def test_any_other_media_type_is_a_415(client: httpx.AsyncClient, headers: dict[str, str]) -> None:
    problem(await client.post("/recommend", content=b"{}", headers=headers), 415)


async def test_an_unknown_retriever_in_the_path_is_a_404(client: httpx.AsyncClient) -> None:
    for name in ("nope", "auto", "TGH-2", "tgh-2%2Fx", "%00"):
        problem(await client.post(f"/recommend/{name}", json={}), 404)


@pytest.mark.parametrize("path", ["/recommend/tgh-1", "/v1/recommend/tgh-1", "/recommend/%74gh-1"])
async def test_a_retriever_in_the_path_and_another_in_the_body_is_a_422(client: httpx.AsyncClient, path: str) -> None:
    document = await refused(client, 422, b'{"retriever":"tgh-2"}', path)
    assert document["errors"][0]["pointer"] == "#/retriever"
    for agreeing in ("tgh-1", "auto"):
        assert (await client.post(path, json={"retriever": agreeing})).status_code == 200


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"])
@pytest.mark.parametrize("path", ["/recommend", "/v1/recommend/tgh-1"])
async def test_another_method_is_a_405_that_says_which_is_known(
    client: httpx.AsyncClient, method: str, path: str
) -> None:
    answer = await client.request(method, path)
    problem(answer, 405)
    assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize("path", ["/nope", "/recommend/", "/items/", "/recommend/a/b"])
async def test_another_path_is_a_404(client: httpx.AsyncClient, path: str) -> None:
    problem(await client.post(path, json={}), 404)


async def test_a_path_that_is_not_utf_8_is_a_400(client: httpx.AsyncClient) -> None:
    problem(await client.get("/items/%FF%FE"), 400)


def test_the_choices_are_auto_and_every_retriever() -> None:
    assert [choice.value for choice in RetrieverChoice] == ["auto", *RetrieverName]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
bodies = (
    st.binary(max_size=64)
    | anything.map(lambda value: json.dumps(value).encode())
    | st.dictionaries(st.sampled_from(sorted(RecommendRequest.model_fields)), anything, max_size=5).map(
        lambda value: json.dumps(value).encode()
    )
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bodies)
async def test_no_body_makes_the_service_fail(client: httpx.AsyncClient, body: bytes) -> None:
    answer = await client.post("/recommend", content=body, headers=JSON)
    if answer.status_code != 200:
        assert answer.status_code in (400, 422, 503)
        problem(answer, answer.status_code)
