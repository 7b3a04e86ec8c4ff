"""`shortlist ingest` as a person types it."""

import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from models.errors import ConfigError, InputError
from offline.datasets import registry
from offline.datasets.command import ingest
from offline.datasets.raw import Archive, RawFile
from offline.datasets.registry import DATASETS, find
from tests.offline.datasets.raw_files import grid, write

USERS = [str(number) for number in range(5)]
FILMS = [str(number) for number in range(1, 6)]
RATINGS = "".join(f"{user}::{film}::4::{time}\n" for user, film, time in grid(USERS, FILMS)).encode()


@pytest.fixture(scope="module")
def app() -> typer.Typer:
    made = typer.Typer()
    made.command()(ingest)
    return made


def run(app: typer.Typer, *arguments: object) -> list[str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output.splitlines()


def test_list_shows_every_data_set_with_its_terms(app: typer.Typer) -> None:
    lines = run(app, "--list")
    assert len(lines) == 2 * len(DATASETS)
    assert lines[0].startswith("beauty: Beauty; 22,363 users, 12,101 items, 114,582 edges; --download; https://")
    assert next(line for line in lines if line.startswith("hm:")).split("; ")[2] == "by hand"


def test_report_is_printed_with_differences(app: typer.Typer, tmp_path: Path) -> None:
    write(tmp_path / "raw" / "ratings.dat", RATINGS + b"torn\n")
    write(tmp_path / "raw" / "movies.dat", b"1::One (1999)::Drama\n")
    lines = run(app, "movielens-1m", "--raw", tmp_path / "raw", "--out", tmp_path / "out")
    assert "  ratings.dat: 1 x unparsable (line 26)" in lines
    assert "  items with at least 5 interactions: 25 interactions, 5 users, 5 items" in lines
    assert "  users 5 (published 6,040: -6,035, -99.92%)" in lines
    assert "  mean length 5.00 (published 74.06: -69.06, -93.25%)" in lines
    assert lines[-1] == f"written to {tmp_path / 'out'}"
    assert (tmp_path / "out" / "ingest.json").is_file()


def test_missing_files_are_an_error_for_people(app: typer.Typer, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="reviews_Beauty_5"):
        run(app, "beauty", "--raw", tmp_path, "--out", tmp_path / "out")


def test_name_is_asked_for(app: typer.Typer) -> None:
    with pytest.raises(ConfigError, match="--list"):
        run(app)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[str]:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as members:
        members.writestr("ml-1m/ratings.dat", RATINGS)
        members.writestr("ml-1m/movies.dat", "1::One (1999)::Drama\n")
    write(tmp_path / "site" / "ml-1m.zip", archive.getvalue())
    quiet = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(quiet, directory=str(tmp_path / "site"))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/ml-1m.zip"
        server.shutdown()
        thread.join()


def test_download_then_ingest(app: typer.Typer, shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    digest = hashlib.md5((tmp_path / "site" / "ml-1m.zip").read_bytes()).hexdigest()
    archive = Archive("ml-1m.zip", shop, digest)
    files = (RawFile("ratings", "ratings.dat", archive=archive), RawFile("films", "movies.dat", archive=archive))
    local = replace(find("movielens-1m"), files=files)
    monkeypatch.setattr(registry, "DATASETS", (local,))
    lines = run(app, "movielens-1m", "--raw", tmp_path / "raw", "--out", tmp_path / "out", "--download")
    assert "MovieLens-1M: Research use, no redistribution; cite Harper & Konstan (TiiS 2015)." in lines
    assert [path.name for path in (tmp_path / "raw").iterdir()] == ["ml-1m.zip"]
    assert (tmp_path / "out" / "items.parquet").is_file()
