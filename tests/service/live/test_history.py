"""A history is idempotent, ordered by event time whatever the order of arrival, capped and erasable."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from service.history import Event, HistoryConfig, HistoryStore, Seen, counted
from service.redis import keys
from service.redis.link import LinkConfig, RedisDownError, RedisLink
from service.redis.server import EmbeddedRedis, EmbeddedRedisConfig
from service.stock import Stock

pytestmark = pytest.mark.anyio
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def event(number: int, item: str, seconds: int, *, user: str = "u", kind: str = "view") -> Event:
    return Event(f"e{number}", user, item, NOON + timedelta(seconds=seconds), kind)


def items(entries: list[Seen]) -> list[str]:
    return [entry.item_id for entry in entries]


async def test_events_are_read_by_their_own_time_and_ties_by_arrival(link: RedisLink) -> None:
    store = HistoryStore(link)
    await store.append("u", [event(1, "late", 9), event(2, "early", 1)])
    await store.append("u", [event(3, "tie", 1), event(4, "a-tie", 1)])
    assert items(await store.read("u")) == ["early", "tie", "a-tie", "late"]


async def test_a_repeated_event_changes_nothing(link: RedisLink) -> None:
    store = HistoryStore(link)
    assert await store.append("u", [event(1, "a", 1), event(1, "a", 1), event(2, "b", 2)]) == [True, False, True]
    assert await store.append("u", [event(1, "a", 1)]) == [False]
    assert items(await store.read("u")) == ["a", "b"]


async def test_a_full_history_keeps_the_newest_by_event_time(link: RedisLink) -> None:
    store = HistoryStore(link, HistoryConfig(cap=3))
    await store.append("u", [event(number, f"i{number}", -number) for number in range(6)])
    assert items(await store.read("u")) == ["i2", "i1", "i0"]
    await store.append("u", [event(9, "ancient", -99)])
    assert items(await store.read("u")) == ["i2", "i1", "i0"]


async def test_an_event_of_weight_zero_stays_out_but_is_still_known(link: RedisLink) -> None:
    store = HistoryStore(link, HistoryConfig(weights={"impression": 0.0}))
    assert await store.append("u", [event(1, "a", 1, kind="impression"), event(2, "b", 2)]) == [True, True]
    assert await store.append("u", [event(1, "a", 1, kind="impression")]) == [False]
    assert items(await store.read("u")) == ["b"]


async def test_odd_ids_come_back_to_the_byte(link: RedisLink) -> None:
    store = HistoryStore(link)
    odd = ["007", "7", "7.0", "a/b%2F", "}{", "ünï\u2028", "x" * 256]
    await store.append("{}", [event(number, item, number, user="{}") for number, item in enumerate(odd)])
    assert items(await store.read("{}")) == odd


async def test_erasure_leaves_no_key_of_the_user(link: RedisLink) -> None:
    store = HistoryStore(link)
    await store.append("gone", [event(1, "a", 1)])
    await store.append("stays", [event(1, "a", 1)])
    before = set(await link.call(lambda client: client.keys("*")))
    assert await store.erase("gone") == 1
    left = set(await link.call(lambda client: client.keys("*")))
    assert len(before) == 4
    assert len(left) == 2
    assert items(await store.read("gone")) == []
    assert items(await store.read("stays")) == ["a"]


async def test_every_key_of_a_user_expires_and_shares_a_hash_slot(link: RedisLink) -> None:
    store = HistoryStore(link, HistoryConfig(ttl_s=100))
    await store.append("u}", [event(1, "a", 1)])
    names = await link.call(lambda client: client.keys("*"))
    assert {await link.call(lambda client, name=name: client.ttl(name)) for name in names} <= {99, 100}
    assert len({name.split(b"{")[1].split(b"}")[0] for name in names}) == 1


async def test_a_full_history_takes_a_bounded_amount_of_memory(link: RedisLink) -> None:
    store = HistoryStore(link, HistoryConfig(cap=50, remembered=50))
    full = [event(number, f"item-{number:06}", number) for number in range(120)]
    for number in range(200):
        await store.append(f"user-{number}", full)
    sizes = await asyncio.gather(*(link.call(lambda client, n=n: client.memory_usage(n)) for n in await names(link)))
    assert sum(sizes) / 200 < 12_000


async def test_thousands_of_users_stay_within_the_memory_that_redis_may_take_and_stock_is_kept(tmp_path: Path) -> None:
    with EmbeddedRedis(EmbeddedRedisConfig(tmp_path / "redis", maxmemory_mb=16)) as server:
        link = RedisLink(LinkConfig(server.url))
        await Stock(link).set_available({"sold-out": False})
        store = HistoryStore(link, HistoryConfig(write_timeout_s=30))
        past = [event(number, f"item-{number:06}", number) for number in range(20)]
        for begin in range(0, 10_000, 50):
            users = range(begin, begin + 50)
            await asyncio.gather(*(store.append(f"user-{number}", past) for number in users))
        used = await link.call(lambda client: client.info("memory"), timeout_s=30)
        held = await link.call(lambda client: client.dbsize(), timeout_s=30)
        assert used["used_memory"] < 18 << 20
        assert held < 2 * 9_000
        assert len(await store.read("user-9999")) == 20
        again = Stock(link)
        await again.table.refresh()
        assert not again.overrides["sold-out"].available
        await link.aclose()


async def names(link: RedisLink) -> list[bytes]:
    return list(await link.call(lambda client: client.keys("*")))


async def test_a_caller_is_told_when_nothing_was_acknowledged(tmp_path: Path) -> None:
    link = RedisLink(LinkConfig(f"unix://{tmp_path}/none.sock"))
    with pytest.raises(RedisDownError):
        await HistoryStore(link).append("u", [event(1, "a", 1)])
    await link.aclose()


def test_consecutive_events_on_one_item_count_once_but_repeats_are_kept() -> None:
    kinds = [("a", "view"), ("a", "cart"), ("a", "purchase"), ("b", "view"), ("b", "view"), ("a", "view")]
    assert counted([b"0" * 21 + f"{kind}\0{item}".encode() for item, kind in kinds]) == ["a", "b", "b", "a"]


async def test_reads_of_one_turn_come_back_each_to_its_caller(link: RedisLink) -> None:
    store = HistoryStore(link, HistoryConfig(cap=2))
    for user in ("u", "v"):
        await store.append(user, [event(number, f"{user}{number}", number) for number in range(3)])
    reads = (store.item_ids(user, timeout_s=5) for user in ("u", "nobody", "v", "u"))
    assert await asyncio.gather(*reads) == [["u1", "u2"], [], ["v1", "v2"], ["u1", "u2"]]


async def test_a_caller_that_leaves_or_whose_key_is_broken_leaves_the_others_alone(link: RedisLink) -> None:
    store = HistoryStore(link)
    await store.append("u", [event(1, "a", 1)])
    await link.call(lambda client: client.set(keys.history("broken"), "text"))
    left, broken, kept = (asyncio.ensure_future(store.item_ids(user, timeout_s=5)) for user in ("u", "broken", "u"))
    await asyncio.sleep(0)
    left.cancel()
    assert await kept == ["a"]
    with pytest.raises(RedisDownError, match="WRONGTYPE"):
        await broken


async def test_each_reader_waits_only_as_long_as_it_may(link: RedisLink) -> None:
    store = HistoryStore(link)
    await store.append("u", [event(1, "a", 1)])
    await link.call(lambda client: client.client_pause(300, all=True))
    patient = asyncio.ensure_future(store.item_ids("u", timeout_s=30))
    with pytest.raises(RedisDownError, match="20 ms"):
        await store.item_ids("u", timeout_s=0.02)
    assert not patient.done()
    assert await patient == ["a"]


class HistoryMachine(RuleBasedStateMachine):
    """The store against a model: a dict of events by id, sorted by time and arrival, cut to the cap."""

    url: str

    @initialize()
    def open(self) -> None:
        self.runner = asyncio.Runner()
        self.link = RedisLink(LinkConfig(self.url, timeout_s=5, socket_timeout_s=5))
        self.store = HistoryStore(self.link, HistoryConfig(cap=8, remembered=10_000))
        self.runner.run(self.link.call(lambda client: client.flushall()))
        self.applied: dict[str, dict[str, tuple[int, int, str]]] = {"a": {}, "b": {}}
        self.kept: dict[str, list[tuple[int, int, str]]] = {"a": [], "b": []}
        self.arrivals = 0

    @rule(user=st.sampled_from("ab"), batch=st.lists(st.tuples(st.integers(0, 40), st.integers(-5, 5)), max_size=6))
    def append(self, user: str, batch: list[tuple[int, int]]) -> None:
        events = [event(number, f"i{number}", seconds, user=user) for number, seconds in batch]
        fresh = self.runner.run(self.store.append(user, events))
        for (number, seconds), new in zip(batch, fresh, strict=True):
            assert new == (f"e{number}" not in self.applied[user])
            if new:
                self.arrivals += 1
                entry = (seconds, self.arrivals, f"i{number}")
                self.applied[user][f"e{number}"] = entry
                self.kept[user].append(entry)
        self.kept[user] = sorted(self.kept[user])[-8:]

    @rule(user=st.sampled_from("ab"))
    def erase(self, user: str) -> None:
        assert self.runner.run(self.store.erase(user)) == len(self.kept[user])
        self.applied[user], self.kept[user] = {}, []

    @invariant()
    def reads_what_was_written(self) -> None:
        for user in "ab":
            assert items(self.runner.run(self.store.read(user))) == [item for _, _, item in self.kept[user]]

    def teardown(self) -> None:
        self.runner.run(self.link.aclose())
        self.runner.close()


def test_any_sequence_of_events_and_erasures_agrees_with_a_plain_model(redis_server: EmbeddedRedis) -> None:
    HistoryMachine.url = redis_server.url
    machine = HistoryMachine.TestCase()
    machine.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
    machine.runTest()
