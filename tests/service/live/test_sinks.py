"""Sinks keep every record they took, drop and count what is too much, rotate, and forget a user."""

import stat
import threading
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pyarrow.parquet as pq
import pytest

from service.history import Event, HistoryStore
from service.live.settings import SinkFormat
from service.redis.link import LinkConfig, RedisLink
from service.sinks.files import FileSink, SinkConfig
from service.sinks.forget import forget, forget_files
from service.sinks.pseudonym import pseudonym, stored_key
from service.sinks.records import event_record
from service.sinks.stream import StreamConfig, StreamSink

from .conftest import until

pytestmark = pytest.mark.anyio


def lines(folder: Path) -> list[dict[str, object]]:
    return [orjson.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.read_bytes().splitlines()]


def test_every_record_that_was_taken_is_written(tmp_path: Path) -> None:
    sink = FileSink(SinkConfig(tmp_path / "events"))
    sink.start()
    threads = [threading.Thread(target=lambda n=n: [sink.put({"n": n, "i": i}) for i in range(500)]) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sink.close()
    assert len(lines(tmp_path / "events")) == 2000


def test_too_many_waiting_records_are_dropped_and_counted(tmp_path: Path) -> None:
    dropped: list[int] = []
    sink = FileSink(SinkConfig(tmp_path / "events", waiting=10), on_drop=dropped.append)
    assert [sink.put({"n": n}) for n in range(15)] == [True] * 10 + [False] * 5
    sink.start()
    sink.close()
    assert len(lines(tmp_path / "events")) == 10
    assert sum(dropped) == 5


def test_a_folder_that_cannot_be_written_costs_records_not_requests(tmp_path: Path) -> None:
    dropped: list[int] = []
    sink = FileSink(SinkConfig(tmp_path / "events"), on_drop=dropped.append)
    sink.start()
    (tmp_path / "events").rmdir()
    assert sink.put({"n": 1})
    sink.close()
    assert sum(dropped) == 1


def test_full_files_are_closed_turned_into_parquet_and_expire(tmp_path: Path) -> None:
    folder = tmp_path / "events"
    sink = FileSink(SinkConfig(folder, flush_s=0.005, rotate_bytes=1, format=SinkFormat.PARQUET))
    sink.start()
    for number in range(3):
        sink.put({"n": number, "items": ["a", "b"]})
        while len(list(folder.glob("*.parquet"))) <= number:
            assert sink._thread.is_alive()
    sink.close()
    rows = [row for path in sorted(folder.glob("*.parquet")) for row in pq.read_table(path).to_pylist()]
    assert sorted(row["n"] for row in rows) == [0, 1, 2]
    assert not list(folder.glob("*.jsonl"))
    expiring = FileSink(SinkConfig(folder, keep_s=-1))
    expiring.start()
    expiring.put({"n": 9})
    expiring.close()
    assert not list(folder.iterdir())


async def test_streams_are_bounded_and_survive_a_lost_redis(link: RedisLink, tmp_path: Path) -> None:
    sink = StreamSink(link, StreamConfig("s", length=100, waiting=100_000))
    sink.start()
    for number in range(3000):
        sink.put({"user_id": "u", "n": number})
    await sink.close()
    assert await link.call(lambda client: client.xlen("s")) < 300
    dropped: list[int] = []
    nowhere = RedisLink(LinkConfig(f"unix://{tmp_path}/none"))
    lost = StreamSink(nowhere, StreamConfig("s", waiting=5), on_drop=dropped.append)
    lost.start()
    for number in range(7):
        lost.put({"n": number})
    await until(lambda: sum(dropped) == 7)
    await lost.close()
    await nowhere.aclose()


async def test_long_records_make_a_stream_shorter(link: RedisLink) -> None:
    stream = StreamSink(link, StreamConfig("long", max_bytes=1 << 20, batch=100))
    stream.start()
    for number in range(2_000):
        stream.put({"user_id": "u", "number": number, "items": ["x" * 100] * 50})
    await stream.close()
    used = await link.call(lambda client: client.memory_usage("long", samples=0))
    kept = await link.call(lambda client: client.xlen("long"))
    assert 100 < kept < 400
    assert used < 3 << 20


def test_the_key_is_made_once_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "run" / "sink.key"
    keys = {stored_key(path) for _ in range(3)}
    assert len(keys) == 1
    assert len(keys.pop()) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert pseudonym(b"a", "u") != pseudonym(b"b", "u")


async def test_forgetting_a_user_reaches_history_streams_and_files_even_while_they_are_written(
    link: RedisLink, tmp_path: Path
) -> None:
    key = b"k" * 32
    events = [
        Event(f"e{n}", user, "item", datetime(2026, 1, 1, tzinfo=UTC)) for n, user in enumerate(["gone", "stays"] * 50)
    ]
    await HistoryStore(link).append("gone", [event for event in events if event.user_id == "gone"])
    stream, file = StreamSink(link, StreamConfig("s")), FileSink(SinkConfig(tmp_path / "events", flush_s=0.001))
    old = FileSink(SinkConfig(tmp_path / "exposures", format=SinkFormat.PARQUET))
    file.start()
    old.start()
    for event in events:
        record = event_record(key, event)
        assert stream.put(record)
        assert file.put(record)
        assert old.put(record)
    await stream.close()
    old.close()
    await until(lambda: len(lines(tmp_path / "events")) == 100)
    done = await forget(link, "gone", key=key, streams=["s"], folder=tmp_path)
    assert (done.history, done.streamed, done.written) == (50, 50, 100)
    file.put(event_record(key, events[1]))
    file.close()
    left = lines(tmp_path / "events")
    assert {record["user_id"] for record in left} == {pseudonym(key, "stays")}
    assert len(left) == 51
    assert forget_files(tmp_path, pseudonym(key, "gone")) == 0
