"""Bundles in object storage or on a shared folder, reached through fsspec.

A remote root looks like a local one: `<url>/<version>/...` and `<url>/CURRENT`. A version's manifest is uploaded last
and `CURRENT` after it, each as one whole object, so a reader never sees a part of either: a folder without a manifest
is not published. Everything that arrives is checked against the manifest's checksums before it is used.
"""

import errno
import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from fsspec import AbstractFileSystem
from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem
from pydantic import ValidationError

from models.bundle.manifest import MANIFEST, VERSION_PATTERN, Manifest
from models.bundle.reader import Bundle
from models.bundle.root import CURRENT
from models.errors import BundleError, ConfigError, MissingExtraError, ShortlistError

EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs"}
"""Which extra of this package brings a scheme."""
LONGEST_NAME = 64
"""Bytes of `CURRENT` that are read; a version's name is shorter."""
LARGEST_MANIFEST = 64 << 20
CHECK_STORAGE = "Check address, credentials and network"

_CLIENT_ERRORS = (
    ("botocore.exceptions", "BotoCoreError"),
    ("botocore.exceptions", "ClientError"),
    ("aiohttp.client_exceptions", "ClientError"),
    ("google.auth.exceptions", "GoogleAuthError"),
)
"""What storage clients raise besides `OSError`."""


def _client_errors() -> tuple[type[Exception], ...]:
    found: list[type[Exception]] = [OSError]
    for module, name in _CLIENT_ERRORS:
        try:
            found.append(getattr(importlib.import_module(module), name))
        except ImportError:
            continue
    return tuple(found)


@contextmanager
def _told(where: str) -> Iterator[None]:
    """Turn whatever a storage client raises into one kind of error."""
    try:
        yield
    except ShortlistError:
        raise
    except FileNotFoundError as error:
        raise BundleError(
            where,
            found="nothing there",
            expected="a published object",
            remedy="Publish one: shortlist bundles push --to URL.",
        ) from error
    except _client_errors() as error:
        is_full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise BundleError(
            where,
            found=f"{type(error).__name__}: {error}",
            expected="room for the bundle" if is_full else "storage that answers",
            remedy=f"{'Free space or enlarge the volume' if is_full else CHECK_STORAGE}; what serves stays.",
        ) from error


def is_url(text: str) -> bool:
    """Whether a place is named by a URL rather than by a path.

    >>> is_url("s3://shop/bundles"), is_url("/srv/bundles")
    (True, False)
    """
    return "://" in text


def _filesystem(url: str) -> tuple[AbstractFileSystem, str]:
    scheme = url.partition("://")[0] if is_url(url) else "file"
    try:
        filesystem, base = url_to_fs(url, use_listings_cache=False, skip_instance_cache=True)
    except ImportError as error:
        extra = EXTRAS.get(scheme)
        remedy = f"pip install 'shortlist[{extra}]'" if extra else f"Install what fsspec needs for {scheme}://."
        raise MissingExtraError(url, found=str(error), expected=f"a client for {scheme}://", remedy=remedy) from error
    except ValueError as error:
        raise ConfigError(
            url, found=str(error), expected="s3://, gs://, file:// or a path", remedy="Correct the address."
        ) from error
    return filesystem, base.rstrip("/")


@dataclass(frozen=True)
class Remote:
    """A root of bundles elsewhere.

    Attributes:
        url: as it was given.
        filesystem: the client.
        base: the root's path as the client knows it.
    """

    url: str
    filesystem: AbstractFileSystem
    base: str

    @classmethod
    def open(cls, url: str) -> Self:
        """The root at a URL or path; nothing is read yet.

        Raises:
            MissingExtraError: the client of that scheme is not installed.
            ConfigError: the scheme is unknown.
        """
        return cls(url, *_filesystem(url))

    def _path(self, *parts: str) -> str:
        return "/".join((self.base, *parts))

    def _where(self, *parts: str) -> str:
        return "/".join((self.url.rstrip("/"), *parts))

    def _read(self, *parts: str, limit: int) -> bytes:
        with _told(self._where(*parts)), self.filesystem.open(self._path(*parts), "rb", block_size=1 << 20) as file:
            content = bytes(file.read(limit + 1))
        if len(content) > limit:
            raise BundleError(
                self._where(*parts),
                found=f"more than {limit} bytes",
                expected="a small file",
                remedy="Publish the bundle anew.",
            )
        return content

    def _write(self, content: bytes, *parts: str) -> None:
        """Replace an object as a whole: object stores do so by themselves, on a disk a rename does."""
        path = self._path(*parts)
        with _told(self._where(*parts)):
            if not isinstance(self.filesystem, LocalFileSystem):
                self.filesystem.pipe_file(path, content)
                return
            draft = f"{path}.draft"
            self.filesystem.pipe_file(draft, content)
            Path(draft).replace(path)

    def current(self) -> str:
        """The version that `CURRENT` names.

        Raises:
            BundleError: it is absent, cannot be read or names no version.
        """
        name = self._read(CURRENT, limit=LONGEST_NAME).decode("utf-8", "replace").strip()
        if not VERSION_PATTERN.fullmatch(name):
            raise BundleError(
                self._where(CURRENT),
                found=repr(name),
                expected="the name of a version",
                remedy="Choose one: shortlist bundles remote use VERSION --at URL.",
            )
        return name

    def manifest_bytes(self, version: str) -> bytes:
        """The manifest of a version, as it lies there.

        Raises:
            BundleError: the version is not published or cannot be read.
        """
        return self._read(version, MANIFEST, limit=LARGEST_MANIFEST)

    def _manifest(self, version: str) -> Manifest:
        try:
            return Manifest.model_validate_json(self.manifest_bytes(version))
        except ValidationError as error:
            raise BundleError(
                self._where(version, MANIFEST),
                found=f"{error.error_count()} errors, first: {error.errors()[0]['msg']}",
                expected="a manifest of this release",
                remedy="Choose another version, or build anew.",
            ) from error

    def download(self, version: str, names: Sequence[str], folder: Path) -> None:
        """Copy files of a version, several at once where the client can.

        Raises:
            BundleError: one is absent or cannot be read.
        """
        with _told(self._where(version)):
            sources = [self._path(version, name) for name in names]
            self.filesystem.get(sources, [str(folder / name) for name in names])

    def versions(self) -> list[str]:
        """Published versions, oldest first.

        Raises:
            BundleError: the storage does not answer.
        """
        return [version for version in self._folders() if self._published(version)]

    def _folders(self) -> list[str]:
        with _told(self.url):
            try:
                entries = self.filesystem.ls(self.base, detail=False)
            except FileNotFoundError:
                return []
        names = (str(entry).rstrip("/").rpartition("/")[2] for entry in entries)
        return sorted(name for name in names if VERSION_PATTERN.fullmatch(name))

    def _published(self, version: str) -> bool:
        with _told(self._where(version, MANIFEST)):
            return bool(self.filesystem.exists(self._path(version, MANIFEST)))

    def use(self, version: str) -> None:
        """Make a published version current.

        Raises:
            BundleError: it is not published, or a file of it is absent or of another size.
        """
        if not VERSION_PATTERN.fullmatch(version) or not self._published(version):
            there = ", ".join(self.versions()) or "none"
            raise BundleError(
                self.url,
                found=f"no version {version!r} (there are: {there})",
                expected="one of them",
                remedy="Name it.",
            )
        manifest = Manifest.model_validate_json(self.manifest_bytes(version))
        self._check_sizes(manifest)
        self._write(f"{version}\n".encode(), CURRENT)

    def push(self, bundle: Bundle, *, activate: bool = True) -> bool:
        """Upload a bundle; its manifest goes last, then `CURRENT`. Whether it was not there before.

        Raises:
            BundleError: the storage refuses, or holds another bundle of that version.
        """
        manifest = (bundle.path / MANIFEST).read_bytes()
        fresh = not self._published(bundle.version)
        if fresh:
            self._upload(bundle)
            self._check_sizes(bundle.manifest)
            self._write(manifest, bundle.version, MANIFEST)
        elif self.manifest_bytes(bundle.version) != manifest:
            raise BundleError(
                self._where(bundle.version),
                found="another bundle of the same version",
                expected="this one or none",
                remedy="A version never changes: build a new one.",
            )
        if activate:
            self.use(bundle.version)
        return fresh

    def _upload(self, bundle: Bundle) -> None:
        if isinstance(self.filesystem, LocalFileSystem):
            self.filesystem.makedirs(self._path(bundle.version), exist_ok=True)
        names = list(bundle.manifest.files)
        with _told(self._where(bundle.version)):
            targets = [self._path(bundle.version, name) for name in names]
            self.filesystem.put([str(bundle.path / name) for name in names], targets)

    def _check_sizes(self, manifest: Manifest) -> None:
        with _told(self._where(manifest.version)):
            entries: list[dict[str, Any]] = self.filesystem.ls(self._path(manifest.version), detail=True)
        sizes = {str(entry["name"]).rpartition("/")[2]: entry["size"] for entry in entries}
        for name, entry in manifest.files.items():
            if sizes.get(name) != entry.bytes:
                raise BundleError(
                    self._where(manifest.version, name),
                    found="no such object" if name not in sizes else f"{sizes[name]} bytes",
                    expected=f"{entry.bytes} bytes",
                    remedy="Push the bundle again.",
                )

    def prune(self, keep: int) -> list[str]:
        """Delete all but the newest `keep` versions and the current one, and uploads older than it that never ended.

        Raises:
            ValueError: `keep` is negative.
            BundleError: `CURRENT` is unreadable, so nothing is safe to delete.
        """
        if keep < 0:
            raise ValueError(f"keep = {keep}, expected 0 or more")
        current, published = self.current(), self.versions()
        unfinished = {name for name in self._folders() if name < current} - set(published)
        doomed = (set(published[: max(0, len(published) - keep)]) - {current}) | unfinished
        for version in sorted(doomed):
            self._delete(version, published=version in published)
        return sorted(doomed)

    def _delete(self, version: str, *, published: bool) -> None:
        with _told(self._where(version)):
            if published:
                self.filesystem.rm_file(self._path(version, MANIFEST))
            self.filesystem.rm(self._path(version), recursive=True)
