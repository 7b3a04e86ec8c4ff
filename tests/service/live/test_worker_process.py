"""Worker processes: killed in mid-batch, drained, stuck; health over HTTP; traces of the API beside them."""

import asyncio
import http.server
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest

from models.bundle.layout import AVAILABLE
from models.bundle.reader import Bundle
from models.registry import open_retriever
from models.retrieval import Eligible, Query
from models.words import RetrieverName
from service.ports import StageError
from service.redis import keys
from service.redis.link import RedisLink
from service.worker.client import ClientConfig, GrClient
from tests.service.api.conftest import ROOT

from .conftest import running, settings_for, until

pytestmark = pytest.mark.anyio
RETRIEVER = RetrieverName.TGH_2
PATIENCE_S = 120.0


@contextmanager
def worker(root: Path, redis_url: str, **variables: str) -> Iterator["subprocess.Popen[bytes]"]:
    """`shortlist worker` decoding tgh-2, killed at the end if it still runs."""
    chosen = {"redis_url": redis_url, "bundles": str(root), "data_dir": str(root.parent / "live"), **variables}
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | {f"SHORTLIST_{k.upper()}": v for k, v in chosen.items()}
    command = [sys.executable, "-P", "-c", "from models.cli import main; main()", "worker", "--retriever", RETRIEVER]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture
async def client(link: RedisLink) -> AsyncIterator[GrClient]:
    client = GrClient(link, ClientConfig(reserve_ms=0))
    client.start()
    await client.ready()
    yield client
    await client.stop()


class Asker:
    """Asks for lists whose right answers are known."""

    def __init__(self, client: GrClient, root: Path) -> None:
        self.bundle = Bundle.open(root)
        self._stock = np.asarray(self.bundle.array(AVAILABLE))
        self._client, self._retriever = client, open_retriever(self.bundle, RETRIEVER)

    async def ask(self, seed: int, budget_s: float = PATIENCE_S) -> bool:
        """True if the answer is that of this very query."""
        history = np.array([seed % self.bundle.n_items, (7 * seed + 1) % self.bundle.n_items], np.int32)
        query = Query(history, 10, Eligible(self.bundle.n_items, self._stock))
        deadline = time.monotonic() + budget_s
        found, _ = await self._client.retrieve(self.bundle.version, query, deadline=deadline)
        return np.array_equal(found.items, self._retriever.retrieve(query).items)

    async def served(self) -> bool:
        """Whether a worker answers now."""
        try:
            return await self.ask(0, 10)
        except StageError:
            return False


async def test_a_worker_killed_while_it_holds_requests_leaves_none_of_them_stuck(
    root: Path, redis_url: str, link: RedisLink, client: GrClient
) -> None:
    asker = Asker(client, root)
    with worker(root, redis_url) as doomed:
        await until(asker.served, within_s=PATIENCE_S)
        os.kill(doomed.pid, signal.SIGSTOP)
        asking = [asyncio.create_task(asker.ask(seed)) for seed in range(20)]
        await until(lambda: submitted(link, asker.bundle.version, 20))
        os.kill(doomed.pid, signal.SIGKILL)
        with worker(root, redis_url) as second:
            assert all(await asyncio.gather(*asking))
            second.send_signal(signal.SIGTERM)
            await until(lambda: second.poll() is not None, within_s=PATIENCE_S)
            assert second.returncode == 0
    stream = keys.gr_requests(asker.bundle.version)
    assert await link.call(lambda redis: redis.xlen(stream)) == 0


async def submitted(link: RedisLink, version: str, count: int) -> bool:
    return await link.call(lambda redis: redis.xlen(keys.gr_requests(version))) == count


async def test_sigterm_lets_a_worker_answer_what_is_queued(root: Path, redis_url: str, client: GrClient) -> None:
    asker = Asker(client, root)
    with worker(root, redis_url) as process:
        await until(asker.served, within_s=PATIENCE_S)
        asking = [asyncio.create_task(asker.ask(seed)) for seed in range(200)]
        await until(lambda: any(task.done() for task in asking), within_s=PATIENCE_S)
        process.send_signal(signal.SIGTERM)
        outcomes = await asyncio.gather(*asking, return_exceptions=True)
        await until(lambda: process.poll() is not None, within_s=PATIENCE_S)
        assert process.returncode == 0
    refused = [outcome for outcome in outcomes if isinstance(outcome, StageError)]
    assert {outcome for outcome in outcomes if not isinstance(outcome, StageError)} == {True}
    assert {error.reason.value for error in refused} <= {"worker"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def test_health_follows_the_bundle_and_metrics_count_batches(
    root: Path, redis_url: str, client: GrClient
) -> None:
    asker, port = Asker(client, root), free_port()
    with worker(root, redis_url, gr_health_port=str(port)):
        await until(asker.served, within_s=PATIENCE_S)
        assert httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 200
        text = httpx.get(f"http://127.0.0.1:{port}/metrics").text
    assert "shortlist_gr_bundles 1.0" in text
    assert "shortlist_gr_queue_seconds_count" in text


@contextmanager
def collector() -> Iterator[tuple[str, list[bytes]]]:
    """A real HTTP server that keeps what is posted to it."""
    bodies: list[bytes] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", bodies
    finally:
        server.shutdown()
        server.server_close()


async def test_requests_are_traced_where_asked_for_and_users_are_not(
    root: Path, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = pytest.importorskip("opentelemetry.trace", reason="the tracing extra is not installed")
    pytest.importorskip("opentelemetry.sdk", reason="the tracing extra is not installed")
    with collector() as (url, bodies):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
        async with running(settings_for(root, redis_url, tracing=True)) as (_, asked):
            assert (await asked.post("/recommend", json={"history": ["item-001"]})).status_code == 200
            assert (await asked.get("/users/secret-user/history")).status_code == 200
            flush: Callable[[], bool] = trace.get_tracer_provider().force_flush
            assert await asyncio.to_thread(flush)
        trace.get_tracer_provider().shutdown()
    sent = b"".join(bodies)
    assert b"/recommend" in sent
    assert b"secret-user" not in sent
