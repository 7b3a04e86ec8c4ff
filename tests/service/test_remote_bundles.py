"""A service whose bundles come from elsewhere."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from pydantic import ValidationError

from models.bundle.manifest import MANIFEST
from models.bundle.mirror_state import MirrorState
from models.bundle.reader import Bundle
from models.bundle.remote import Remote
from models.bundle.writer import BundleWriter
from service.app import create_app
from service.settings import LOCAL_COPIES, Settings

SHORTLIST = Path(sys.executable).with_name("shortlist")
PATIENCE_S = 90.0


def until(condition: Callable[[], bool], alive: Callable[[], bool]) -> bool:
    """Whether the condition came true in time."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and alive():
        if condition():
            return True
        time.sleep(0.05)
    return False


@contextmanager
def serving(
    folder: Path, url: str
) -> Iterator[tuple[Callable[[], str | None], Callable[[str], float], Callable[[], bool]]]:
    """The real command in a folder of its own; gives what it serves, what it tells of its mirror, whether it lives."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    environment = os.environ | {"SHORTLIST_GR_WORKERS": "0", "SHORTLIST_REMOTE_POLL_S": "0.2"}
    command = [SHORTLIST, "serve", "--bundles", url, "--port", str(port)]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)

    def serves() -> str | None:
        try:
            answer = httpx.get(f"http://127.0.0.1:{port}/readyz")
        except httpx.TransportError:
            return None
        return answer.json()["bundle"] if answer.status_code == 200 else None

    def told(metric: str) -> float:
        lines = httpx.get(f"http://127.0.0.1:{port}/metrics").text.splitlines()
        return next(float(line.split()[1]) for line in lines if line.startswith(f"shortlist_mirror_{metric} "))

    try:
        yield serves, told, lambda: process.poll() is None
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def derive(root: Path, base: Bundle) -> Bundle:
    with BundleWriter.derive(root, base) as writer:
        return Bundle.open(root, version=writer.publish())


def test_a_service_follows_its_remote_root_and_keeps_serving_when_a_version_there_is_broken(
    plain_bundle: Bundle, tmp_path: Path
) -> None:
    share = Remote.open((tmp_path / "share").as_uri())
    first = derive(tmp_path / "builds", plain_bundle)
    share.push(first)
    (tmp_path / "home").mkdir()
    with serving(tmp_path / "home", share.url) as (serves, told, alive):
        assert until(lambda: serves() == first.version, alive)
        second = derive(tmp_path / "builds", plain_bundle)
        share.push(second, activate=False)
        manifest = tmp_path / "share" / second.version / MANIFEST
        content = manifest.read_bytes()
        manifest.write_bytes(content[: len(content) // 2])
        (tmp_path / "share" / "CURRENT").write_text(f"{second.version}\n")
        log = tmp_path / "home" / "log"
        assert until(lambda: "remote bundle refused" in log.read_text(), alive)
        assert serves() == first.version
        assert until(lambda: told("failing_since_timestamp_seconds") > 0, alive)
        third = derive(tmp_path / "builds", plain_bundle)
        share.push(third)
        assert until(lambda: serves() == third.version, alive)
        assert until(lambda: told("failing_since_timestamp_seconds") == 0, alive)
        assert told("last_success_timestamp_seconds") > time.time() - PATIENCE_S


def scraped(settings: Settings) -> dict[str, float]:
    """Values of the metrics that an API process tells of its mirror."""

    async def ask() -> str:
        return create_app(settings).metrics.exposition().decode()

    lines = [line for line in asyncio.run(ask()).splitlines() if line.startswith("shortlist_mirror_")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_metrics_tell_how_the_mirror_fares(tmp_path: Path) -> None:
    MirrorState(version="20260101T000000-abcd", last_success_s=5.0, failing_since_s=7.0).write(tmp_path)
    assert scraped(Settings(bundles=tmp_path, remote_bundles="s3://shop/bundles")) == {
        "shortlist_mirror_last_success_timestamp_seconds": 5.0,
        "shortlist_mirror_failing_since_timestamp_seconds": 7.0,
        'shortlist_mirror_info{version="20260101T000000-abcd"}': 1.0,
    }
    assert set(scraped(Settings(bundles=tmp_path)).values()) == {0.0}


def refusals(root: Path) -> str:
    """What the process counts once it has looked at a root twice."""

    async def look_twice() -> str:
        service = create_app(Settings(bundles=root))
        await service.runtime.refresh()
        await service.runtime.refresh(forced=True)
        return service.metrics.exposition().decode()

    text = asyncio.run(look_twice())
    return next(line for line in text.splitlines() if line.startswith("shortlist_bundles_refused_total"))


def test_a_refused_bundle_is_counted_once(plain_bundle: Bundle, tmp_path: Path) -> None:
    array = next(derive(tmp_path, plain_bundle).path.glob("*.npy"))
    array.unlink()
    assert refusals(tmp_path) == "shortlist_bundles_refused_total 1.0"


def test_a_root_without_a_bundle_is_no_refusal(tmp_path: Path) -> None:
    assert refusals(tmp_path) == "shortlist_bundles_refused_total 0.0"


def test_a_url_of_bundles_is_kept_in_a_folder_of_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORTLIST_BUNDLES", "s3://shop/bundles")
    settings = Settings()
    assert (settings.remote_bundles, settings.bundles) == ("s3://shop/bundles", LOCAL_COPIES)


def test_a_folder_of_bundles_follows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORTLIST_BUNDLES", "/srv/bundles")
    assert (Settings().remote_bundles, Settings().bundles) == (None, Path("/srv/bundles"))


def test_a_folder_can_be_named_for_the_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORTLIST_BUNDLES", "/var/lib/copies")
    monkeypatch.setenv("SHORTLIST_REMOTE_BUNDLES", "gs://shop/bundles")
    settings = Settings()
    assert (settings.remote_bundles, settings.bundles) == ("gs://shop/bundles", Path("/var/lib/copies"))


def test_looking_without_a_pause_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORTLIST_REMOTE_POLL_S", "0")
    with pytest.raises(ValidationError):
        Settings()
