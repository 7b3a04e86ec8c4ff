"""One small shop a session: built by `shortlist build`, served by `shortlist serve`, looked at in Chromium."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from service.app import create_app
from service.redis.server import EmbeddedRedis, EmbeddedRedisConfig
from service.settings import Settings
from tests.service.storefront.faulty import serving
from tests.service.storefront.shop import build_shop, serving_shop, wait_until
from tests.service.storefront.visit import CHROMIUM, FLAGS, Visit

Open = Callable[..., Visit]
EXPERIMENT = {
    "name": "home",
    "salt": "spring",
    "running": True,
    "variants": [
        {"name": "graph", "retriever": "tgh-1", "weight": 1},
        {"name": "crowd", "retriever": "popular", "weight": 0},
    ],
}


@pytest.fixture(scope="session")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_shop(tmp_path_factory.mktemp("shop"))


@pytest.fixture(scope="session")
def url(bundles: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving_shop(bundles, tmp_path_factory.mktemp("log") / "serve.log") as address:
        yield address


@pytest.fixture(scope="session")
def live_url(bundles: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("live")
    experiments = folder / "experiments.json"
    experiments.write_text(json.dumps([EXPERIMENT]))
    with EmbeddedRedis(EmbeddedRedisConfig(folder / "redis")) as redis:
        live = {"redis_url": redis.url, "experiments": experiments, "history_timeout_ms": 5000, "deadline_ms": 20_000}
        settings = Settings(bundles=bundles, data_dir=folder, **live)
        with serving(create_app(settings)) as url:
            wait_until(url, "/readyz")
            yield url


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Closed after each file: while it is open, its event loop runs in this thread and no other can."""
    if not CHROMIUM.exists():
        pytest.skip(f"no Chromium at {CHROMIUM}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Browser, url: str) -> Iterator[Open]:
    """Opens pages; when the test is over, none of them may have complained."""
    visits: list[Visit] = []

    def open_one(address: str = url, **context: Any) -> Visit:
        visits.append(Visit(browser, address, **context))
        return visits[-1]

    yield open_one
    for visit in visits:
        visit.context.close()
    assert [complaint for visit in visits for complaint in visit.complaints] == []


@pytest.fixture
def visit(open_page: Open) -> Visit:
    return open_page().opened()
