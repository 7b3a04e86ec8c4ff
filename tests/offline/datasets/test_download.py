"""Downloads against a real HTTP server that breaks off, changes its mind, refuses and lies."""

import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import stamina

from models.errors import InputError
from offline.datasets.download import Download, download, missing_downloads
from offline.datasets.raw import RawFolder
from offline.datasets.registry import find

BODY = bytes(range(256)) * 8_000


@dataclass
class Site:
    """What the server does, and what it was asked."""

    body: bytes = BODY
    etag: str | None = '"v1"'
    ranges: bool = True
    break_after: list[int] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    asked: list[str | None] = field(default_factory=list)
    url: str = ""


def handler(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            site.asked.append(self.headers.get("Range"))
            if site.statuses:
                self.answer(site.statuses.pop(0), b"", {})
                return
            wanted = self.headers.get("Range")
            start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
            fresh = self.headers.get("If-Range") != site.etag
            if not site.ranges or not wanted or fresh:
                self.answer(200, site.body, self.validators())
            elif start >= len(site.body):
                self.answer(416, b"", {"Content-Range": f"bytes */{len(site.body)}"})
            else:
                place = f"bytes {start}-{len(site.body) - 1}/{len(site.body)}"
                self.answer(206, site.body[start:], self.validators() | {"Content-Range": place})

        def validators(self) -> dict[str, str]:
            return {"ETag": site.etag} if site.etag else {}

        def answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            length = site.break_after.pop(0) if site.break_after and body else len(body)
            self.wfile.write(body[:length])
            if length < len(body):
                self.wfile.flush()
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    return Handler


@pytest.fixture
def site() -> Iterator[Site]:
    found = Site()
    with ThreadingHTTPServer(("127.0.0.1", 0), handler(found)) as server:
        found.url = f"http://127.0.0.1:{server.server_port}/file.json.gz"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        with stamina.set_testing(True, attempts=4):
            yield found
        server.shutdown()
        thread.join()


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "raw" / "file.json.gz"


def fetch(site: Site, target: Path, md5: str | None = None) -> list[tuple[int, int | None]]:
    seen: list[tuple[int, int | None]] = []
    download(Download(site.url, target, md5), lambda done, total: seen.append((done, total)))
    return seen


def test_whole_file_arrives_under_its_name_alone(site: Site, target: Path) -> None:
    seen = fetch(site, target, hashlib.md5(BODY).hexdigest())
    assert target.read_bytes() == BODY
    assert [path.name for path in target.parent.iterdir()] == [target.name]
    assert seen[-1] == (len(BODY), len(BODY))


def test_broken_connection_is_gone_on_with(site: Site, target: Path) -> None:
    site.break_after = [1_500_000, 200_000]
    fetch(site, target)
    assert target.read_bytes() == BODY
    assert site.asked == [None, "bytes=1500000-", "bytes=1700000-"]


def test_interrupted_run_is_gone_on_with_by_the_next(site: Site, target: Path) -> None:
    site.break_after = [1_000_000, 0, 0, 0]
    with pytest.raises(InputError, match="go on from where it stopped"):
        fetch(site, target)
    assert not target.exists()
    site.asked.clear()
    fetch(site, target)
    assert target.read_bytes() == BODY
    assert site.asked == ["bytes=1000000-"]


def test_changed_file_is_fetched_anew(site: Site, target: Path) -> None:
    site.break_after = [1_000_000, 0, 0, 0]
    with pytest.raises(InputError):
        fetch(site, target)
    site.body, site.etag = BODY[::-1], '"v2"'
    fetch(site, target)
    assert target.read_bytes() == BODY[::-1]


def test_server_without_validators_or_ranges_is_asked_for_the_whole(site: Site, target: Path) -> None:
    site.etag, site.ranges, site.break_after = None, False, [1_000_000]
    fetch(site, target)
    assert target.read_bytes() == BODY
    assert site.asked == [None, None]


def test_part_that_is_longer_than_the_file_is_thrown_away(site: Site, target: Path) -> None:
    target.parent.mkdir()
    target.with_name("file.json.gz.part").write_bytes(BODY + b"more")
    target.with_name("file.json.gz.part.tag").write_text('"v1"')
    fetch(site, target)
    assert target.read_bytes() == BODY


def test_passing_trouble_is_tried_again(site: Site, target: Path) -> None:
    site.statuses = [503, 429]
    fetch(site, target)
    assert target.read_bytes() == BODY
    assert len(site.asked) == 3


def test_refusal_is_final_and_names_address_and_place(site: Site, target: Path) -> None:
    site.statuses = [404]
    with pytest.raises(InputError, match=r"file\.json\.gz: found 404 Not Found; expected file\.json\.gz.*by hand") as e:
        fetch(site, target)
    assert str(target) in str(e.value)
    assert len(site.asked) == 1
    assert not target.exists()


def test_wrong_checksum_is_refused_and_forgotten(site: Site, target: Path) -> None:
    with pytest.raises(InputError, match="as its publisher states"):
        fetch(site, target, md5="0" * 32)
    assert list(target.parent.iterdir()) == []


def test_only_what_is_missing_is_fetched(tmp_path: Path) -> None:
    dataset = find("beauty")
    (tmp_path / "reviews_Beauty_5.json").touch()
    wanted = missing_downloads(RawFolder(tmp_path, tmp_path, dataset.files, dataset.page))
    assert [download.target.name for download in wanted] == ["meta_Beauty.json.gz"]


def test_archive_is_fetched_once_for_all_its_members(tmp_path: Path) -> None:
    dataset = find("movielens-1m")
    wanted = missing_downloads(RawFolder(tmp_path, tmp_path, dataset.files, dataset.page))
    assert wanted == [
        Download(
            "https://files.grouplens.org/datasets/movielens/ml-1m.zip",
            tmp_path / "ml-1m.zip",
            "c4d9eecfca2ab87c1945afe126590906",
        )
    ]


def test_smaller_form_of_2023_is_fetched_unless_the_other_is_there(tmp_path: Path) -> None:
    dataset = find("amazon-2023-software")
    folder = RawFolder(tmp_path, tmp_path, dataset.files, dataset.page)
    assert [wanted.target.name for wanted in missing_downloads(folder)] == ["Software.csv.gz", "meta_Software.jsonl.gz"]
    (tmp_path / "Software.jsonl").touch()
    assert [wanted.target.name for wanted in missing_downloads(folder)] == ["meta_Software.jsonl.gz"]


def test_nothing_behind_a_licence_is_fetched(tmp_path: Path) -> None:
    for name in ("yelp", "mind", "hm", "amazon-m2-uk"):
        dataset = find(name)
        assert missing_downloads(RawFolder(tmp_path, tmp_path, dataset.files, dataset.page)) == []
