"""One small shop a session: built by `shortlist build`, served by `shortlist serve`, looked at in Chromium."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.service.storefront.shop import build_shop, serving_shop
from tests.service.storefront.visit import CHROMIUM, FLAGS, Visit

Open = Callable[..., Visit]


@pytest.fixture(scope="session")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_shop(tmp_path_factory.mktemp("shop"))


@pytest.fixture(scope="session")
def url(bundles: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving_shop(bundles, tmp_path_factory.mktemp("log") / "serve.log") as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
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
