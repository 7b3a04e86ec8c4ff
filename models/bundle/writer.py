"""Writing a bundle: into a staging folder that nobody sees, verified as a reader would, then renamed into place."""

import os
import secrets
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from models.bundle import layout, schema
from models.bundle import root as roots
from models.bundle.manifest import (
    FILE_PATTERN,
    MANIFEST,
    SCHEMA_VERSION,
    FileEntry,
    Manifest,
    SplitInfo,
    plain,
)
from models.bundle.reader import Array, Bundle, map_array, sha256
from models.bundle.stream import ArrayStream, write_array
from models.errors import BundleError


def new_version() -> str:
    """`YYYYMMDDTHHMMSS-xxxx`: the time, UTC, and a random part."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(2)}"


def _unused_version(taken: list[str]) -> str:
    """A version that sorts after all that are taken in the same second, so that order by name is order by time."""
    while True:
        version = new_version()
        second = version[: version.index("-") + 1]
        if all(version > name for name in taken if name.startswith(second)):
            return version


def _unwritten(where: Path, error: OSError) -> BundleError:
    return BundleError(
        str(where),
        found=str(error),
        expected="room and rights to write the bundle",
        remedy="Free space or choose another folder; the bundle that serves is untouched.",
    )


def _entry(path: Path) -> FileEntry:
    size, digest = path.stat().st_size, sha256(path)
    if path.suffix == ".npy":
        array = map_array(path)
        return FileEntry(sha256=digest, bytes=size, dtype=array.dtype.str, shape=array.shape)
    rows = int(pq.read_metadata(path).num_rows) if path.suffix == ".parquet" else None
    return FileEntry(sha256=digest, bytes=size, rows=rows)


def _reserve(root: Path) -> tuple[Path, IO[str]]:
    """A staging folder of a version that no other build has, and its lock; leftovers of dead builds go first."""
    root.mkdir(parents=True, exist_ok=True)
    with roots.root_lock(root):
        roots.sweep(root)
        version = _unused_version([path.name.removeprefix(roots.STAGING) for path in root.iterdir()])
        staging = root / f"{roots.STAGING}{version}"
        lock = roots.try_lock(roots.staging_lock_path(staging))
        if lock is None:
            raise _unwritten(staging, OSError("another process holds the lock of a new folder"))
        staging.mkdir()
        return staging, lock


class BundleWriter:
    """A bundle being built. Use it as a context manager: unless published, nothing of it remains.

    Attributes:
        folder: the staging folder.
        version: the version it will be published as.
    """

    def __init__(
        self, root: Path, *, split: SplitInfo, config: dict[str, Any], statistics: dict[str, Any] | None = None
    ) -> None:
        self.root = root
        self.split, self.config = split, plain(config)
        self._statistics = plain(statistics or {})
        self._sections: dict[str, dict[str, Any]] = {}
        try:
            self.folder, self._lock = _reserve(root)
        except OSError as error:
            raise _unwritten(root, error) from error
        self.version = self.folder.name.removeprefix(roots.STAGING)

    @classmethod
    def create(cls, root: Path, *, split: SplitInfo, config: dict[str, Any]) -> Self:
        """An empty bundle under a root, which is made where absent.

        Raises:
            BundleError: the root cannot be written.
        """
        return cls(root, split=split, config=config)

    @classmethod
    def derive(cls, root: Path, base: Bundle) -> Self:
        """A bundle that starts with the base's files (hard links where the file system allows) and facts.

        Raises:
            BundleError: the root cannot be written, or the base has gone.
        """
        manifest = base.manifest
        writer = cls(root, split=manifest.split, config=manifest.config, statistics=manifest.statistics)
        writer._sections = {name: plain(facts) for name, facts in manifest.sections.items()}
        writer.section("derived", {"from": base.version})
        try:
            for name in manifest.files:
                _link(base.path / name, writer.folder / name)
        except OSError as error:
            writer.discard()
            raise _unwritten(writer.folder, error) from error
        return writer

    def _path(self, file_name: str) -> Path:
        """Where a file goes; what lay there is unlinked, never written through, for it may be a published file."""
        if not FILE_PATTERN.fullmatch(file_name) or file_name == MANIFEST:
            raise ValueError(f"{file_name!r} is not a plain file name of a bundle")
        path = self.folder / file_name
        path.unlink(missing_ok=True)
        return path

    def add_array(self, name: str, array: npt.NDArray[Any]) -> None:
        """Write `<name>.npy`, replacing it where it exists.

        Raises:
            BundleError: the array holds Python objects, or the disk refuses.
        """
        path = self._path(f"{name}.npy")
        try:
            write_array(path, array)
        except OSError as error:
            raise _unwritten(path, error) from error

    def open_array(self, name: str, dtype: npt.DTypeLike, shape: Sequence[int]) -> npt.NDArray[Any]:
        """A writable memory map of `<name>.npy`, zeros at first; its blocks are reserved on the disk beforehand.

        Raises:
            BundleError: the disk has no room for it.
        """
        path = self._path(f"{name}.npy")
        try:
            array: npt.NDArray[Any] = np.lib.format.open_memmap(path, "w+", np.dtype(dtype), tuple(shape))
            with path.open("r+b") as file:
                os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
        except OSError as error:
            raise _unwritten(path, error) from error
        return array

    def stream_array(self, name: str, dtype: npt.DTypeLike) -> ArrayStream:
        """`<name>.npy`, one dimension, written block by block when its length is not known beforehand."""
        return ArrayStream(self._path(f"{name}.npy"), dtype)

    def add_table(self, name: str, table: pa.Table) -> None:
        """Write `<name>.parquet`, replacing it where it exists.

        Raises:
            BundleError: the disk refuses.
        """
        path = self._path(f"{name}.parquet")
        try:
            pq.write_table(table, path, compression="zstd")
        except OSError as error:
            raise _unwritten(path, error) from error

    def add_mapped_table(self, name: str, table: pa.Table) -> None:
        """Write an Arrow file of a layout name that carries its suffix, for readers that map it.

        Raises:
            BundleError: the disk refuses.
        """
        path = self._path(name)
        try:
            with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
                writer.write_table(table)
        except OSError as error:
            raise _unwritten(path, error) from error

    def add_file(self, name: str, source: Path) -> None:
        """Move a file in under a layout name that carries its suffix.

        Raises:
            BundleError: the disk refuses.
        """
        path = self._path(name)
        try:
            shutil.move(source, path)
        except OSError as error:
            raise _unwritten(path, error) from error

    def take(self, base: Bundle, name: str) -> None:
        """Take a file, an array or a table over from another bundle, where that holds it.

        Raises:
            BundleError: the disk refuses.
        """
        for file_name in (name, f"{name}.npy", f"{name}.parquet"):
            if file_name in base.manifest.files:
                path = self._path(file_name)
                try:
                    _link(base.path / file_name, path)
                except OSError as error:
                    raise _unwritten(path, error) from error

    def section(self, name: str, facts: dict[str, Any]) -> None:
        """State facts about a job's artifacts in the manifest, replacing that section."""
        self._sections[name] = plain(facts)

    def statistics(self, facts: dict[str, Any]) -> None:
        """Add facts about the data to the manifest."""
        self._statistics = {**self._statistics, **plain(facts)}

    def has(self, name: str) -> bool:
        """Whether an array, a table or a file of that layout name is staged."""
        return any((self.folder / f"{name}{suffix}").is_file() for suffix in ("", ".npy", ".parquet"))

    def read_array(self, name: str) -> Array:
        """A staged array, memory-mapped and read-only.

        Raises:
            BundleError: it is not staged.
        """
        return map_array(self.folder / f"{name}.npy")

    def _manifest(self) -> Manifest:
        files = {path.name: _entry(path) for path in sorted(self.folder.iterdir()) if path.name != MANIFEST}
        offsets = f"{layout.ID_OFFSETS}.npy"
        if offsets not in files:
            raise schema.refuse("bundle", "no item ids", f"{offsets} and its companions")
        return Manifest(
            schema_version=SCHEMA_VERSION,
            version=self.version,
            created=datetime.now(UTC),
            n_items=(files[offsets].shape or (0,))[0] - 1,
            split=self.split,
            config=self.config,
            statistics=self._statistics,
            sections=self._sections,
            files=files,
        )

    def _seal(self) -> None:
        """Write the manifest, make every byte durable, and read all of it back as a reader would."""
        (self.folder / MANIFEST).write_bytes(self._manifest().to_json())
        for path in self.folder.iterdir():
            roots.fsync_path(path)
        roots.fsync_path(self.folder)
        bundle = Bundle.open(self.folder)
        present = frozenset(path.stem for path in self.folder.glob("*.npy"))
        schema.check_indices(present, bundle.array, bundle.n_items)

    def publish(self, *, activate: bool = True) -> str:
        """Verify, rename to `<root>/<version>`, and make it current unless told otherwise. The version.

        Raises:
            BundleError: the bundle does not verify or the disk refuses; what serves stays.
        """
        try:
            self._seal()
            with roots.root_lock(self.root):
                self.folder.rename(self.root / self.version)
                roots.fsync_path(self.root)
                self.folder = self.root / self.version
                self._unlock()
                if activate:
                    roots.switch(self.root, self.version)
        except OSError as error:
            raise _unwritten(self.folder, error) from error
        return self.version

    def _unlock(self) -> None:
        roots.staging_lock_path(self.root / f"{roots.STAGING}{self.version}").unlink(missing_ok=True)
        self._lock.close()

    def discard(self) -> None:
        """Remove the staging folder; a published bundle is left alone."""
        if not self._lock.closed:
            shutil.rmtree(self.folder, ignore_errors=True)
            self._unlock()

    def __enter__(self) -> Self:
        """The writer itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave nothing behind unless published."""
        self.discard()


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(source, target)
