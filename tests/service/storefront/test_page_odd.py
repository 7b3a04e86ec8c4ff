"""The page over shops that nobody has in mind, and without a network."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from service.app import create_app
from service.settings import Settings
from tests.service.storefront.conftest import Open
from tests.service.storefront.faulty import serving
from tests.service.storefront.shop import LONG, build_of, wait_until
from tests.service.storefront.visit import Visit


@pytest.fixture(scope="module")
def bare_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One item, of which nothing is known but its id, seen once."""
    folder = tmp_path_factory.mktemp("bare")
    bundles = build_of(folder, [{"item_id": "only"}], [("u1", "only", 1_700_000_000)])
    with serving(create_app(Settings(bundles=bundles, data_dir=folder, deadline_ms=20_000))) as url:
        wait_until(url, "/readyz")
        yield url


def test_a_shop_of_one_item_without_a_title_can_be_looked_at(open_page: Open, bare_url: str) -> None:
    visit = open_page(bare_url).opened()
    expect(visit.page.locator("#results .title")).to_have_text(["only"])
    expect(visit.column("popular").locator(".item .title")).to_have_text(["only"])
    visit.view("only", "only")
    expect(visit.column("popular").locator(".items")).to_have_text("Nothing is left that may be returned.")
    visit.page.get_by_label("Leave out viewed products").uncheck()
    expect(visit.column("popular").locator(".item .title")).to_have_text(["only"])


@pytest.mark.parametrize("width", [320, 1280])
def test_long_names_break_or_end_and_never_widen_the_page(visit: Visit, width: int) -> None:
    visit.page.set_viewport_size({"width": width, "height": 844})
    visit.view("goes on", LONG.strip())
    visit.view("xxx", "x" * 500)
    visit.page.get_by_label("Leave out viewed products").uncheck()
    visit.page.get_by_label("Search the catalogue").fill("nnn")
    expect(visit.page.locator("#results .title")).to_have_count(1)
    visit.page.get_by_role("button", name="Leave out of the lists").click()
    expect(visit.page.locator("#hidden button")).to_have_count(1)
    assert visit.page.evaluate("document.documentElement.scrollWidth") == width


def test_a_network_that_is_gone_for_a_moment_is_told_and_then_forgotten(visit: Visit) -> None:
    visit.view("P07", "Lipstick number 7")
    visit.context.set_offline(True)
    visit.page.get_by_label("Search the catalogue").fill("P11")
    expect(visit.page.get_by_role("alert")).to_contain_text("The catalogue could not be read")
    visit.context.set_offline(False)
    visit.page.get_by_role("button", name="Try again").click()
    expect(visit.page.get_by_role("alert")).to_be_hidden()
    expect(visit.page.locator("#history li")).to_have_text(["Lipstick number 7"])
    visit.view("P11", "Lipstick number 11")
    assert len(visit.ids("tgh-1")) == 10


def test_a_view_without_a_network_is_kept_and_counts_when_it_is_back(visit: Visit) -> None:
    visit.find("P07", "Lipstick number 7")
    visit.context.set_offline(True)
    visit.page.locator("#results button").click()
    expect(visit.page.locator("#history li")).to_have_text(["Lipstick number 7"])
    visit.context.set_offline(False)
    visit.view("P11", "Lipstick number 11")
    expect(visit.page.locator("#history li")).to_have_text(["Lipstick number 7", "Lipstick number 11"])
    assert not {"P07", "P11"} & set(visit.ids("tgh-1"))
