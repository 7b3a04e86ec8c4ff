"""The worker's process: settings in, signals, metrics and health out."""

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from prometheus_client import generate_latest

from models.bundle import versions
from models.errors import ShortlistError
from models.words import RetrieverName
from service.experiments.book import ExperimentBook
from service.live.live import redis_link
from service.live.shadows import wanted_bundles
from service.settings import Settings
from service.stock import Stock
from service.supervisor.following import mirrored
from service.supervisor.gather import answer_on, process_socket
from service.worker.config import WorkerConfig
from service.worker.decoder import Decoder, Opener
from service.worker.health import serve_health
from service.worker.holding import Holding
from service.worker.retriever_decoder import opener
from service.worker.worker import Worker

SOCKET_TIMEOUT_S = 5.0
"""A worker does not answer anybody while it waits, so it may wait longer than an API process."""


def worker_config(settings: Settings) -> WorkerConfig:
    """How the worker batches."""
    return WorkerConfig(max_batch=settings.gr_max_batch, max_wait_ms=settings.gr_max_wait_ms)


async def work(settings: Settings, retriever: RetrieverName) -> None:
    """Serve the queue until SIGTERM or SIGINT, then finish what is queued.

    Raises:
        StuckError: a batch does not end.
    """
    link = redis_link(settings, socket_timeout_s=SOCKET_TIMEOUT_S)
    stock, book = Stock(link), ExperimentBook(link, settings.experiments)
    worker = Worker(link, f"{socket.gethostname()}-{os.getpid()}", worker_config(settings))
    decoders = opener(settings.bundles, retriever, stock.view)
    first = _first(settings, decoders)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, worker.drain)
    for table in (stock.table, book.table):
        table.start()
    holding = Holding(worker, settings.bundles, decoders, lambda: wanted_bundles(book), opened=first)
    try:
        async with mirrored(settings), _following(holding, book), _observed(settings, worker):
            await worker.run()
    finally:
        await stock.table.stop()
        await book.table.stop()
        await link.aclose()


def _first(settings: Settings, decoders: Opener) -> Decoder | None:
    """The current bundle's decoder, opened and run once before anything is promised to Redis.

    Imports and compilers hold the interpreter for seconds, and a heartbeat would stand still meanwhile. A bundle that
    fails here is refused later, with the reason.
    """
    with suppress(ShortlistError, OSError):
        current = versions.current(settings.bundles)
        if current is not None:
            decoder = decoders(current)
            decoder.decode([decoder.sample()])
            return decoder
    return None


@asynccontextmanager
async def _following(holding: Holding, book: ExperimentBook) -> AsyncIterator[None]:
    """Bundles that are current or named by an experiment are held meanwhile."""
    following = [
        asyncio.create_task(book.follow_file(), name="experiments file"),
        asyncio.create_task(holding.run(), name="bundles"),
    ]
    try:
        yield
    finally:
        for task in following:
            task.cancel()
        await asyncio.gather(*following, return_exceptions=True)


@asynccontextmanager
async def _observed(settings: Settings, worker: Worker) -> AsyncIterator[None]:
    """Metrics on the supervisor's socket and health over HTTP, while the worker runs."""

    def metrics() -> bytes:
        if settings.remote_bundles is not None:
            worker.metrics.mirror.look(settings.bundles)
        return generate_latest(worker.metrics.registry)

    server = None
    if settings.run_dir is not None:
        server = await answer_on(process_socket(settings.run_dir, os.getpid()), metrics)
    health = None
    if settings.gr_health_port is not None:
        health = serve_health(settings.gr_health_port, worker.ready, metrics)
    try:
        yield
    finally:
        if server is not None:
            server.close()
        if health is not None:
            health.shutdown()
