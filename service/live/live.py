"""The live parts of one API process: built from settings, started before the first request, stopped after the last."""

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial

from service.breaker import Breaker
from service.engine import Engine
from service.experiments.book import ExperimentBook
from service.history import HistoryConfig, HistoryStore
from service.live.companion import worker_awaited
from service.live.parts import ExperimentRouter, Journal, StoredHistory
from service.live.shadows import Shadows
from service.redis import keys
from service.redis.link import LinkConfig, RedisLink
from service.runtime import Runtime
from service.settings import Settings
from service.sinks.files import FileSink, SinkConfig
from service.sinks.pseudonym import stored_key
from service.sinks.stream import StreamConfig, StreamSink
from service.stock import Stock
from service.worker.client import ClientConfig, GrClient

FIRST_SYNC_S = 2.0
STOP_S = 5.0


def redis_link(settings: Settings, *, socket_timeout_s: float = 0.5) -> RedisLink:
    """The link of this process to the configured Redis.

    Args:
        settings: all settings.
        socket_timeout_s: the longest that an abandoned command holds its connection.
    """
    if settings.redis_url is None:
        raise ValueError("no Redis is configured")
    return RedisLink(LinkConfig(settings.redis_url.get_secret_value(), socket_timeout_s=socket_timeout_s))


def history_config(settings: Settings) -> HistoryConfig:
    """What histories hold."""
    return HistoryConfig(
        cap=settings.history_limit,
        remembered=2 * settings.history_limit,
        ttl_s=settings.history_ttl_s,
        weights=settings.event_weights,
    )


def sink_key(settings: Settings) -> bytes:
    """The key of users' hashes."""
    if settings.sink_key is not None:
        return settings.sink_key.get_secret_value().encode()[:64]
    return stored_key(settings.data / "sink.key")


class Live:
    """Everything that needs Redis.

    Args:
        settings: all settings; `redis_url` is set.
        on_drop: told of records that a sink dropped: name of the sink, how many.

    Attributes:
        link, histories, stock, book, journal, generator: the parts.
    """

    def __init__(self, settings: Settings, on_drop: Callable[[str, int], None]) -> None:
        self.link = redis_link(settings)
        self.histories = HistoryStore(self.link, history_config(settings))
        self.stock = Stock(self.link)
        self.book = ExperimentBook(self.link, settings.experiments)
        self.journal = _journal(self.link, settings, on_drop)
        client = ClientConfig(reserve_ms=settings.gr_reserve_ms)
        self.generator = GrClient(self.link, client, is_stock=self.stock.is_mask)
        self._settings = settings
        self._file_watch: asyncio.Task[None] | None = None
        self._shadows: Shadows | None = None

    def join(self, runtime: Runtime) -> None:
        """Give the parts to the request path."""
        runtime.history = StoredHistory(self.histories, timeout_s=self._settings.history_timeout_ms / 1000)
        runtime.router = ExperimentRouter(self.book)
        runtime.exposures = self.journal
        runtime.use_generator(self.generator)
        runtime.on_engine.append(self._attach_stock)
        supervised = self._settings.run_dir is not None and self._settings.gr_workers > 0
        runtime.before_swap.append(lambda engine: worker_awaited(self.link, engine, expected=supervised))
        self._shadows = Shadows(runtime, self.book)

    def _attach_stock(self, engine: Engine) -> None:
        engine.stock = self.stock.view(engine.bundle)

    def breakers(self) -> dict[str, Breaker]:
        """By what they guard."""
        return {"redis": self.link.breaker, "worker": self.generator.breaker}

    async def start(self) -> None:
        """Connect, and wait a little for stock and experiments; without Redis start all the same."""
        await self.link.warm()
        for table in (self.stock.table, self.book.table):
            table.start()
        self.generator.start()
        self.journal.start()
        await self.book.read_file()
        if self._shadows is not None:
            self._shadows.start()
        self._file_watch = asyncio.create_task(self.book.follow_file(), name="experiments file")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FIRST_SYNC_S):
                await self.stock.table.synced.wait()
                await self.book.table.synced.wait()
                await self.generator.ready()

    async def stop(self) -> None:
        """Write what waits, close every connection; a Redis that hangs does not keep the process."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_S):
                await self._stop()

    async def _stop(self) -> None:
        if self._file_watch is not None:
            self._file_watch.cancel()
            await asyncio.gather(self._file_watch, return_exceptions=True)
        if self._shadows is not None:
            await self._shadows.stop()
        await self.generator.stop()
        await self.journal.stop()
        await self.stock.table.stop()
        await self.book.table.stop()
        await self.link.aclose()


def _journal(link: RedisLink, settings: Settings, on_drop: Callable[[str, int], None]) -> Journal:
    key = sink_key(settings)

    def pair(name: str, stream: str) -> tuple[FileSink, StreamSink]:
        files = SinkConfig(settings.sinks / name, format=settings.sink_format, keep_s=settings.sink_keep_s)
        records = StreamConfig(stream, length=settings.sink_stream_length, max_bytes=settings.sink_stream_mb << 20)
        to_file, to_stream = partial(on_drop, f"{name}-file"), partial(on_drop, f"{name}-stream")
        return FileSink(files, on_drop=to_file), StreamSink(link, records, on_drop=to_stream)

    return Journal(lambda: key, exposures=pair("exposures", keys.EXPOSURES), events=pair("events", keys.EVENTS))
