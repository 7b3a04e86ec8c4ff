"""The page over a service with Redis, a running experiment, or keys."""

import json
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from service.app import create_app
from service.live.settings import ApiKey, Scope
from service.settings import Settings
from tests.service.storefront.conftest import Open
from tests.service.storefront.faulty import serving
from tests.service.storefront.shop import wait_until
from tests.service.storefront.visit import Visit

KEY = "a key for the shop's own pages"


@pytest.fixture
def shopper(open_page: Open, live_url: str) -> Visit:
    return open_page(live_url).opened()


def stored(url: str, shopper: Visit) -> list[str]:
    """Ids that the service keeps of the shopper whom the page names."""
    name = shopper.page.locator("#session-note").inner_text().split()[1].rstrip(".")
    return [entry["item_id"] for entry in httpx.get(f"{url}/users/{name}/history").json()["items"]]


def test_views_are_events_that_survive_a_reload(shopper: Visit, live_url: str) -> None:
    shopper.view("P07", "Lipstick number 7")
    shopper.view("P11", "Lipstick number 11")
    assert stored(live_url, shopper) == ["P07", "P11"]
    shopper.page.reload()
    shopper.opened()
    expect(shopper.page.locator("#history li")).to_have_text(["Lipstick number 7", "Lipstick number 11"])


def test_a_view_out_of_a_list_names_the_list(shopper: Visit) -> None:
    shopper.view("P07", "Lipstick number 7")
    row = shopper.column("tgh-1").locator(".item button").first
    with shopper.page.expect_request("**/events") as sent:
        row.click()
    [event] = json.loads(sent.value.post_data or "[]")
    assert event["request_id"]
    assert event["event_id"]


def test_clearing_erases_what_the_service_keeps(shopper: Visit, live_url: str) -> None:
    shopper.view("P07", "Lipstick number 7")
    shopper.page.get_by_role("button", name="Clear history").click()
    expect(shopper.page.locator("#history")).to_contain_text("Nothing viewed yet")
    assert stored(live_url, shopper) == []


def test_the_assigned_variant_is_shown_and_another_can_be_forced(shopper: Visit) -> None:
    shopper.view("P07", "Lipstick number 7")
    assigned = shopper.column("auto").locator(".assigned")
    expect(assigned).to_have_text("Experiment home, variant graph: TGH-1")
    assert shopper.ids("auto") == shopper.ids("tgh-1")
    shopper.page.get_by_label("Variant").select_option(label="crowd (Popular), home")
    expect(assigned).to_have_text("Experiment home, variant crowd: Popular")
    assert shopper.ids("auto") == shopper.ids("popular")


def test_a_variant_that_has_ended_meanwhile_is_an_error_in_its_column_alone(shopper: Visit) -> None:
    shopper.view("P07", "Lipstick number 7")
    shopper.page.get_by_label("Variant").evaluate("list => list.add(new Option('ended', 'ended'))")
    shopper.page.get_by_label("Variant").select_option("ended")
    expect(shopper.column("auto").locator(".fallback")).to_contain_text("(422)")
    assert len(shopper.ids("tgh-1")) == 10


def test_without_a_history_store_the_page_keeps_the_history_and_sends_it_along(open_page: Open, bundles: Path) -> None:
    with serving(create_app(Settings(bundles=bundles))) as url:
        wait_until(url, "/readyz")
        visit = open_page(url).opened()
        visit.view("P07", "Lipstick number 7")
        expect(visit.page.locator("#session-note")).to_contain_text("this page keeps the history")
        answer = httpx.post(f"{url}/recommend/tgh-1", json={"history": ["P07"], "k": 10}).json()
        assert visit.ids("tgh-1") == [item["item_id"] for item in answer["items"]]


def test_a_service_with_keys_is_asked_with_one(open_page: Open, bundles: Path) -> None:
    keys = (ApiKey(key=KEY, scopes=frozenset({Scope.READ, Scope.EVENTS})),)
    with serving(create_app(Settings(bundles=bundles, api_keys=keys))) as url:
        visit = open_page(url)
        visit.page.get_by_label("API key").fill(KEY)
        visit.page.get_by_role("button", name="Use it").click()
        visit.opened()
        expect(visit.page.locator("#results .title")).to_have_count(12)
        visit.view("P07", "Lipstick number 7")
        visit.page.get_by_role("button", name="Clear history").click()
        expect(visit.page.locator("#history")).to_contain_text("Nothing viewed yet")
