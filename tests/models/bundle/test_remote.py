"""Bundles in object storage: a real S3 protocol server, and a plain folder, behind the same rules."""

import errno
import random
import shutil
import threading
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import numpy as np
import pytest
from moto.server import ThreadedMotoServer

from models.bundle import layout, mirror, versions
from models.bundle import remote as remote_module
from models.bundle.manifest import MANIFEST
from models.bundle.mirror import Mirror, MirrorConfig, sync
from models.bundle.mirror_state import STATE, MirrorState
from models.bundle.reader import Bundle
from models.bundle.remote import Remote
from models.bundle.root import list_versions
from models.bundle.writer import BundleWriter
from models.errors import BundleError, ConfigError, MissingExtraError

POPULARITY = f"{layout.POPULARITY}.npy"


@pytest.fixture(scope="module")
def s3_server() -> Iterator[str]:
    """A server that speaks S3, in this process."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


everywhere = pytest.mark.parametrize("remote", ["s3", "folder"], indirect=True)
"""Rules that depend on the storage; the others hold above it and are tested on a folder."""


@pytest.fixture
def remote(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Remote:
    """An empty remote root."""
    if getattr(request, "param", "folder") == "folder":
        return Remote.open((tmp_path / "share").as_uri())
    for name, value in {
        "AWS_ENDPOINT_URL": request.getfixturevalue("s3_server"),
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    bucket = f"shop-{uuid4().hex[:8]}"
    opened = Remote.open(f"s3://{bucket}/bundles")
    opened.filesystem.mkdir(bucket)
    return opened


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Where versions are copied to."""
    return tmp_path / "cache"


class Published(NamedTuple):
    """A local root with a version that is pushed."""

    root: Path
    version: str


@pytest.fixture
def published(root: Path, build: Callable[[], str], remote: Remote) -> Published:
    """One version, pushed and current."""
    version = build()
    remote.push(Bundle.open(root))
    return Published(root, version)


def derive(root: Path) -> str:
    """A version that differs from the current one in one array."""
    with BundleWriter.derive(root, Bundle.open(root)) as writer:
        writer.add_array(layout.POPULARITY, np.array([3, 1, 7], np.int64))
        return writer.publish()


def overwrite(remote: Remote, version: str, name: str, content: bytes) -> None:
    """Change an object behind everybody's back."""
    remote.filesystem.pipe_file(f"{remote.base}/{version}/{name}", content)


def read(remote: Remote, version: str, name: str) -> bytes:
    """An object's bytes."""
    return bytes(remote.filesystem.cat_file(f"{remote.base}/{version}/{name}"))


def leftovers(cache: Path) -> list[str]:
    """Entries of a root that are neither versions nor its small files."""
    known = {*list_versions(cache), "CURRENT", "PREVIOUS", ".lock", mirror.MIRROR_LOCK, STATE}
    return sorted(path.name for path in cache.iterdir() if path.name not in known)


@everywhere
def test_a_pushed_bundle_arrives_whole_and_serves(published: Published, remote: Remote, cache: Path) -> None:
    fetched = sync(remote, cache)
    original, copy = Bundle.open(published.root), Bundle.open(cache)
    assert (fetched.version, fetched.changed) == (published.version, True)
    assert copy.manifest == original.manifest
    assert fetched.downloaded_bytes == sum(entry.bytes for entry in original.manifest.files.values())
    assert leftovers(cache) == []


def test_a_second_look_fetches_nothing(published: Published, remote: Remote, cache: Path) -> None:
    sync(remote, cache)
    again = sync(remote, cache)
    assert (again.version, again.changed, again.downloaded_bytes) == (published.version, False, 0)


@everywhere
def test_files_of_an_earlier_version_are_linked_not_fetched(published: Published, remote: Remote, cache: Path) -> None:
    sync(remote, cache)
    newer = derive(published.root)
    remote.push(Bundle.open(published.root))
    fetched = sync(remote, cache)
    manifest = Bundle.open(cache, version=newer).manifest
    assert fetched.downloaded_bytes == manifest.files[POPULARITY].bytes
    assert fetched.linked_bytes == sum(e.bytes for name, e in manifest.files.items() if name != POPULARITY)


def test_a_local_file_that_rotted_is_fetched_rather_than_linked(
    published: Published, remote: Remote, cache: Path
) -> None:
    sync(remote, cache)
    rotten = cache / published.version / f"{layout.EMBEDDINGS}.npy"
    content = rotten.read_bytes()
    rotten.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    derive(published.root)
    remote.push(Bundle.open(published.root))
    fetched = sync(remote, cache)
    assert fetched.downloaded_bytes >= len(content)
    Bundle.open(cache)


def flip(remote: Remote, version: str) -> None:
    content = read(remote, version, POPULARITY)
    overwrite(remote, version, POPULARITY, content[:-1] + bytes([content[-1] ^ 1]))


def cut(remote: Remote, version: str) -> None:
    overwrite(remote, version, POPULARITY, read(remote, version, POPULARITY)[:-8])


def drop(remote: Remote, version: str) -> None:
    remote.filesystem.rm_file(f"{remote.base}/{version}/{POPULARITY}")


def unseal(remote: Remote, version: str) -> None:
    remote.filesystem.rm_file(f"{remote.base}/{version}/{MANIFEST}")


def halve_manifest(remote: Remote, version: str) -> None:
    content = read(remote, version, MANIFEST)
    overwrite(remote, version, MANIFEST, content[: len(content) // 2])


def borrow_manifest(remote: Remote, version: str) -> None:
    other = next(name for name in remote.versions() if name != version)
    overwrite(remote, version, MANIFEST, read(remote, other, MANIFEST))


def check_refused(damage: Callable[[Remote, str], None], published: Published, remote: Remote, cache: Path) -> None:
    sync(remote, cache)
    newer = derive(published.root)
    remote.push(Bundle.open(published.root))
    damage(remote, newer)
    with pytest.raises(BundleError):
        sync(remote, cache)
    assert versions.current(cache) == published.version
    assert list_versions(cache) == [published.version]
    assert leftovers(cache) == []
    Bundle.open(cache)


@everywhere
@pytest.mark.parametrize("damage", [flip, unseal])
def test_a_damaged_or_half_uploaded_version_is_refused_and_the_old_one_serves(
    damage: Callable[[Remote, str], None], published: Published, remote: Remote, cache: Path
) -> None:
    check_refused(damage, published, remote, cache)


@pytest.mark.parametrize("damage", [cut, drop, halve_manifest, borrow_manifest])
def test_a_version_that_is_not_what_it_says_is_refused_and_the_old_one_serves(
    damage: Callable[[Remote, str], None], published: Published, remote: Remote, cache: Path
) -> None:
    check_refused(damage, published, remote, cache)


@pytest.mark.parametrize("content", [b"", b"../../etc", b"20260101T000000-abcd\n20260101T000000-abce\n", b"x" * 999])
def test_a_current_that_names_no_version_is_refused(
    content: bytes, published: Published, remote: Remote, cache: Path
) -> None:
    remote.filesystem.pipe_file(f"{remote.base}/CURRENT", content)
    with pytest.raises(BundleError, match="CURRENT"):
        sync(remote, cache)


def test_an_empty_root_says_how_to_publish(remote: Remote, cache: Path) -> None:
    assert remote.versions() == []
    with pytest.raises(BundleError, match="shortlist bundles push"):
        sync(remote, cache)


def test_a_version_never_changes(published: Published, remote: Remote) -> None:
    assert remote.push(Bundle.open(published.root)) is False
    overwrite(remote, published.version, MANIFEST, read(remote, published.version, MANIFEST) + b" ")
    with pytest.raises(BundleError, match="another bundle of the same version"):
        remote.push(Bundle.open(published.root))


def test_an_upload_that_lost_bytes_is_not_published(
    root: Path, build: Callable[[], str], remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    build()
    put = remote.filesystem.put

    def lossy(sources: list[str], targets: list[str]) -> None:
        put(sources, targets)
        lost = next(target for target in targets if target.endswith(POPULARITY))
        remote.filesystem.pipe_file(lost, remote.filesystem.cat_file(lost)[:-1])

    monkeypatch.setattr(remote.filesystem, "put", lossy)
    with pytest.raises(BundleError, match=POPULARITY):
        remote.push(Bundle.open(root))
    assert remote.versions() == []


def test_going_back_uses_the_local_copy(published: Published, remote: Remote, cache: Path) -> None:
    sync(remote, cache)
    derive(published.root)
    remote.push(Bundle.open(published.root))
    sync(remote, cache)
    remote.use(published.version)
    back = sync(remote, cache)
    assert (back.version, back.changed, back.downloaded_bytes) == (published.version, True, 0)


def test_a_local_copy_that_broke_is_fetched_again(published: Published, remote: Remote, cache: Path) -> None:
    sync(remote, cache)
    derive(published.root)
    remote.push(Bundle.open(published.root))
    sync(remote, cache)
    (cache / published.version / POPULARITY).write_bytes(b"rotten")
    remote.use(published.version)
    assert sync(remote, cache).downloaded_bytes > 0
    assert Bundle.open(cache).version == published.version


def test_use_names_what_there_is(published: Published, remote: Remote) -> None:
    with pytest.raises(BundleError, match=published.version):
        remote.use("20200101T000000-0000")


def test_use_refuses_a_version_whose_file_is_gone(published: Published, remote: Remote) -> None:
    newer = derive(published.root)
    remote.push(Bundle.open(published.root), activate=False)
    assert remote.current() == published.version
    drop(remote, newer)
    with pytest.raises(BundleError, match=POPULARITY):
        remote.use(newer)
    assert remote.current() == published.version


@everywhere
def test_prune_keeps_the_current_and_the_newest(published: Published, remote: Remote) -> None:
    later = [derive(published.root) for _ in range(3)]
    for version in later:
        remote.push(Bundle.open(published.root, version=version))
    remote.use(published.version)
    assert remote.prune(1) == later[:2]
    assert remote.versions() == [published.version, later[2]]


def test_prune_removes_old_uploads_that_never_ended_and_no_newer_ones(published: Published, remote: Remote) -> None:
    oldest, newest = "20200101T000000-0000", "29990101T000000-0000"
    for version in (oldest, newest):
        remote.filesystem.makedirs(f"{remote.base}/{version}", exist_ok=True)
        overwrite(remote, version, POPULARITY, b"half")
    assert remote.prune(9) == [oldest]
    assert remote.filesystem.exists(f"{remote.base}/{newest}/{POPULARITY}")


def test_a_full_disk_is_told_before_anything_is_fetched(
    published: Published, remote: Remote, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: type("Usage", (), {"free": 10})())
    with pytest.raises(BundleError, match="10 bytes free"):
        sync(remote, cache)
    assert leftovers(cache) == []


def test_a_disk_that_fills_while_fetching_is_told_as_such_and_leaves_nothing(
    published: Published, remote: Remote, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fills(version: str, names: list[str], folder: Path) -> None:
        download(version, names[:2], folder)
        with remote_module._told(version):
            raise OSError(errno.ENOSPC, "No space left on device")

    download = remote.download
    monkeypatch.setattr(Remote, "download", lambda _, *arguments: fills(*arguments))
    with pytest.raises(BundleError, match="enlarge the volume"):
        sync(remote, cache)
    assert leftovers(cache) == list_versions(cache) == []


def test_processes_that_share_a_cache_fetch_once(published: Published, remote: Remote, cache: Path) -> None:
    results = []
    threads = [threading.Thread(target=lambda: results.append(sync(remote, cache))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(result.changed for result in results) == 1
    assert len(results) == 4


class Clock:
    """Time that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def follow(remote: Remote, cache: Path, clock: Clock, *, seed: int = 0) -> Mirror:
    return Mirror(remote, cache, MirrorConfig(), generator=random.Random(seed), clock=clock, now=clock)


def test_a_mirror_leaves_a_refused_version_alone_for_a_while_then_recovers(
    published: Published, remote: Remote, cache: Path
) -> None:
    clock = Clock()
    follower = follow(remote, cache, clock)
    assert follower.step() is not None
    newer = derive(published.root)
    remote.push(Bundle.open(published.root))
    sound = read(remote, newer, POPULARITY)
    flip(remote, newer)
    assert follower.step() is None
    overwrite(remote, newer, POPULARITY, sound)
    assert follower.step() is None
    assert versions.current(cache) == published.version
    clock.now = MirrorConfig().retry_s + 1
    fetched = follower.step()
    assert fetched is not None
    assert fetched.version == newer


def test_a_mirror_does_not_wait_to_try_another_version(published: Published, remote: Remote, cache: Path) -> None:
    follower = follow(remote, cache, Clock())
    flip(remote, published.version)
    assert follower.step() is None
    newer = derive(published.root)
    remote.push(Bundle.open(published.root))
    fetched = follower.step()
    assert fetched is not None
    assert fetched.version == newer


def test_a_mirror_outlives_storage_that_is_gone(published: Published, remote: Remote, cache: Path) -> None:
    lost = Remote(remote.url, remote.filesystem, f"{remote.base}-gone")
    assert follow(lost, cache, Clock()).step() is None
    assert follow(remote, cache, Clock()).step() is not None


def test_a_mirror_tells_since_when_it_cannot_follow_and_when_it_last_could(
    published: Published, remote: Remote, cache: Path
) -> None:
    clock = Clock()
    follower = follow(remote, cache, clock)
    clock.now = 10.0
    follower.step()
    assert MirrorState.read(cache) == MirrorState(version=published.version, last_success_s=10.0)
    newer = derive(published.root)
    remote.push(Bundle.open(published.root))
    flip(remote, newer)
    for clock.now in (20.0, 30.0, 400.0):
        follower.step()
    refused = MirrorState(version=newer, last_success_s=10.0, failing_since_s=20.0)
    assert MirrorState.read(cache) == refused
    remote.use(published.version)
    clock.now = 410.0
    follow(remote, cache, clock).step()
    assert MirrorState.read(cache) == MirrorState(version=published.version, last_success_s=410.0)


def test_a_current_that_names_a_version_that_is_not_there_is_told_and_left_alone(
    published: Published, remote: Remote, cache: Path
) -> None:
    follower = follow(remote, cache, Clock())
    follower.step()
    absent = "29990101T000000-0000"
    remote.filesystem.pipe_file(f"{remote.base}/CURRENT", f"{absent}\n".encode())
    assert follower.step() is None
    assert versions.current(cache) == published.version
    assert MirrorState.read(cache).version == absent
    assert leftovers(cache) == []


def test_a_mirror_outlives_what_no_client_should_raise(
    published: Published, remote: Remote, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    follower = follow(remote, cache, Clock())
    follower._config = MirrorConfig(every_s=0.01)
    stop, step = threading.Event(), follower.step
    steps: list[None] = []

    def faulty_then_sound() -> mirror.Fetched | None:
        steps.append(None)
        if len(steps) == 1:
            raise KeyError("a client's own fault")
        stop.set()
        return step()

    monkeypatch.setattr(follower, "step", faulty_then_sound)
    follower.run(stop)
    assert versions.current(cache) == published.version


def test_mirrors_ask_at_different_times(remote: Remote, cache: Path) -> None:
    waits = [follow(remote, cache, Clock(), seed=seed).wait_s() for seed in range(200)]
    assert min(waits) >= 15
    assert max(waits) <= 45
    assert np.histogram(waits, bins=6, range=(15, 45))[0].min() >= 15


def test_a_mirror_keeps_few_versions(published: Published, remote: Remote, cache: Path) -> None:
    follower = follow(remote, cache, Clock())
    for _ in range(4):
        derive(published.root)
        remote.push(Bundle.open(published.root))
        follower.step()
    assert list_versions(cache) == remote.versions()[-2:]


def test_a_mirror_stops_when_told(published: Published, remote: Remote, cache: Path) -> None:
    stop = threading.Event()
    follower = follow(remote, cache, Clock())
    runner = threading.Thread(target=follower.run, args=(stop,))
    runner.start()
    stop.set()
    runner.join(timeout=10)
    assert not runner.is_alive()


def test_storage_that_does_not_answer_is_an_error_with_the_remedy(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(BundleError, match="credentials and network"):
        sync(Remote.open("s3://nowhere/bundles"), cache)


def test_an_unknown_scheme_is_a_mistake_of_the_settings() -> None:
    with pytest.raises(ConfigError, match="s3://"):
        Remote.open("bogus://shop")


@pytest.mark.skipif(find_spec("gcsfs") is not None, reason="the client of gs:// is installed")
def test_a_client_that_is_not_installed_names_the_extra() -> None:
    with pytest.raises(MissingExtraError, match=r"shortlist\[gcs\]"):
        Remote.open("gs://shop/bundles")
