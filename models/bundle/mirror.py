"""A local root that follows a remote one: fetch, verify, switch. What serves stays until the new one is whole."""

import fcntl
import os
import random
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import structlog

from models.bundle import root as roots
from models.bundle import versions
from models.bundle.manifest import MANIFEST, Manifest, read_manifest
from models.bundle.mirror_state import MirrorState
from models.bundle.reader import Bundle, sha256
from models.bundle.remote import Remote
from models.errors import BundleError

MIRROR_LOCK = ".mirror.lock"
"""Who holds it fetches; the others of the same folder wait and find the version there."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Fetched:
    """What a synchronisation did.

    Attributes:
        version: the one that serves now.
        changed: whether another one served before.
        downloaded_bytes: what came over the network.
        linked_bytes: what an earlier version already held, byte for byte.
    """

    version: str
    changed: bool = False
    downloaded_bytes: int = 0
    linked_bytes: int = 0


@contextmanager
def _alone(cache: Path) -> Iterator[None]:
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / MIRROR_LOCK).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def sync(remote: Remote, cache: Path) -> Fetched:
    """Make the remote's current version the local one; files that a local version holds are linked, not fetched.

    Raises:
        BundleError: the storage does not answer, or the version is incomplete or corrupt; the local one stays.
        OSError: the local disk refuses.
    """
    return sync_version(remote, remote.current(), cache)


def sync_version(remote: Remote, version: str, cache: Path) -> Fetched:
    """Like `sync`, for a version by name."""
    with _alone(cache):
        if versions.current(cache) == version and roots.is_version(cache, version):
            return Fetched(version)
        if _use_cached(cache, version):
            return Fetched(version, changed=True)
        return _fetch(remote, version, cache)


def _use_cached(cache: Path, version: str) -> bool:
    """Switch to a version that is there; one that no longer verifies is put aside, to be fetched anew."""
    if not roots.is_version(cache, version):
        return False
    try:
        versions.use(cache, version)
    except BundleError as error:
        log.warning("cached bundle is broken", bundle=version, reason=str(error))
        (cache / version).rename(cache / f"{roots.DELETED}{version}")
        return False
    return True


def _fetch(remote: Remote, version: str, cache: Path) -> Fetched:
    with _staging(cache, version) as staging:
        (staging / MANIFEST).write_bytes(remote.manifest_bytes(version))
        manifest = _named(read_manifest(staging), version, remote)
        linked = _link_held(manifest, staging, _held(cache))
        missing = [name for name in manifest.files if name not in linked]
        _check_room(cache, sum(manifest.files[name].bytes for name in missing))
        remote.download(version, missing, staging)
        _publish(staging, cache, version)
    sizes = {name: entry.bytes for name, entry in manifest.files.items()}
    return Fetched(version, True, sum(sizes[name] for name in missing), sum(sizes[name] for name in linked))


def _named(manifest: Manifest, version: str, remote: Remote) -> Manifest:
    if manifest.version != version:
        raise BundleError(
            f"{remote.url}/{version}",
            found=f"a manifest of version {manifest.version}",
            expected=f"version {version}",
            remedy="Publish the bundle anew.",
        )
    return manifest


@contextmanager
def _staging(cache: Path, version: str) -> Iterator[Path]:
    """An empty staging folder, as a build has one; leftovers of dead processes go first."""
    staging = cache / f"{roots.STAGING}{version}"
    lock_path = roots.staging_lock_path(staging)
    with roots.root_lock(cache):
        roots.sweep(cache)
        lock = roots.try_lock(lock_path)
        if lock is None:
            raise BundleError(
                str(staging), found="another process at work", expected="a free folder", remedy="Try again later."
            )
        staging.mkdir()
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        lock_path.unlink(missing_ok=True)
        lock.close()


def _held(cache: Path) -> dict[str, Path]:
    """Files of local versions, by checksum."""
    held: dict[str, Path] = {}
    for version in roots.list_versions(cache):
        try:
            files = read_manifest(cache / version).files
        except BundleError:
            continue
        held |= {entry.sha256: cache / version / name for name, entry in files.items()}
    return held


def _link_held(manifest: Manifest, staging: Path, held: dict[str, Path]) -> set[str]:
    """Names that an earlier version gave; one whose bytes have changed on this disk since is fetched instead."""
    linked = set()
    for name, entry in manifest.files.items():
        source = held.get(entry.sha256)
        if source is not None and sha256(source) == entry.sha256:
            os.link(source, staging / name)
            linked.add(name)
    return linked


def _check_room(cache: Path, needed: int) -> None:
    free = shutil.disk_usage(cache).free
    if free < needed:
        raise BundleError(
            str(cache),
            found=f"{free:,} bytes free",
            expected=f"{needed:,} for the new bundle",
            remedy="Free space or enlarge the volume; the bundle that serves is untouched.",
        )


def _publish(staging: Path, cache: Path, version: str) -> None:
    """Read every byte back as a reader would, make it durable, rename, switch."""
    Bundle.open(staging)
    for path in staging.iterdir():
        roots.fsync_path(path)
    roots.fsync_path(staging)
    with roots.root_lock(cache):
        staging.rename(cache / version)
        roots.fsync_path(cache)
        roots.switch(cache, version)


@dataclass(frozen=True)
class MirrorConfig:
    """How a mirror follows.

    Attributes:
        every_s: seconds between looks at the remote `CURRENT`, on average.
        spread: each wait is drawn from `every_s * (1 ± spread)`, so replicas neither ask nor fetch at once.
        retry_s: a version that was refused is fetched again after this time.
        keep: local versions that stay, besides the current and the previous one.
    """

    every_s: float = 30.0
    spread: float = 0.5
    retry_s: float = 300.0
    keep: int = 2

    def __post_init__(self) -> None:
        if self.every_s <= 0 or not 0 <= self.spread < 1:
            raise ValueError(f"every_s = {self.every_s}, spread = {self.spread}; expected > 0 and 0 <= spread < 1")


class Mirror:
    """Keeps a local root like the remote one.

    Args:
        remote, cache: the two roots.
        config: how it follows.
        generator: of the waits.
        clock: seconds, monotonic.
        now: Unix time in seconds, for the state that others read.
    """

    def __init__(
        self,
        remote: Remote,
        cache: Path,
        config: MirrorConfig,
        *,
        generator: random.Random,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._remote, self._cache, self._config = remote, cache, config
        self._generator, self._clock, self._now = generator, clock, now
        self._refused: tuple[str, float] | None = None

    def wait_s(self) -> float:
        """The next wait."""
        spread = self._config.spread
        return self._config.every_s * self._generator.uniform(1 - spread, 1 + spread)

    def step(self) -> Fetched | None:
        """Follow once; None = nothing new, or it was refused, which is logged."""
        version = None
        try:
            version = self._remote.current()
            if self._still_refused(version):
                return None
            fetched = sync_version(self._remote, version, self._cache)
        except (BundleError, OSError) as error:
            log.error("remote bundle refused", bundle=version, reason=str(error))
            if version is not None:
                self._refused = (version, self._clock() + self._config.retry_s)
            self._failed(version)
            return None
        self._refused = None
        MirrorState.read(self._cache).succeeded(version, self._now()).write(self._cache)
        return self._tell(fetched) if fetched.changed else None

    def _failed(self, version: str | None) -> None:
        MirrorState.read(self._cache).failed(version, self._now()).write(self._cache)

    def _tell(self, fetched: Fetched) -> Fetched:
        gone = versions.prune(self._cache, self._config.keep)
        log.info(
            "remote bundle fetched",
            bundle=fetched.version,
            downloaded_bytes=fetched.downloaded_bytes,
            linked_bytes=fetched.linked_bytes,
            pruned=gone,
        )
        return fetched

    def _still_refused(self, version: str) -> bool:
        return self._refused is not None and self._refused[0] == version and self._clock() < self._refused[1]

    def run(self, stop: threading.Event) -> None:
        """Follow until told to stop; whatever a storage client may raise, the next look comes."""
        while not stop.is_set():
            try:
                self.step()
            except Exception:
                log.exception("following the remote root failed")
                self._failed(None)
            stop.wait(self.wait_s())
