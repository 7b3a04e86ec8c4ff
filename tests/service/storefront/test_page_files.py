"""The files of the page as they are sent; no browser."""

import gzip

import httpx
import pytest

from service.app import create_app
from service.settings import Settings


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_the_page_lets_nothing_foreign_in(url: str) -> None:
    for path in ("/", "/page/app.js", "/page/style.css"):
        headers = httpx.get(url + path).headers
        policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert {policy["script-src"], policy["style-src"], policy["connect-src"]} == {"'self'"}
        assert policy["frame-ancestors"] == "'none'"
        assert headers["x-content-type-options"] == "nosniff"


def test_a_file_that_the_browser_holds_is_not_sent_again(url: str) -> None:
    first = httpx.get(f"{url}/page/app.js")
    again = httpx.get(f"{url}/page/app.js", headers={"If-None-Match": first.headers["etag"]})
    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")
    assert again.headers["etag"] == first.headers["etag"]


def test_zipped_and_plain_are_the_same_file_under_different_tags(url: str) -> None:
    with httpx.stream("GET", f"{url}/page/app.js", headers={"Accept-Encoding": "gzip"}) as zipped:
        packed = b"".join(zipped.iter_raw())
    plain = httpx.get(f"{url}/page/app.js", headers={"Accept-Encoding": "identity"})
    assert gzip.decompress(packed) == plain.content
    assert zipped.headers["etag"] != plain.headers["etag"]


def test_a_file_that_is_not_there_is_a_404_problem(url: str) -> None:
    for name in ("routes.py", "..%2froutes.py", "nothing.js"):
        answer = httpx.get(f"{url}/page/{name}")
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")


@pytest.mark.anyio
@pytest.mark.parametrize(("page", "status"), [(True, 200), (False, 404)])
async def test_a_setting_turns_the_page_off(page: bool, status: int) -> None:
    transport = httpx.ASGITransport(create_app(Settings(page=page)))
    async with httpx.AsyncClient(transport=transport, base_url="http://shop") as client:
        assert [(await client.get(path)).status_code for path in ("/", "/page/app.js")] == [status, status]
