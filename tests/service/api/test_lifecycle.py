"""Readiness, missing and broken bundles, and new ones that arrive while the service runs."""

import shutil
from collections.abc import Callable
from pathlib import Path

import anyio.lowlevel
import httpx
import pytest

from models.bundle import versions
from models.bundle.reader import Bundle
from models.registry import available
from service import runtime as runtimes
from service.app import create_app
from service.engine import Engine
from service.settings import Settings
from tests.service.api.conftest import build_small, running

pytestmark = pytest.mark.anyio
NEVER_S = 3600.0


@pytest.fixture
def root(bundles: Path, tmp_path: Path) -> Path:
    """A copy of the small bundle that may be spoilt."""
    return shutil.copytree(bundles, tmp_path / "bundles")


def quiet(root: Path) -> Settings:
    """Settings with which nothing happens unless the test asks for it."""
    return Settings(bundles=root, bundle_poll_s=NEVER_S)


async def assert_not_ready(client: httpx.AsyncClient, root: Path) -> None:
    for answer in (await client.get("/readyz"), await client.post("/recommend", json={}), await client.get("/items")):
        assert answer.status_code == 503
        assert answer.json()["reason"] == "bundle"
        assert int(answer.headers["retry-after"]) >= 1
        assert str(root) not in answer.text
    assert (await client.get("/healthz")).json() == {"status": "ok"}


async def test_ready_means_loaded_and_says_what(client: httpx.AsyncClient, bundles: Path) -> None:
    answer = await client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json() == {
        "status": "ready",
        "bundle": versions.current(bundles),
        "n_items": 100,
        "retrievers": list(available(Bundle.open(bundles))),
    }


async def test_without_a_bundle_the_process_lives_and_is_not_ready(tmp_path: Path) -> None:
    async with running(create_app(quiet(tmp_path / "absent"))) as client:
        await assert_not_ready(client, tmp_path)


def cut_short(version: Path) -> None:
    (version / "ring_items.npy").write_bytes((version / "ring_items.npy").read_bytes()[:-4])


def flip_a_byte(version: Path) -> None:
    content = bytearray((version / "ring_scores.npy").read_bytes())
    content[-1] ^= 1
    (version / "ring_scores.npy").write_bytes(content)


def remove_a_file(version: Path) -> None:
    (version / "popular_order.npy").unlink()


def spoil_the_manifest(version: Path) -> None:
    (version / "manifest.json").write_text("{}")


def spoil_current(version: Path) -> None:
    (version.parent / "CURRENT").write_bytes(b"\xff\x00../..")


SPOILS = [cut_short, flip_a_byte, remove_a_file, spoil_the_manifest, spoil_current]


@pytest.mark.parametrize("spoil", SPOILS)
async def test_a_broken_bundle_is_refused_with_its_reason_in_the_log(root: Path, spoil: Callable[[Path], None]) -> None:
    spoil(root / str(versions.current(root)))
    service = create_app(quiet(root))
    async with running(service) as client:
        await assert_not_ready(client, root)
        assert service.runtime.refusal


async def test_a_service_that_began_without_a_bundle_serves_the_first_one(tmp_path: Path) -> None:
    service = create_app(quiet(tmp_path / "bundles"))
    async with running(service) as client:
        await assert_not_ready(client, tmp_path)
        version = build_small(tmp_path / "data", tmp_path / "bundles")
        await service.runtime.refresh()
        assert (await client.get("/readyz")).json()["bundle"] == version


async def test_a_new_bundle_takes_over_and_prepared_hooks_see_it_first(root: Path, tmp_path: Path) -> None:
    service = create_app(quiet(root))
    prepared: list[tuple[str, str | None]] = []

    def prepare(engine: Engine) -> None:
        serving = service.runtime.engine
        prepared.append((engine.version, None if serving is None else serving.version))

    service.runtime.on_engine.append(prepare)
    async with running(service) as client:
        old = (await client.post("/recommend", json={})).json()["bundle"]
        new = build_small(tmp_path / "data", root)
        assert (await client.post("/recommend", json={})).json()["bundle"] == old
        await service.runtime.refresh()
        assert (await client.post("/recommend", json={})).json()["bundle"] == new
    assert prepared == [(old, None), (new, old)]


@pytest.mark.parametrize("spoil", SPOILS)
async def test_a_new_bundle_that_is_broken_leaves_the_old_one_serving(
    root: Path, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    service = create_app(quiet(root))
    async with running(service) as client:
        old = (await client.get("/readyz")).json()["bundle"]
        spoil(root / build_small(tmp_path / "data", root))
        await service.runtime.refresh()
        assert service.runtime.refusal
        assert (await client.post("/recommend", json={})).json()["bundle"] == old


async def test_a_refused_version_is_tried_again_only_after_a_while(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = create_app(quiet(root))
    version = root / str(versions.current(root))
    good = (version / "popular_order.npy").read_bytes()
    remove_a_file(version)
    async with running(service) as client:
        (version / "popular_order.npy").write_bytes(good)
        await service.runtime.refresh()
        assert (await client.get("/readyz")).status_code == 503
        monkeypatch.setattr(runtimes, "RETRY_S", 0.0)
        await service.runtime.refresh()
        assert (await client.get("/readyz")).status_code == 200


async def test_current_is_watched(root: Path, tmp_path: Path) -> None:
    service = create_app(Settings(bundles=root, bundle_poll_s=0.01))
    async with running(service):
        new = build_small(tmp_path / "data", root)
        while service.runtime.engine is None or service.runtime.engine.version != new:
            watch = service.runtime._watch
            assert watch is not None
            assert not watch.done()
            await anyio.lowlevel.checkpoint()


async def test_a_bundle_that_is_deleted_beneath_it_goes_on_serving_everything(root: Path) -> None:
    service = create_app(quiet(root))
    async with running(service) as client:
        shutil.rmtree(root)
        await service.runtime.refresh()
        for path in ("/readyz", "/items?q=red", "/items/item-001", "/items/item-001/neighbours"):
            assert (await client.get(path)).status_code == 200, path
        rules = {"brand": ["OPI"], "category": ["Nails"], "price": {"gte": 1}}
        for name in service.runtime.require_engine().serves():
            answer = await client.post(f"/recommend/{name}", json={"history": ["item-001"], "filter": rules})
            assert answer.status_code == 200, name
