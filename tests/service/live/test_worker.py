"""The queue: admission, batches, deadlines, cancels, crossed replies, dead and stuck workers, drain."""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.retrieval import Candidates, Eligible, Query
from models.words import FallbackReason
from service.ports import StageError
from service.redis import keys
from service.redis.link import RedisLink
from service.worker.client import ClientConfig, GrClient
from service.worker.config import WorkerConfig
from service.worker.decoder import WARM_RUNS
from service.worker.pace import Pace
from service.worker.queue import Checked, Queue, Ticket
from service.worker.wire import decode_query, encode_query
from service.worker.worker import StuckError, Worker

from .conftest import until
from .decoders import N_ITEMS, VERSION, EchoDecoder, answer, query

pytestmark = pytest.mark.anyio
WARM_BATCHES = 2 * WARM_RUNS
RANDOM_REQUESTS = 10_000
Start = Callable[..., Awaitable[Worker]]


@pytest.fixture
async def start(link: RedisLink) -> AsyncIterator[Start]:
    running: list[tuple[Worker, EchoDecoder, asyncio.Task[None]]] = []

    async def start_worker(decoder: EchoDecoder, name: str = "w", config: WorkerConfig | None = None) -> Worker:
        worker = Worker(link, name, config or WorkerConfig(max_batch=8))
        await worker.hold(decoder)
        decoder.batches.clear()
        running.append((worker, decoder, asyncio.create_task(worker.run())))
        return worker

    yield start_worker
    for worker, decoder, task in running:
        decoder.gate.set()
        worker.drain()
        with contextlib.suppress(StuckError, asyncio.CancelledError):
            await task


@pytest.fixture
async def client(link: RedisLink) -> AsyncIterator[GrClient]:
    client = GrClient(link, ClientConfig(reserve_ms=0))
    client.start()
    await client.ready()
    yield client
    await client.stop()


async def ask(client: GrClient, seed: int, budget_s: float = 30.0, version: str = VERSION) -> Candidates:
    found, timings = await client.retrieve(version, query(seed), deadline=time.monotonic() + budget_s)
    assert set(timings) == {"queue", "decode"}
    return found


async def refused(work: Awaitable[object]) -> FallbackReason:
    with pytest.raises(StageError) as caught:
        await work
    return caught.value.reason


def fits(found: Candidates, seed: int) -> bool:
    return np.array_equal(found.items, answer(query(seed)).items) and found.scores[0] == answer(query(seed)).scores[0]


async def left(link: RedisLink) -> tuple[int, int]:
    """Requests in the stream, and those that some worker holds."""
    stream = keys.gr_requests(VERSION)
    pending = await link.call(lambda client: client.xpending(stream, "workers"))
    return await link.call(lambda client: client.xlen(stream)), int(pending["pending"])


async def clean(link: RedisLink) -> bool:
    return await left(link) == (0, 0)


async def test_many_callers_get_their_own_answers_in_full_batches(
    link: RedisLink, start: Start, client: GrClient
) -> None:
    decoder = EchoDecoder(fixed_s=0.005)
    await start(decoder)
    found = await asyncio.gather(*(ask(client, seed) for seed in range(400)))
    assert all(fits(one, seed) for seed, one in enumerate(found))
    assert sorted(seed for batch in decoder.batches for seed in batch) == list(range(400))
    assert np.mean([len(batch) for batch in decoder.batches]) > 6
    await until(lambda: clean(link))


async def test_without_a_worker_or_its_bundle_the_caller_is_told_at_once(start: Start, client: GrClient) -> None:
    assert await refused(ask(client, 1)) is FallbackReason.WORKER
    await start(EchoDecoder())
    assert await refused(ask(client, 1, version="20260101T000000-0002")) is FallbackReason.BUNDLE


async def test_a_request_that_would_come_too_late_is_refused_at_once(start: Start, client: GrClient) -> None:
    await start(EchoDecoder(fixed_s=0.1))
    started = time.monotonic()
    assert await refused(ask(client, 1, 0.05)) is FallbackReason.FULL
    assert time.monotonic() - started < 0.05


async def test_an_overload_is_refused_and_what_is_admitted_is_in_time(start: Start, client: GrClient) -> None:
    await start(EchoDecoder(fixed_s=0.1), config=WorkerConfig(max_batch=4))
    outcomes = await asyncio.gather(*(ask(client, seed, 1.0) for seed in range(200)), return_exceptions=True)
    reasons = [outcome.reason for outcome in outcomes if isinstance(outcome, StageError)]
    served = [outcome for outcome in outcomes if isinstance(outcome, Candidates)]
    assert 8 <= len(served) <= 44
    assert reasons.count(FallbackReason.FULL) >= 150
    assert reasons.count(FallbackReason.DEADLINE) <= len(served)


async def test_no_expired_or_cancelled_request_is_started(link: RedisLink, start: Start, client: GrClient) -> None:
    decoder = EchoDecoder()
    worker = await start(decoder, config=WorkerConfig(max_batch=1))
    decoder.gate.clear()
    blocking = asyncio.create_task(ask(client, 1))
    await until(lambda: decoder.batches == [[1]])
    expiring = asyncio.create_task(ask(client, 2, 0.05))
    cancelled = asyncio.create_task(ask(client, 3))
    kept = asyncio.create_task(ask(client, 4))
    assert await refused(expiring) is FallbackReason.DEADLINE
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    await until(lambda: not client._background)
    decoder.gate.set()
    assert fits(await blocking, 1)
    assert fits(await kept, 4)
    assert decoder.batches == [[1], [4]]
    await until(lambda: clean(link))
    assert worker.ready()


async def test_a_failed_batch_reaches_each_of_its_members_and_the_worker_goes_on(
    link: RedisLink, start: Start, client: GrClient
) -> None:
    decoder = EchoDecoder()
    await start(decoder)
    decoder.fail = True
    reasons = await asyncio.gather(*(refused(ask(client, seed)) for seed in range(8)))
    assert set(reasons) == {FallbackReason.WORKER}
    decoder.fail = False
    assert fits(await ask(client, 9), 9)
    await until(lambda: clean(link))


async def test_what_a_dead_worker_left_is_taken_over_while_somebody_waits(
    link: RedisLink, start: Start, client: GrClient
) -> None:
    dead = EchoDecoder()
    first = Worker(link, "dead", WorkerConfig(max_batch=8))
    await first.hold(dead)
    dead.gate.clear()
    task = asyncio.create_task(first.run())
    asking = [asyncio.create_task(ask(client, seed)) for seed in range(3)]
    hurried = asyncio.create_task(ask(client, 9, 0.5))
    await until(lambda: sum(map(len, dead.batches[-1:])) > 0 and len(dead.batches) > WARM_BATCHES)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert await refused(hurried) is FallbackReason.DEADLINE
    await until(lambda: not client._background)
    second = EchoDecoder()
    await start(second, "second", WorkerConfig(max_batch=8, claim_idle_ms=50))
    found = await asyncio.gather(*asking)
    assert all(fits(one, seed) for seed, one in enumerate(found))
    assert 9 not in [seed for batch in second.batches for seed in batch]
    await until(lambda: clean(link))
    dead.gate.set()


async def test_a_request_that_killed_two_workers_is_not_handed_to_a_third(link: RedisLink, start: Start) -> None:
    stream = keys.gr_requests(VERSION)
    await Queue(link, "one").join(VERSION)
    await link.call(lambda redis: redis.hset(keys.GR_WORKERS, "ghost", ghost()))  # type: ignore[arg-type]
    client = GrClient(link, ClientConfig(reserve_ms=0))
    client.start()
    await client.ready()
    asking = asyncio.create_task(ask(client, 1, 30.0))
    await until(lambda: has_entries(link))
    await link.call(lambda redis: redis.xreadgroup("workers", "one", {stream: ">"}))
    pending = await link.call(lambda redis: redis.xpending_range(stream, "workers", "-", "+", 1))
    await link.call(lambda redis: redis.xclaim(stream, "workers", "two", 0, [pending[0]["message_id"]]))
    third = EchoDecoder()
    await start(third, "third", WorkerConfig(max_batch=8, claim_idle_ms=1))
    await until(lambda: clean(link))
    assert third.batches == []
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    await client.stop()


def ghost() -> str:
    pace = '"single_ms": 1, "full_ms": 1, "max_batch": 8, "max_wait_ms": 1'
    return f'{{"at": {time.time() * 1000}, "versions": ["{VERSION}"], {pace}}}'


async def has_entries(link: RedisLink) -> bool:
    return bool(await link.call(lambda client: client.xlen(keys.gr_requests(VERSION))))


async def test_a_worker_whose_batch_does_not_end_is_not_ready_and_ends_itself(
    link: RedisLink, client: GrClient
) -> None:
    decoder = EchoDecoder()
    worker = Worker(link, "stuck", WorkerConfig(max_batch=8, stall_s=0.2, beat_s=0.05))
    await worker.hold(decoder)
    assert worker.ready()
    task = asyncio.create_task(worker.run())
    decoder.gate.clear()
    asking = asyncio.create_task(ask(client, 1, 1.0))
    with pytest.raises(StuckError):
        await task
    assert not worker.ready()
    decoder.gate.set()
    assert await refused(asking) is FallbackReason.DEADLINE


async def test_an_idle_worker_probes_its_decoder_so_that_admission_forgets_a_slow_moment(
    start: Start, client: GrClient
) -> None:
    decoder = EchoDecoder()
    worker = await start(decoder, config=WorkerConfig(max_batch=1, probe_s=0.02, beat_s=0.02))
    worker.pace.learn(1, 100_000.0)
    await until(lambda: worker.pace.predict(1) > 10_000)

    async def admitted() -> bool:
        try:
            return fits(await ask(client, 1, 0.2), 1)
        except StageError:
            return False

    await until(admitted)


async def test_drain_answers_everything_that_was_admitted_and_takes_nothing_more(
    link: RedisLink, start: Start, client: GrClient
) -> None:
    decoder = EchoDecoder(fixed_s=0.01)
    worker = await start(decoder, config=WorkerConfig(max_batch=4))
    asking = [asyncio.create_task(ask(client, seed)) for seed in range(40)]
    await until(lambda: len(decoder.batches) >= 2)
    worker.drain()
    assert all(fits(one, seed) for seed, one in enumerate(await asyncio.gather(*asking)))
    assert await refused(ask(client, 99)) is FallbackReason.WORKER
    assert not worker.ready()
    await until(lambda: clean(link))


async def test_several_workers_share_the_queue(start: Start, client: GrClient) -> None:
    decoders = [EchoDecoder(fixed_s=0.01) for _ in range(2)]
    for number, decoder in enumerate(decoders):
        await start(decoder, f"w{number}", WorkerConfig(max_batch=8, probe_s=60))
    found = await asyncio.gather(*(ask(client, seed) for seed in range(200)))
    assert all(fits(one, seed) for seed, one in enumerate(found))
    counts = [sum(map(len, decoder.batches)) for decoder in decoders]
    assert sum(counts) == 200
    assert min(counts) > 50


async def test_a_lost_redis_ends_every_wait_and_the_queue_works_again_afterwards(
    link: RedisLink, start: Start, client: GrClient
) -> None:
    decoder = EchoDecoder()
    await start(decoder)
    decoder.gate.clear()
    asking = asyncio.create_task(ask(client, 1))
    await until(lambda: bool(decoder.batches))
    await link.call(lambda redis: redis.client_kill_filter(_type="pubsub"))
    assert await refused(asking) is FallbackReason.REDIS
    decoder.gate.set()
    await client.ready()
    assert fits(await ask(client, 2), 2)
    await link.call(lambda redis: redis.flushall())

    async def answered() -> bool:
        try:
            return fits(await ask(client, 3, 0.5), 3)
        except StageError:
            return False

    await until(answered)


async def test_random_cancels_and_deadlines_leave_nothing_behind(
    link: RedisLink, start: Start, client: GrClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoder = EchoDecoder(fixed_s=0.001)
    worker = await start(decoder, config=WorkerConfig(max_batch=32))
    checks = spy(worker, monkeypatch)
    chance = random.Random(7)

    async def one(seed: int) -> str:
        task = asyncio.create_task(ask(client, seed, chance.choice([0.002, 0.02, 5.0])))
        if chance.random() < 0.3:
            await asyncio.sleep(chance.random() * 0.02)
            task.cancel()
        try:
            assert fits(await task, seed)
        except asyncio.CancelledError:
            return "cancelled"
        except StageError as error:
            return error.reason.value
        return "served"

    outcomes: list[str] = []
    for begin in range(1, 1 + RANDOM_REQUESTS, 200):
        outcomes += await asyncio.gather(*(one(seed) for seed in range(begin, begin + 200)))
    assert outcomes.count("served") > 500
    assert outcomes.count("cancelled") > 200
    await until(lambda: not client._background)
    await until(lambda: clean(link))
    assert not client._waiting
    assert fits(await ask(client, 5), 5)
    begun = [(ticket, checked.now_ms) for checked in checks for ticket in checked.alive]
    assert all(float(ticket.deadline_ms) > now_ms for ticket, now_ms in begun)
    seeds = [seed for batch in decoder.batches for seed in batch if seed]
    assert seeds == [int(np.dot(ticket.query().history, (1, N_ITEMS))) for ticket, _ in begun]


def spy(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> list[Checked]:
    """What the worker's last look before each batch finds, on Redis's clock."""
    checks: list[Checked] = []
    look = worker._queue.check

    async def check(tickets: Sequence[Ticket]) -> Checked:
        checks.append(await look(tickets))
        return checks[-1]

    monkeypatch.setattr(worker._queue, "check", check)
    return checks


@given(st.data())
def test_a_query_survives_the_wire(data: st.DataObject) -> None:
    n_items = data.draw(st.integers(1, 300))
    allowed = data.draw(st.none() | st.lists(st.booleans(), min_size=n_items, max_size=n_items))
    indices = st.lists(st.integers(0, n_items - 1), max_size=20)
    mask = None if allowed is None else np.array(allowed, np.bool_)
    blocked = np.unique(np.array(data.draw(indices), np.int32)).astype(np.int32)
    sent = Query(
        np.array(data.draw(indices), np.int32),
        data.draw(st.integers(1, 500)),
        Eligible(n_items, mask, blocked),
        beam=data.draw(st.none() | st.integers(1, 500)),
        fill=data.draw(st.booleans()),
    )
    got = decode_query(encode_query(sent))
    assert np.array_equal(got.history, sent.history)
    assert np.array_equal(got.eligible.dense(), sent.eligible.dense())
    assert (got.eligible.mask is None) == (mask is None)
    assert (got.k, got.beam, got.fill, got.order, got.value) == (sent.k, sent.beam, sent.fill, sent.order, sent.value)


def test_the_pace_follows_what_batches_take_and_never_falls_with_size() -> None:
    pace = Pace(6)
    assert pace.sizes == [1, 2, 4, 6]
    assert pace.predict(3) == 0
    for size, took in ((1, 10.0), (6, 30.0), (4, 5.0)):
        pace.learn(size, took)
    assert [pace.predict(size) for size in (1, 3, 5, 6, 60)] == [10.0, 10.0, 30.0, 30.0, 30.0]
    pace.learn(1, 100.0)
    assert pace.predict(1) == pytest.approx(28.0), "one slow batch is not the rule"
    for _ in range(4):
        pace.learn(1, 1.0)
    assert pace.predict(1) < 2, "a slow time is soon forgotten"
