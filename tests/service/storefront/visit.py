"""A visitor of the page, as tests drive one."""

from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, expect

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


expect.set_options(timeout=20_000)


class Visit:
    """One visitor's page, and what it asked for and complained about."""

    def __init__(self, browser: Browser, url: str, **context: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **context})
        self.page: Page = self.context.new_page()
        self.asked: list[tuple[str, str]] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.asked.append((request.method, request.url)))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self.complain)
        self.page.goto(url)

    def complain(self, line: ConsoleMessage) -> None:
        """Chromium reports each 4xx by itself; what the page's code or its policy complains about is ours."""
        if line.type == "error" and not line.text.startswith("Failed to load resource"):
            self.complaints.append(line.text)

    def opened(self) -> "Visit":
        expect(self.page.locator("html")).to_have_attribute("data-ready", "true")
        return self

    def find(self, words: str, title: str) -> None:
        self.page.get_by_label("Search the catalogue").fill(words)
        expect(self.page.locator("#results .title")).to_have_text([title])

    def view(self, words: str, title: str) -> None:
        """Search a product, open it, wait until everything shows it."""
        self.find(words, title)
        self.page.locator("#results button").click()
        self.settled(title)

    def settled(self, title: str) -> None:
        expect(self.page.locator("#history li").last).to_have_text(title)
        expect(self.page.locator("#product h3")).to_have_text(title)
        expect(self.page.locator("#announcer")).to_have_text(f"Viewed {title}. The recommendations are up to date.")

    def at_rest(self) -> None:
        """Wait until nothing loads, fades or moves: what is judged by its looks has to have them."""
        expect(self.page.locator('[aria-busy="true"]')).to_have_count(0)
        while self.page.evaluate("document.getAnimations().length"):
            self.page.wait_for_timeout(50)

    def column(self, retriever: str) -> Locator:
        return self.page.locator(f'[data-retriever="{retriever}"]')

    def ids(self, retriever: str) -> list[str]:
        return [row.get_attribute("data-id") for row in self.column(retriever).locator(".item").all()]
