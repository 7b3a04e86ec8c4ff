"""A real bundle of a small log, the service over it in process, and the same over a real uvicorn."""

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from offline.build import Request, build
from offline.config import BuildConfig
from offline.dataset import Inputs
from offline.progress import Reporter
from service.app import Service, create_app
from service.logs import configure_logs
from service.settings import LogFormat, LogLevel, Settings

ROOT = Path(__file__).resolve().parents[3]
ODD_IDS = ("a/b", "100%", "né", "007", "7", "7.0", "with space", "?q=1#x", "..", "emoji 🧴")
ITEM_IDS = (*(f"item-{n:03d}" for n in range(90)), *ODD_IDS)
SOLD_OUT = "item-089"
BRANDS = ("OPI", "Essie", "Zoya")
START_TIMEOUT_S = 180.0


def _interactions() -> list[dict[str, object]]:
    """Users who mostly walk along the item list, so that every item has successors; from a fixed seed."""
    draw = random.Random(11)
    rows: list[dict[str, object]] = []
    for user in range(120):
        at = draw.randrange(len(ITEM_IDS))
        for step in range(draw.randint(3, 14)):
            rows.append({"user_id": f"u{user}", "item_id": ITEM_IDS[at], "timestamp": 1_600_000_000 + 60 * step})
            at = (at + draw.choice((1, 1, 1, 2, 5, draw.randrange(len(ITEM_IDS))))) % len(ITEM_IDS)
    rows += [{"user_id": "last", "item_id": item, "timestamp": 1_700_000_000 + n} for n, item in enumerate(ITEM_IDS)]
    return rows


def _items() -> list[dict[str, object]]:
    return [
        {
            "item_id": item_id,
            "title": f"Polish {n} {'red' if n % 2 else 'blue'}",
            "brand": BRANDS[n % 3],
            "price": float(n % 20),
            "categories": [["Beauty", "Nails" if n % 2 else "Hair"]],
            "available": item_id != SOLD_OUT,
        }
        for n, item_id in enumerate(ITEM_IDS)
    ]


def build_small(folder: Path, bundles: Path) -> str:
    """Write the log and build it. The version."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {"interactions": _interactions(), "items": _items()}
    for name, rows in files.items():
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    inputs = Inputs((folder / "interactions.jsonl",), folder / "items.jsonl")
    return build(Request(bundles, BuildConfig(), inputs), Reporter(quiet=True))


@pytest.fixture(scope="session", autouse=True)
def _logs() -> None:
    """Logs as in production; the library's own default draws pictures of every error."""
    configure_logs(LogLevel.WARNING, LogFormat.JSON)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The event loop that asynchronous tests run on."""
    return "asyncio"


@pytest.fixture(scope="session")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with one version; never written to."""
    root = tmp_path_factory.mktemp("api")
    build_small(root / "data", root / "bundles")
    return root / "bundles"


@asynccontextmanager
async def running(service: Service) -> AsyncIterator[httpx.AsyncClient]:
    """The service between its start and its end, and a client that speaks to it in process."""
    lifespan = service.framework.router.lifespan_context(service.framework)
    transport = httpx.ASGITransport(service, raise_app_exceptions=True)
    async with lifespan, httpx.AsyncClient(transport=transport, base_url="http://shortlist") as client:
        yield client


@pytest.fixture
def settings(bundles: Path) -> Settings:
    """Defaults over the small bundle."""
    return Settings(bundles=bundles, deadline_ms=5_000)


@pytest.fixture
def service(settings: Settings) -> Service:
    """The application, not started."""
    return create_app(settings)


@pytest.fixture
async def client(service: Service) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the started application."""
    async with running(service) as asked:
        yield asked


@dataclass
class Served:
    """A running server.

    Attributes:
        process: it.
        url: where it answers.
        log: its standard error.
    """

    process: "subprocess.Popen[bytes]"
    url: str
    log: Path


def _listening(log: Path) -> str | None:
    """The address that the server wrote into its log."""
    for line in log.read_text().splitlines():
        if "running on http" in line:
            return "http://127.0.0.1:" + line.split("127.0.0.1:")[1].split()[0].rstrip('"')
    return None


def wait_for_address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    """Where the server listens, once it does."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while (url := _listening(log)) is None:
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the server did not start: {log.read_text()}")
        os.sched_yield()
    return url


API_PROCESS = """
from service.commands.serve import limit_threads, read_settings
settings = read_settings()
limit_threads(settings.kernel_threads)
from service.app import create_app
from service.server import run_one
run_one(create_app(settings), settings)
"""
"""One API process by itself, as the supervisor of `shortlist serve` runs it."""


@contextmanager
def serving(bundles: Path, log: Path, **variables: str) -> Iterator[Served]:
    """An API process on a free port, with further settings; killed at the end if it still runs."""
    chosen = {"bundles": str(bundles), "port": "0", **variables}
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | {f"SHORTLIST_{k.upper()}": v for k, v in chosen.items()}
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", API_PROCESS], env=environment, stderr=stream, cwd=log.parent
        )
    try:
        yield Served(process, wait_for_address(process, log), log)
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="session")
def served(bundles: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One real server for all tests that do not end it."""
    with serving(bundles, tmp_path_factory.mktemp("served") / "log", deadline_ms="5000") as running_server:
        yield running_server
