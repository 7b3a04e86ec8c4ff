"""Everything that speaks to Redis, on a real cluster of three nodes: slots, redirects, a lost node, whole processes."""

import asyncio
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import ConfigError
from models.retrieval import Candidates
from service.experiments.book import TABLE as EXPERIMENTS
from service.history import Event, HistoryStore
from service.live.live import sink_key
from service.ports import StageError
from service.redis import keys
from service.redis.cluster import read_address
from service.redis.link import LinkConfig, RedisDownError, RedisLink
from service.redis.replica import Replica
from service.sinks.forget import forget
from service.stock import TABLE as STOCK
from service.worker.client import GrClient
from tests import shop
from tests.neural_shop import add_neural

from . import test_history, test_routing, test_stock, test_worker
from .cluster import Cluster, cluster, slot_of
from .conftest import running, settings_for, until
from .decoders import EchoDecoder
from .test_api import event, recommended, retriever
from .test_supervisor import serving, wait
from .test_worker import Start, ask, fits

pytestmark = pytest.mark.anyio
USERS = [f"user {number} {{x}}" for number in range(40)]

client, start = test_worker.client, test_worker.start
test_events_by_time = test_history.test_events_are_read_by_their_own_time_and_ties_by_arrival
test_repeated_events = test_history.test_a_repeated_event_changes_nothing
test_reads_of_one_turn = test_history.test_reads_of_one_turn_come_back_each_to_its_caller
test_leavers_and_broken_keys = test_history.test_a_caller_that_leaves_or_whose_key_is_broken_leaves_the_others_alone
test_flips = test_stock.test_a_flip_reaches_every_view_of_every_process
test_concurrent_flips = test_stock.test_concurrent_flips_of_many_processes_end_alike
test_salts = test_routing.test_new_weights_need_a_new_salt_even_after_the_experiment_was_dropped
test_batches = test_worker.test_many_callers_get_their_own_answers_in_full_batches
test_expired_and_cancelled = test_worker.test_no_expired_or_cancelled_request_is_started
test_dead_worker = test_worker.test_what_a_dead_worker_left_is_taken_over_while_somebody_waits
test_two_deaths = test_worker.test_a_request_that_killed_two_workers_is_not_handed_to_a_third
test_drain = test_worker.test_drain_answers_everything_that_was_admitted_and_takes_nothing_more
test_sharing = test_worker.test_several_workers_share_the_queue


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture
def redis_url(nodes: Cluster) -> str:
    nodes.clear()
    return nodes.url


def together() -> dict[str, list[str]]:
    """Keys and channels that one script, pipeline or read touches, for every builder of `service.redis.keys`."""
    tables = {name: Replica(RedisLink(LinkConfig("unix:///none")), name) for name in (STOCK, EXPERIMENTS)}
    return {
        "history seen_events user_tag": [keys.history("u"), keys.seen_events("u"), f"{{{keys.user_tag('u')}}}"],
        "EVENTS": [keys.EVENTS],
        "EXPOSURES": [keys.EXPOSURES],
        "SALTS": [keys.SALTS],
        "GR GR_WORKERS GR_VERSIONS gr_requests gr_replies": [
            keys.GR,
            keys.GR_WORKERS,
            keys.GR_VERSIONS,
            keys.gr_requests("1"),
            keys.gr_requests("2{x}"),
            keys.gr_replies("one"),
            keys.gr_replies("two"),
        ],
    } | {f"table {name}": [*table._keys, table._bell] for name, table in tables.items()}


def test_keys_that_are_used_together_share_a_slot_and_no_builder_is_left_out() -> None:
    groups = together()
    for name, group in groups.items():
        assert len(set(map(slot_of, group))) == 1, name
    told = {word for name in groups for word in name.split()}
    assert {name for name in vars(keys) if not name.startswith("_")} - {"PREFIX", "blake2b"} <= told


@given(st.text())
def test_any_user_has_one_slot(user: str) -> None:
    assert slot_of(keys.history(user)) == slot_of(keys.seen_events(user))


@pytest.mark.parametrize(
    "wrong", ["redis+cluster://", "redis+cluster://:secret@a:b", "rediss+cluster://a:1,", "redis+cluster://a:1/3"]
)
def test_a_wrong_address_is_refused_without_its_password(wrong: str) -> None:
    with pytest.raises(ConfigError, match="SHORTLIST_REDIS_URL") as caught:
        read_address(wrong)
    assert "secret" not in str(caught.value)


async def test_events_of_many_users_reach_lists_and_erasure_leaves_nothing_on_any_node(
    nodes: Cluster, root: Path, redis_url: str
) -> None:
    settings = settings_for(root, redis_url)
    async with running(settings) as (one, first), running(settings) as (_, second):
        batch = [event(n, f"item-{n:03}", user_id=user) for user in USERS for n in range(3)]
        assert (await first.post("/events", json=batch)).json() == {"accepted": len(batch), "duplicates": 0}
        assert (await second.post("/events", json=batch)).json() == {"accepted": 0, "duplicates": len(batch)}
        asked = [recommended(second, user_id=user) for user in USERS]
        assert {retriever(found) for found in await asyncio.gather(*asked)} == {("tgh-2", "tgh-2", None)}
        assert all(len(held) > 4 for held in nodes.keys("*:history").values())
        await until(lambda: streamed(nodes, keys.EVENTS) == len(batch))
        await until(lambda: streamed(nodes, keys.EXPOSURES) == len(USERS))
        assert one.live is not None
        tag = keys.user_tag(USERS[0])
        assert sum(map(len, nodes.keys(f"*{tag}*").values())) == 2
        done = await forget(
            one.live.link,
            USERS[0],
            key=sink_key(settings),
            streams=[keys.EVENTS, keys.EXPOSURES],
            folder=settings.sinks,
        )
        assert (done.history, done.streamed) == (3, 4)
        assert nodes.keys(f"*{tag}*") == {0: [], 1: [], 2: []}
        assert retriever(await recommended(first, user_id=USERS[0]))[2] == "no_history"


def stored(count: int) -> list[Event]:
    return [test_history.event(number, f"i{number}", number) for number in range(count)]


def streamed(nodes: Cluster, stream: str) -> int:
    return int(nodes.owner(stream).client.xlen(stream))


async def test_flips_and_experiments_reach_another_process(root: Path, redis_url: str) -> None:
    settings = settings_for(root, redis_url, admin_key="admin-key-0123456789")
    door = {"x-api-key": "admin-key-0123456789"}
    experiment = {"name": "e", "salt": "s", "running": True, "variants": [{"name": "v", "retriever": "popular"}]}
    async with running(settings) as (_, first), running(settings) as (_, second):
        assert (await first.put("/admin/experiments/e", json=experiment, headers=door)).status_code == 200
        assert (await first.put("/items/item-005/availability", json={"available": False}, headers=door)).is_success

        async def arrived() -> bool:
            item = (await second.get("/items/item-005")).json()
            found = await recommended(second, history=["item-001"], user_id="u")
            return item["available"] is False and retriever(found)[1] == "popular"

        await until(arrived, within_s=5)


class Traffic:
    """Callers of the queue, one after the other, until told to end."""

    def __init__(self, client: GrClient) -> None:
        self._client, self._ended = client, False
        self.answered, self.wrong = 0, 0
        self._tasks = [asyncio.create_task(self._run(number)) for number in range(4)]

    async def _run(self, number: int) -> None:
        chance = random.Random(number)
        while not self._ended:
            seed = chance.randrange(100_000)
            try:
                found: Candidates = await ask(self._client, seed, 2.0)
            except StageError:
                await asyncio.sleep(0.01)
                continue
            self.answered += 1
            self.wrong += not fits(found, seed)

    async def more(self, count: int = 50) -> None:
        """Wait until that many further requests were answered."""
        goal = self.answered + count
        await until(lambda: self.answered >= goal)

    async def end(self) -> None:
        self._ended = True
        await asyncio.gather(*self._tasks)


async def test_a_slot_that_moves_under_load_keeps_histories_tables_and_the_queue(
    nodes: Cluster, link: RedisLink, start: Start, client: GrClient
) -> None:
    await start(EchoDecoder(), "one")
    await start(EchoDecoder(), "two")
    histories = HistoryStore(link)
    await histories.append("u", stored(3))
    traffic = Traffic(client)
    await traffic.more()
    for key in (keys.GR_WORKERS, keys.history("u")):
        source, target = nodes.begin_move(key)
        await asyncio.sleep(0.2)
        assert len(await histories.read("u")) == 3
        nodes.end_move(key, source, target)
        assert nodes.owner(key) is target
        await traffic.more()
    assert len(await histories.read("u")) == 3
    assert await histories.append("u", stored(4)) == [False, False, False, True]
    await traffic.end()
    assert traffic.wrong == 0


async def test_a_lost_node_costs_its_own_keys_until_it_is_back(
    nodes: Cluster, link: RedisLink, start: Start, client: GrClient
) -> None:
    await start(EchoDecoder())
    histories, table, other = HistoryStore(link), Replica(link, STOCK), Replica(link, STOCK)
    other.start()
    await table.put({"a": b"1"})
    for user in USERS:
        await histories.append(user, stored(2))
    for lost in (nodes.owner(keys.GR_WORKERS), nodes.owner(table._keys[0])):
        away = [user for user in USERS if nodes.owner(keys.history(user)) is lost]
        lost.kill()
        found = await asyncio.gather(*(readable(histories, user) for user in USERS))
        assert {user for user, seen in zip(USERS, found, strict=True) if not seen} == set(away)
        lost.start()
        nodes.wait_healthy()
        for user in USERS:
            await until(lambda user=user: readable(histories, user))
        traffic = Traffic(client)
        await traffic.more()
        await traffic.end()
        assert traffic.wrong == 0
    await table.put({"a": b"2"})
    await until(lambda: other.values["a"] == b"2")
    await other.stop()


async def readable(histories: HistoryStore, user: str) -> bool:
    try:
        return await histories.item_ids(user, timeout_s=5) == ["i0", "i1"]
    except RedisDownError:
        return False


def test_whole_processes_run_on_a_cluster(redis_url: str, tmp_path: Path) -> None:
    one = shop.odd_shop(1)
    shop.build(tmp_path / "bundles", one, lambda writer, _: add_neural(writer, one.embeddings, one.popularity))
    body = {"history": ["001", "002"], "k": 10}
    with serving(tmp_path / "bundles", redis_url=redis_url, gr_threads="1") as server:
        wait(lambda: served(server.url, body) == {"assigned": "gr", "served": "gr", "fallback_reason": None})
        click = {"event_id": "1", "user_id": "u", "item_id": "001", "timestamp": datetime.now(UTC).isoformat()}
        assert httpx.post(f"{server.url}/events", json=click, timeout=60).json() == {"accepted": 1, "duplicates": 0}
        assert len(httpx.get(f"{server.url}/users/u/history", timeout=60).json()["items"]) == 1
        httpx.put(f"{server.url}/items/003/availability", json={"available": False}, timeout=60)
        answer = httpx.get(f"{server.url}/items/003", timeout=60)
        assert answer.json().get("available") is False, answer.text


def served(url: str, body: dict[str, object]) -> object:
    return httpx.post(f"{url}/recommend/gr", json=body, timeout=60).json().get("retriever")
