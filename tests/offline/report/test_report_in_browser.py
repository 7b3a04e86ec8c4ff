"""The report in a real Chromium: at desktop and phone width, light and dark."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, sync_playwright

from offline.report.compare import compare_runs
from offline.report.files import write_comparison, write_report
from tests.offline.report import reports

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no Chromium at {CHROMIUM}")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("pages")
    evaluation = reports.evaluation()
    write_report(evaluation, root / "evaluation")
    write_report(reports.audit(), root / "audit")
    write_comparison(compare_runs(evaluation, reports.evaluation(seed=2)), root / "comparison")
    return {folder.name: folder / "report.html" for folder in root.iterdir()}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.mark.parametrize("kind", ["evaluation", "audit", "comparison"])
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_page_fits_asks_for_nothing_and_is_accessible(pages, browser, kind, width, scheme):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    asked, complaints = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda line: complaints.append(line.text))
    page.goto(pages[kind].as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert asked == [pages[kind].as_uri()]
    assert complaints == []
    found = Axe().run(page).response["violations"]
    assert [(v["id"], [node["target"] for node in v["nodes"]][:3]) for v in found] == []
    context.close()


def test_figures_take_the_colours_of_the_scheme(pages, browser):
    colours = []
    for scheme in ("light", "dark"):
        page = browser.new_page(color_scheme=scheme)
        page.goto(pages["evaluation"].as_uri())
        label = page.locator("figure svg text").first
        colours.append(label.evaluate("node => getComputedStyle(node).fill"))
        assert label.evaluate("node => getComputedStyle(node).fontFamily").startswith("system-ui")
        page.close()
    assert colours[0] != colours[1]


def test_a_wide_table_scrolls_by_keyboard_inside_its_frame(pages, browser):
    page = browser.new_page(viewport={"width": 390, "height": 900})
    page.goto(pages["evaluation"].as_uri())
    frame = page.get_by_role("region", name="Recall and NDCG: Recall and NDCG, percent")
    frame.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("node => node.scrollLeft > 0", arg=frame.element_handle())
    page.close()
