"""The live routes over a real Redis: events, stock, experiments, second bundles, swaps, the queue, keys."""

import asyncio
import gc
import os
import signal
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import orjson
import pytest
import redis

from models.bundle import versions
from models.words import RetrieverName
from service.app import Service
from service.redis.keys import user_tag
from service.redis.link import RedisLink
from service.redis.server import EmbeddedRedis, EmbeddedRedisConfig
from service.sinks.pseudonym import pseudonym
from service.stock import Stock
from service.worker.config import WorkerConfig
from service.worker.holding import Holding
from service.worker.retriever_decoder import opener
from service.worker.worker import Worker

from .conftest import running, settings_for, until

pytestmark = pytest.mark.anyio
NOW = datetime.now(UTC)
ADMIN = {"x-api-key": "admin-key-0123456789"}
THINKING_S = 0.002
"""Of a caller between two requests: the swap's thread needs the interpreter too."""


def event(number: int, item: str, **changes: object) -> dict[str, object]:
    at = (NOW - timedelta(minutes=100 - number)).isoformat()
    return {"event_id": f"e{number}", "user_id": "u", "item_id": item, "timestamp": at} | changes


async def recommended(client: httpx.AsyncClient, path: str = "/recommend", **body: object) -> dict[str, object]:
    answer = await client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, object] = answer.json()
    return found


def ids(found: dict[str, object]) -> list[str]:
    return [item["item_id"] for item in found["items"]]  # type: ignore[attr-defined]


def retriever(found: dict[str, object]) -> tuple[str, str, str | None]:
    return tuple(found["retriever"].values())  # type: ignore[attr-defined, return-value]


async def test_a_list_right_after_an_event_knows_of_it(root: Path, redis_url: str) -> None:
    async with running(settings_for(root, redis_url)) as (_, client):
        assert retriever(await recommended(client, user_id="u"))[2] == "no_history"
        for number in range(5):
            answer = await client.post("/events", json=event(number, f"item-{10 * number:03}"))
            assert answer.json() == {"accepted": 1, "duplicates": 0}
            found = await recommended(client, user_id="u", k=90)
            assert retriever(found) == ("tgh-2", "tgh-2", None)
            assert f"item-{10 * number:03}" not in ids(found)
        history = (await client.get("/users/u/history")).json()
        assert [entry["item_id"] for entry in history["items"]] == [f"item-{10 * number:03}" for number in range(5)]
        assert (await client.delete("/users/u/history")).json() == {"user_id": "u", "erased": 5}
        assert retriever(await recommended(client, user_id="u"))[2] == "no_history"


async def test_a_batch_counts_each_event_once_and_odd_users_are_kept_apart(root: Path, redis_url: str) -> None:
    async with running(settings_for(root, redis_url)) as (_, client):
        batch = [event(1, "item-001"), event(2, "a/b"), event(1, "item-001"), event(3, "x", user_id="a/b")]
        assert (await client.post("/events", json=batch)).json() == {"accepted": 3, "duplicates": 1}
        assert (await client.post("/events", json=batch)).json() == {"accepted": 0, "duplicates": 4}
        assert len((await client.get("/users/a%2Fb/history")).json()["items"]) == 1


@pytest.mark.parametrize(
    ("body", "status", "pointer"),
    [
        ([], 422, "#"),
        ([event(1, "a"), event(2, "b", extra=1)], 422, "#/1/extra"),
        (event(1, "a", timestamp="2026-01-01T00:00:00"), 422, "#/timestamp"),
        (event(1, "a", timestamp=(NOW + timedelta(days=2)).isoformat()), 422, "#/timestamp"),
        (event(1, "a", event="two words"), 422, "#/event"),
        (event(1, ""), 422, "#/item_id"),
        ("text", 422, "#"),
    ],
)
async def test_a_bad_event_is_refused_and_nothing_of_its_batch_is_kept(
    root: Path, redis_url: str, body: object, status: int, pointer: str
) -> None:
    async with running(settings_for(root, redis_url)) as (_, client):
        answer = await client.post("/events", json=body)
        assert answer.status_code == status
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["errors"][0]["pointer"] == pointer
        assert (await client.get("/users/u/history")).json()["items"] == []


async def test_no_retriever_returns_what_is_out_of_stock_in_any_process_and_after_a_swap(
    root: Path, redis_url: str
) -> None:
    settings = settings_for(root, redis_url)
    async with running(settings) as (one, client), running(settings) as (other, second):
        assert one.runtime.engine is not None
        names = [name.value for name in one.runtime.engine.retrievers]
        top = ids(await recommended(client, "/recommend/popular", history=["item-001"]))[0]
        answer = await client.put(f"/items/{top}/availability", json={"available": False})
        assert answer.json()["available"] is False
        await until(lambda: other.runtime.engine.stock.mask is not None, within_s=0.5)  # type: ignore[union-attr]
        wanted = next(version for version in versions.list_versions(root) if version != versions.current(root))
        versions.use(root, wanted)
        await until(lambda: one.runtime.engine.version == other.runtime.engine.version == wanted)  # type: ignore[union-attr]
        for asked in (client, second):
            for name in names:
                assert top not in ids(await recommended(asked, f"/recommend/{name}", history=["item-001"], k=100))
        flips = {"items": [{"item_id": top, "available": True}, {"item_id": "unheard-of", "available": False}]}
        bulk = await client.put("/items/availability", json=flips)
        assert bulk.json()["unknown_items"] == ["unheard-of"]
        assert top in ids(await recommended(client, "/recommend/popular", history=["item-001"], k=100))
        assert (await client.put("/items/unheard-of/availability", json={"available": True})).status_code == 404


async def test_an_experiment_decides_is_written_down_and_can_be_stopped(root: Path, redis_url: str) -> None:
    settings = settings_for(root, redis_url, admin_key=ADMIN["x-api-key"])
    arms = [{"name": "p", "retriever": "popular"}, {"name": "t", "retriever": "tgh-1"}]
    body = {"name": "first", "salt": "s1", "running": True, "variants": arms}
    async with running(settings) as (app, client):
        put = await client.put("/admin/experiments/first", json=body, headers=ADMIN)
        assert put.status_code == 200, put.text
        variants = {}
        for number in range(40):
            found = await recommended(client, user_id=f"u{number}", history=["item-001"])
            variant = found["experiment"]["variant"]  # type: ignore[index]
            assert retriever(found) == (("popular",) * 2 if variant == "p" else ("tgh-1",) * 2) + (None,)
            variants[f"u{number}"] = variant
        assert set(variants.values()) == {"p", "t"}
        again = await recommended(client, user_id="u1", history=["item-002"])
        assert again["experiment"] == {"name": "first", "variant": variants["u1"]}
        forced = await recommended(client, user_id="u1", history=["item-002"], variant="p")
        assert retriever(forced)[0] == "popular"
        unknown = await client.post("/recommend", json={"variant": "zzz", "user_id": "u1"})
        assert (unknown.status_code, unknown.json()["errors"][0]["pointer"]) == (422, "#/variant")
        fixed = await recommended(client, "/recommend/tgh-2", user_id="u1", history=["item-002"])
        assert fixed["experiment"] is None
        changed = body | {"variants": [{**arms[0], "weight": 9}, arms[1]]}
        conflict = await client.put("/admin/experiments/first", json=changed, headers=ADMIN)
        assert conflict.status_code == 409
        assert "new salt" in conflict.json()["detail"]
        assert (await client.post("/admin/experiments/first/stop", headers=ADMIN)).json()["running"] is False
        assert (await recommended(client, user_id="u1", history=["item-002"]))["experiment"] is None
        assert (await client.delete("/admin/experiments/first", headers=ADMIN)).status_code == 204
        assert (await client.get("/admin/experiments/first", headers=ADMIN)).status_code == 404
        assert app.live is not None
    files = sorted((settings.sinks / "exposures").glob("*.jsonl"))
    shown = [orjson.loads(line) for file in files for line in file.read_bytes().splitlines()]
    assert len(shown) == 44
    assert sum(record["forced"] for record in shown) == 1
    key = bytes.fromhex((settings.data / "sink.key").read_text())
    assert shown[1]["unit"] == f"user:{pseudonym(key, 'u1')}"
    assert len(shown[1]["items"]) == len(shown[1]["sources"]) == 50
    assert b'"u1"' not in files[0].read_bytes()


async def test_events_are_written_in_the_columns_of_interactions(root: Path, redis_url: str) -> None:
    settings = settings_for(root, redis_url)
    async with running(settings) as (_, client):
        await client.post("/events", json=[event(1, "item-001", request_id="r1"), event(1, "item-001")])
    lines = [line for file in (settings.sinks / "events").glob("*.jsonl") for line in file.read_bytes().splitlines()]
    record = orjson.loads(lines[0])
    assert len(lines) == 1
    assert {"user_id", "item_id", "timestamp", "event"} <= record.keys()
    assert (record["item_id"], record["request_id"], record["event"]) == ("item-001", "r1", "view")


async def test_a_batch_that_redis_takes_by_halves_is_written_down_once(root: Path, tmp_path: Path) -> None:
    with EmbeddedRedis(EmbeddedRedisConfig(tmp_path / "redis")) as server, redis.Redis.from_url(server.url) as operator:
        settings = settings_for(root, server.url)
        async with running(settings) as (_, client):
            taken = [f"~shortlist:{{{part}}}*" for part in (user_tag("u1"), "stock", "experiments", "gr", "events")]
            operator.execute_command("ACL", "SETUSER", "default", "resetkeys", *taken)
            batch = [event(1, "item-001", user_id="u1"), event(1, "item-001", user_id="u2")]
            assert (await client.post("/events", json=batch)).status_code == 503
            operator.execute_command("ACL", "SETUSER", "default", "allkeys")
            again = await client.post("/events", json=batch)
            assert again.json() == {"accepted": 1, "duplicates": 1}
    lines = [line for file in (settings.sinks / "events").glob("*.jsonl") for line in file.read_bytes().splitlines()]
    assert len({orjson.loads(line)["user_id"] for line in lines}) == len(lines) == 2


async def test_a_variant_may_be_served_from_a_second_bundle(root: Path, redis_url: str) -> None:
    second = next(version for version in versions.list_versions(root) if version != versions.current(root))
    settings = settings_for(root, redis_url, admin_key=ADMIN["x-api-key"])
    arms = [{"name": "new", "retriever": "tgh-2", "bundle": second}]
    async with running(settings) as (app, client):
        body = {"name": "shadow", "salt": "s", "running": True, "variants": arms}
        await client.put("/admin/experiments/shadow", json=body, headers=ADMIN)
        early = await recommended(client, user_id="u", history=["item-001"])
        if second not in app.runtime.shadows:
            assert retriever(early)[2] == "bundle"
        await until(lambda: second in app.runtime.shadows, within_s=20)
        found = await recommended(client, user_id="u", history=["item-001"])
        assert (found["bundle"], retriever(found)[2]) == (second, None)
        assert (await recommended(client, history=["item-001"]))["bundle"] == versions.current(root)
        await client.post("/admin/experiments/shadow/stop", headers=ADMIN)
        await until(lambda: not app.runtime.shadows, within_s=5)


async def test_swaps_under_load_fail_no_request_free_the_old_bundle_and_refuse_a_bad_one(
    root: Path, redis_url: str
) -> None:
    settings = settings_for(root, redis_url, admin_key=ADMIN["x-api-key"])
    first, second = versions.list_versions(root)
    async with running(settings) as (app, client):
        async with asking(client) as (statuses, seen):
            for version in (first, second):
                old = weakref.ref(app.runtime.engine.bundle)  # type: ignore[union-attr]
                versions.use(root, version)
                await until(lambda v=version: app.runtime.engine.version == v, within_s=20)  # type: ignore[misc, union-attr]
                await until(lambda v=version: v in seen)  # type: ignore[misc]
            broken = root / first / "popularity.npy"
            data = broken.read_bytes()
            broken.unlink()
            broken.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
            (root / "CURRENT").write_text(first)
            refused = await client.post("/admin/bundles/reload", headers=ADMIN)
        assert refused.status_code == 409
        assert "popularity.npy" in refused.json()["detail"]
        assert str(root) not in refused.text
        assert set(statuses) == {200}
        assert seen == {first, second}
        assert app.runtime.engine.version == second  # type: ignore[union-attr]
        await until(lambda: gc.collect() >= 0 and old() is None, within_s=10)


@asynccontextmanager
async def asking(client: httpx.AsyncClient) -> AsyncIterator[tuple[list[int], set[str]]]:
    """Two callers that hardly pause; their statuses and the bundles that answered."""
    statuses: list[int] = []
    seen: set[str] = set()

    async def ask() -> None:
        while True:
            answer = await client.post("/recommend", json={"history": ["item-001", "item-002"], "k": 20})
            statuses.append(answer.status_code)
            seen.add(answer.json().get("bundle"))
            await asyncio.sleep(THINKING_S)

    tasks = [asyncio.create_task(ask()) for _ in range(2)]
    try:
        yield statuses, seen
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_without_redis_lists_with_a_history_work_others_are_popular_and_it_recovers(
    root: Path, tmp_path: Path
) -> None:
    server = EmbeddedRedis(EmbeddedRedisConfig(tmp_path / "redis"))
    server.start()
    async with running(settings_for(root, server.url, history_timeout_ms=100)) as (_, client):
        await client.post("/events", json=event(1, "item-001"))
        os.kill(server.pid, signal.SIGKILL)
        server.stop()
        assert retriever(await recommended(client, history=["item-001"])) == ("tgh-2", "tgh-2", None)
        assert retriever(await recommended(client, user_id="u")) == ("tgh-2", "popular", "redis")
        assert retriever(await recommended(client, "/recommend/popular", user_id="u"))[1] == "popular"
        strict = await client.post("/recommend", json={"user_id": "u", "fallback": False})
        assert (strict.status_code, strict.json()["reason"]) == (503, "redis")
        lost = await client.post("/events", json=event(2, "item-002"))
        assert (lost.status_code, lost.headers["retry-after"]) == (503, "1")
        server.start()

        async def recovered() -> bool:
            return retriever(await recommended(client, user_id="u")) == ("tgh-2", "tgh-2", None)

        await until(recovered, within_s=10)
    server.stop()


async def gr_worker(link: RedisLink, root: Path, name: RetrieverName) -> tuple[Worker, list["asyncio.Task[None]"]]:
    stock = Stock(link)
    stock.table.start()
    worker = Worker(link, "w", WorkerConfig(max_batch=8))
    holding = Holding(worker, root, opener(root, name, stock.view), frozenset, poll_s=0.02, keep_s=0.2)
    return worker, [asyncio.create_task(worker.run()), asyncio.create_task(holding.run())]


def expect_gr(app: Service) -> None:
    """The small shop has no generator: let another retriever of the bundle stand behind the queue."""
    for engine in [app.runtime.engine]:
        assert engine is not None
        engine.remote = frozenset({RetrieverName.GR})
    app.runtime.on_engine.append(lambda engine: setattr(engine, "remote", frozenset({RetrieverName.GR})))


async def test_gr_goes_through_the_queue_obeys_stock_follows_swaps_and_falls_back(
    root: Path, redis_url: str, link: RedisLink
) -> None:
    async with running(settings_for(root, redis_url)) as (app, client):
        expect_gr(app)
        body = {"history": ["item-001", "item-002"], "k": 10}
        down = await recommended(client, "/recommend/gr", **body)
        assert retriever(down)[0] == "gr"
        assert retriever(down)[2] == "worker"
        worker, tasks = await gr_worker(link, root, RetrieverName.TGH_2)

        async def decoded() -> bool:
            return retriever(await recommended(client, "/recommend/gr", **body)) == ("gr", "gr", None)

        await until(decoded, within_s=20)
        assert worker.ready()
        answer = await client.post("/recommend/gr", json=body)
        assert "queue;dur=" in answer.headers["server-timing"]
        assert "decode;dur=" in answer.headers["server-timing"]
        plain = await recommended(client, "/recommend/tgh-2", **body)
        assert ids(answer.json()) == ids(plain)
        top = ids(plain)[0]
        await client.put(f"/items/{top}/availability", json={"available": False})
        assert top not in ids(await recommended(client, "/recommend/gr", **body))
        only = await recommended(client, "/recommend/gr", **body, filter={"brand": ["OPI"]})
        assert ids(only) == ids(await recommended(client, "/recommend/tgh-2", **body, filter={"brand": ["OPI"]}))
        other = next(version for version in versions.list_versions(root) if version != versions.current(root))
        versions.use(root, other)
        await until(lambda: app.runtime.engine.version == other and other in worker.versions, within_s=20)  # type: ignore[union-attr]
        swapped = await recommended(client, "/recommend/gr", **body)
        assert (swapped["bundle"], retriever(swapped)) == (other, ("gr", "gr", None))
        await until(lambda: worker.versions == [other], within_s=5)
        late = await recommended(client, "/recommend/gr", **body, deadline_ms=1)
        assert retriever(late)[2] in ("deadline", "full", "redis")
        worker.drain()
        await tasks[0]
        tasks[1].cancel()
        assert retriever(await recommended(client, "/recommend/gr", **body))[2] == "worker"


async def test_metrics_tell_fallbacks_by_reason_and_name_no_user_or_item(root: Path, redis_url: str) -> None:
    async with running(settings_for(root, redis_url)) as (_, client):
        await recommended(client, user_id="nobody-knows")
        await recommended(client, "/recommend/tgh-1", history=["item-001"])
        text = (await client.get("/metrics")).text
    assert 'shortlist_fallbacks_total{assigned="tgh-2",reason="no_history",served="popular"} 1.0' in text
    assert 'route="/recommend/{retriever}",status="200",variant=""' in text
    assert 'shortlist_breaker_open{resource="redis"} 0.0' in text
    assert "nobody-knows" not in text
    assert "item-001" not in text


KEYS = [
    {"key": "reader-key-0123456789", "scopes": ["read"]},
    {"key": "events-key-0123456789", "scopes": ["events"]},
    {"key": "writer-key-0123456789", "scopes": ["write", "read"]},
]


@pytest.mark.parametrize(
    ("key", "statuses"),
    [
        (None, (401, 401, 401, 401)),
        ("wrong-key-01234567890", (401, 401, 401, 401)),
        ("reader-key-0123456789", (200, 403, 403, 403)),
        ("events-key-0123456789", (403, 200, 403, 403)),
        ("writer-key-0123456789", (200, 403, 200, 403)),
        ("admin-key-0123456789", (200, 200, 200, 200)),
    ],
)
async def test_each_key_may_do_what_its_scopes_say(
    root: Path, redis_url: str, key: str | None, statuses: tuple[int, ...]
) -> None:
    settings = settings_for(root, redis_url, api_keys=KEYS, admin_key=ADMIN["x-api-key"])
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    async with running(settings) as (_, client):
        answers = [
            await client.post("/v1/recommend", json={}, headers=headers),
            await client.post("/events", json=event(1, "a"), headers=headers),
            await client.get("/users/u/history", headers=headers),
            await client.get("/admin/bundles", headers=headers),
        ]
        assert tuple(answer.status_code for answer in answers) == statuses
        assert (await client.get("/healthz")).status_code == 200
        for answer in answers:
            assert answer.status_code == 200 or answer.headers["content-type"] == "application/problem+json"
            assert "key-0123" not in answer.text


async def test_without_keys_only_this_machine_writes_and_admin_is_disabled(root: Path, redis_url: str) -> None:
    async with running(settings_for(root, redis_url)) as (app, local):
        far = httpx.AsyncClient(transport=httpx.ASGITransport(app, client=("10.0.0.7", 1)), base_url="http://shop")
        assert (await local.get("/users/u/history")).status_code == 200
        assert (await far.get("/users/u/history")).status_code == 403
        assert (await far.put("/items/item-001/availability", json={"available": True})).status_code == 403
        assert (await far.post("/events", json=event(1, "a"))).status_code == 200
        assert (await local.get("/admin/bundles")).status_code == 403
        await far.aclose()


async def test_cors_and_security_headers(root: Path, redis_url: str) -> None:
    settings = settings_for(root, redis_url, cors_origins=["https://shop.example"], page=True)
    async with running(settings) as (_, client):
        preflight = {"origin": "https://shop.example", "access-control-request-method": "POST"}
        allowed = await client.options("/recommend", headers=preflight)
        assert allowed.headers["access-control-allow-origin"] == "https://shop.example"
        foreign = await client.post("/recommend", json={}, headers={"origin": "https://other.example"})
        assert "access-control-allow-origin" not in foreign.headers
        assert foreign.headers["x-content-type-options"] == "nosniff"
        page = await client.get("/")
        assert "frame-ancestors" in page.headers.get("content-security-policy", "") or "x-frame-options" in page.headers
