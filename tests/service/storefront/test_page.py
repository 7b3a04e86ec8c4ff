"""The storefront page in a real Chromium, over the real service."""

import re
import shutil
from pathlib import Path

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from service.app import create_app
from service.settings import Settings
from tests.service.storefront.conftest import Open
from tests.service.storefront.faulty import serving
from tests.service.storefront.shop import ODD_ID, SCRIPT, wait_until
from tests.service.storefront.visit import Visit

CONTRAST = Path(__file__).with_name("contrast.js").read_text()


def served(url: str) -> list[str]:
    retrievers: list[str] = httpx.get(f"{url}/readyz").json()["retrievers"]
    return retrievers


def test_everything_comes_from_the_service_itself(visit: Visit, url: str) -> None:
    visit.view("P07", "Lipstick number 7")
    assert {address for _, address in visit.asked if not address.startswith(url)} == set()


def test_a_view_becomes_history_and_every_retriever_answers_without_it(visit: Visit, url: str) -> None:
    visit.view("P07", "Lipstick number 7")
    shown = [column.get_attribute("data-retriever") for column in visit.page.locator(".column").all()]
    assert shown[0] == "auto"
    assert set(shown[1:]) <= set(served(url))
    assert {"tgh-1", "tgh-2", "popular"} <= set(shown)
    for retriever in shown:
        ids = visit.ids(retriever)
        assert len(ids) == 10
        assert "P07" not in ids


def test_a_row_says_what_the_service_said(visit: Visit, url: str) -> None:
    visit.view("P07", "Lipstick number 7")
    answer = httpx.post(f"{url}/recommend/tgh-1", json={"history": ["P07"], "k": 10}).json()
    assert visit.ids("tgh-1") == [item["item_id"] for item in answer["items"]]
    first = answer["items"][0]
    product = httpx.get(f"{url}/items/{first['item_id']}").json()
    text = visit.column("tgh-1").locator(".item").first.inner_text()
    for part in (product["title"], product["brand"], f"{product['price']:.2f}", "1 hop", f"{first['score']:.3f}"):
        assert part in text


def test_a_retriever_that_lacks_what_it_needs_says_who_answered_and_why(visit: Visit) -> None:
    notes = visit.column("tgh-2").locator(".fallback")
    expect(notes).to_have_text("TGH-2 was asked, Popular answered: there is no history yet.")


def test_markup_in_titles_stays_text(visit: Visit) -> None:
    visit.view("onerror", SCRIPT)
    assert visit.page.locator("main img, main script").count() == 0
    assert visit.page.title() == "Shortlist storefront"


def test_a_product_without_title_shows_its_id_whatever_is_in_it(visit: Visit) -> None:
    visit.view("a/b%c", ODD_ID)
    expect(visit.page.locator("#product dl")).to_contain_text(ODD_ID)
    expect(visit.page.locator("#product svg .node")).not_to_have_count(0)


def test_the_picture_and_the_table_tell_the_same_neighbours(visit: Visit, url: str) -> None:
    visit.view("P07", "Lipstick number 7")
    neighbours = httpx.get(f"{url}/items/P07/neighbours").json()["neighbours"]
    expected = [one["item_id"] for one in neighbours][:12]
    table = visit.page.locator("#product table").first
    assert [row.get_attribute("data-id") for row in table.locator("tbody tr").all()] == expected
    assert [node.get_attribute("data-id") for node in visit.page.locator("svg .node").all()] == expected
    picture = visit.page.get_by_role("img", name=re.compile("Transition graph around Lipstick number 7"))
    expect(picture).to_be_visible()


def test_a_neighbour_opens_from_the_table_and_takes_the_focus_along(visit: Visit) -> None:
    visit.view("P07", "Lipstick number 7")
    neighbour = visit.page.locator("#product tbody button").first
    title = neighbour.inner_text()
    neighbour.press("Enter")
    expect(visit.page.locator("#product h3")).to_have_text(title)
    expect(visit.page.locator("#product")).to_be_focused()
    expect(visit.page.locator("#history li")).to_have_count(1)


def test_the_keyboard_alone_gets_from_search_to_a_second_view(visit: Visit) -> None:
    visit.page.keyboard.press("Tab")
    expect(visit.page.get_by_text("Skip to the recommendations")).to_be_focused()
    visit.page.get_by_label("Search the catalogue").focus()
    visit.page.keyboard.type("P07")
    expect(visit.page.locator("#results .title")).to_have_text(["Lipstick number 7"])
    visit.page.keyboard.press("Tab")
    visit.page.keyboard.press("Enter")
    visit.settled("Lipstick number 7")
    second = visit.column("tgh-1").locator(".item button").nth(1)
    title = second.inner_text()
    second.focus()
    visit.page.keyboard.press("Enter")
    visit.settled(title)
    expect(visit.column("tgh-1").locator(".item button").nth(1)).to_be_focused()


def test_filters_and_hand_picked_exclusions_hold_in_every_list(visit: Visit) -> None:
    visit.view("P07", "Lipstick number 7")
    visit.page.get_by_role("button", name="Leave out of the lists").click()
    visit.page.get_by_label("Leave out viewed products").uncheck()
    visit.page.get_by_text("Filters").click()
    visit.page.get_by_label("Brand", exact=True).first.fill("Birch")
    for retriever in ("auto", "tgh-1", "popular"):
        expect(visit.column(retriever).locator(".left-out")).to_have_text("Left out: 1 by hand, all but brand Birch")
        ids = visit.ids(retriever)
        assert ids
        assert all(int(item[1:]) % 3 == 1 for item in ids)
        assert "P07" not in ids


def test_clearing_the_history_brings_back_a_cold_shopper(visit: Visit) -> None:
    visit.view("P07", "Lipstick number 7")
    visit.page.get_by_role("button", name="Clear history").click()
    expect(visit.page.locator("#history")).to_contain_text("Nothing viewed yet")
    expect(visit.page.locator("#session-title")).to_be_focused()
    expect(visit.column("tgh-2").locator(".fallback")).to_contain_text("there is no history yet")


def test_a_bundle_without_a_network_says_so_instead_of_offering_sliders(visit: Visit, url: str) -> None:
    assert "dr-prior" not in served(url)
    expect(visit.page.locator("#tuner-note")).to_contain_text("serves no DR + prior")
    expect(visit.page.get_by_label("Alpha")).to_be_disabled()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_axe_finds_nothing(open_page: Open, scheme: str, width: int) -> None:
    visit = open_page(viewport={"width": width, "height": 844}, color_scheme=scheme).opened()
    visit.view("P07", "Lipstick number 7")
    for summary in visit.page.locator("summary").all():
        summary.click()
    visit.at_rest()
    found = Axe().run(visit.page).response["violations"]
    assert [(one["id"], one["impact"], [node["target"] for node in one["nodes"]][:3]) for one in found] == []


def test_the_page_never_scrolls_sideways(visit: Visit) -> None:
    visit.view("P07", "Lipstick number 7")
    for width in (320, 390, 768, 1280):
        visit.page.set_viewport_size({"width": width, "height": 844})
        assert visit.page.evaluate("document.documentElement.scrollWidth") == width


def test_text_can_be_read_in_light_and_in_dark(visit: Visit) -> None:
    """At least 4.5 to 1 (WCAG 2.2, 1.4.3); axe leaves out text that another element may overlap."""
    visit.view("P07", "Lipstick number 7")
    grounds = {}
    for scheme in ("light", "dark"):
        visit.page.emulate_media(color_scheme=scheme)
        grounds[scheme] = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert {what: ratio for what, ratio in visit.page.evaluate(CONTRAST).items() if ratio < 4.5} == {}
    assert grounds["light"] != grounds["dark"]


def test_a_service_without_a_bundle_is_named_and_asked_again(open_page: Open, bundles: Path, tmp_path: Path) -> None:
    empty = tmp_path / "bundles"
    empty.mkdir()
    with serving(create_app(Settings(bundles=empty, bundle_poll_s=0.1))) as url:
        visit = open_page(url)
        expect(visit.page.get_by_role("alert")).to_contain_text("No bundle is loaded")
        expect(visit.page.locator("#status")).to_have_text("Not ready")
        shutil.copytree(bundles, empty, dirs_exist_ok=True)
        wait_until(url, "/readyz")
        visit.page.get_by_role("button", name="Try again").click()
        visit.opened()
        expect(visit.page.get_by_role("alert")).to_be_hidden()
