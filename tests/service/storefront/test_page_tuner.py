"""The sliders of the page over a bundle that serves DR + prior."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Request, expect

from service.app import create_app
from service.settings import Settings
from tests.service.storefront.conftest import Open
from tests.service.storefront.faulty import serving
from tests.service.storefront.shop import train_shop, wait_until
from tests.service.storefront.visit import Visit

BURST = """slider => {
  for (const value of [0.6, 0.7, 0.8, 0.9]) {
    slider.value = value;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
  }
}"""
DEFAULT = {"popularity": 0.25, "rating": 0.25, "brand": 0.5}


@pytest.fixture(scope="module")
def trained_url(bundles: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("trained") / "shop"
    shutil.copytree(bundles.parent, folder)
    train_shop(folder)
    with serving(create_app(Settings(bundles=folder / "bundles", data_dir=folder, deadline_ms=20_000))) as url:
        wait_until(url, "/readyz")
        yield url


@pytest.fixture
def shopper(open_page: Open, trained_url: str) -> Visit:
    shopper = open_page(trained_url).opened()
    shopper.view("P07", "Lipstick number 7")
    expect(shopper.page.locator("#tuned .item")).to_have_count(10)
    return shopper


def tuned(shopper: Visit) -> list[str]:
    return [row.get_attribute("data-id") or "" for row in shopper.page.locator("#tuned .item").all()]


def served(url: str, alpha: float, weights: dict[str, float], k: int = 10) -> list[str]:
    value = {"alpha": alpha, "weights": weights, "pool": 200}
    body = {"history": ["P07"], "k": k, "value": value}
    return [item["item_id"] for item in httpx.post(f"{url}/recommend/dr-prior", json=body).json()["items"]]


def tunings(shopper: Visit) -> list[dict[str, Any]]:
    """The values that the sliders ask for from now on, as they are sent; the order by similarity alone is not one."""
    sent: list[dict[str, Any]] = []

    def note(request: Request) -> None:
        value = json.loads(request.post_data or "{}").get("value") if request.url.endswith("/dr-prior") else None
        if value and value["alpha"] > 0:
            sent.append(value)

    shopper.page.on("request", note)
    return sent


def test_the_list_is_what_the_service_ranks_for_the_sliders(shopper: Visit, trained_url: str) -> None:
    assert tuned(shopper) == served(trained_url, 0.5, DEFAULT)
    shopper.page.get_by_role("button", name="Value only").click()
    expected = served(trained_url, 1.0, DEFAULT)
    expect(shopper.page.locator("#tuned .item").first).to_have_attribute("data-id", expected[0])
    assert tuned(shopper) == expected
    assert expected != served(trained_url, 0.0, DEFAULT)


def test_each_row_says_how_far_value_moved_it(shopper: Visit, trained_url: str) -> None:
    before = served(trained_url, 0.0, DEFAULT, k=200)
    for rank, row in enumerate(shopper.page.locator("#tuned .item").all(), 1):
        by = before.index(row.get_attribute("data-id") or "") + 1 - rank
        word = f"up {by}" if by > 0 else f"down {-by}" if by < 0 else "not moved"
        expect(row.locator(".move .gone")).to_have_text(word)


def test_a_burst_of_key_presses_asks_once_and_the_last_value_wins(shopper: Visit) -> None:
    sent = tunings(shopper)
    with shopper.page.expect_event("requestfinished", lambda request: request.url.endswith("/dr-prior")):
        shopper.page.get_by_label("Alpha").evaluate(BURST)
    expect(shopper.page.locator("#alpha-out")).to_have_text("0.90")
    assert [value["alpha"] for value in sent] == [0.9]


def test_weights_without_any_weight_are_not_sent(shopper: Visit) -> None:
    sent = tunings(shopper)
    for name in ("Popularity", "Rating", "Brand"):
        shopper.page.get_by_role("slider", name=name).press("Home")
    expect(shopper.page.locator("#tuner-note")).to_have_text("Give at least one weight more than zero.")
    assert all(any(value["weights"].values()) for value in sent)
    shopper.page.get_by_role("button", name="Defaults").click()
    expect(shopper.page.locator("#tuner-note")).to_contain_text("First now")


def test_weights_are_told_as_shares(shopper: Visit) -> None:
    brand = shopper.page.get_by_role("slider", name="Brand")
    brand.press("Home")
    expect(brand).to_have_attribute("aria-valuetext", "0 %")
    expect(shopper.page.locator("#w-rating-out")).to_have_text("50 %")


def test_a_long_name_in_the_list_never_widens_a_phone(shopper: Visit) -> None:
    shopper.page.set_viewport_size({"width": 390, "height": 844})
    shopper.page.get_by_text("Filters").click()
    shopper.page.get_by_label("Brand", exact=True).first.fill("y" * 500)
    expect(shopper.page.locator("#tuned .title")).to_have_text(["x" * 500])
    assert shopper.page.evaluate("document.documentElement.scrollWidth") == 390


def test_less_motion_means_none(open_page: Open, trained_url: str) -> None:
    visit = open_page(trained_url, reduced_motion="reduce").opened()
    visit.view("P07", "Lipstick number 7")
    first = visit.page.locator("#tuned .item").first
    before = first.get_attribute("data-id")
    visit.page.get_by_role("button", name="Value only").click()
    expect(first).not_to_have_attribute("data-id", before or "")
    assert visit.page.evaluate("document.getAnimations().length") == 0


def test_axe_finds_nothing_in_the_sliders(shopper: Visit) -> None:
    shopper.at_rest()
    found = Axe().run(shopper.page).response["violations"]
    assert [(one["id"], one["impact"], [node["target"] for node in one["nodes"]][:3]) for one in found] == []
