"""Opening a bundle: everything is checked before anything is served, and arrays stay memory-mapped."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from models.bundle import layout, schema
from models.bundle import root as roots
from models.bundle.manifest import MANIFEST, FileEntry, Manifest, read_manifest
from models.errors import BundleError
from models.ids import ItemIds

Array = npt.NDArray[Any]
Shared = TypeVar("Shared")


def sha256(path: Path) -> str:
    """Hexadecimal digest of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def map_array(path: Path) -> Array:
    """A memory-mapped, read-only array; object arrays and anything that is not `.npy` are refused.

    Raises:
        BundleError: numpy cannot map the file.
    """
    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (ValueError, OSError) as error:
        raise schema.refuse(str(path), str(error), "a plain .npy array") from error


def _check_size(path: Path, entry: FileEntry) -> None:
    if path.is_symlink() or not path.is_file():
        raise schema.refuse(str(path), "a link" if path.is_symlink() else "no such file", "a regular file")
    if (size := path.stat().st_size) != entry.bytes:
        raise schema.refuse(str(path), f"{size} bytes", f"{entry.bytes} bytes")


def _check_digest(path: Path, entry: FileEntry) -> None:
    if (digest := sha256(path)) != entry.sha256:
        raise schema.refuse(str(path), f"checksum {digest[:12]}...", f"checksum {entry.sha256[:12]}...")


def _table_rows(path: Path) -> int:
    try:
        return int(pq.read_metadata(path).num_rows)
    except (pa.ArrowInvalid, OSError) as error:
        raise schema.refuse(str(path), str(error), "a Parquet table") from error


def _check_array(path: Path, array: Array, entry: FileEntry, n_items: int) -> None:
    if (array.dtype.str, array.shape) != (entry.dtype, entry.shape):
        raise schema.refuse(str(path), f"{array.dtype.str} {array.shape}", f"{entry.dtype} {entry.shape}")
    schema.check_array(path.stem, array.dtype.str, array.shape, n_items)


def _check_rest(path: Path, entry: FileEntry, n_items: int) -> None:
    if path.suffix == ".parquet":
        if (rows := _table_rows(path)) != entry.rows:
            raise schema.refuse(str(path), f"{rows} rows", f"{entry.rows} rows")
        schema.check_rows(path.name, entry, n_items)
    elif path.name == layout.INDEX:
        schema.check_index(path, n_items)


def _resolve(path: Path, version: str | None) -> Path:
    """The folder of a version: the path itself where it holds a manifest, else the named or current one below it."""
    if version is None and (path / MANIFEST).is_file():
        return path
    chosen = roots.current(path) if version is None else version
    if chosen is None or not roots.is_version(path, chosen):
        there = ", ".join(roots.list_versions(path)) or "none"
        raise BundleError(
            str(path),
            found="no current version" if chosen is None else f"no version {chosen!r} (there are: {there})",
            expected="a published bundle",
            remedy="Build one: shortlist build --interactions FILE --bundles DIR.",
        )
    return path / chosen


@dataclass(frozen=True)
class Bundle:
    """An open bundle, immutable.

    Attributes:
        path: its folder.
        manifest: what it says of itself.
    """

    path: Path
    manifest: Manifest
    _arrays: dict[str, Array] = field(default_factory=dict, repr=False, compare=False)
    _shared: dict[type, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def open(
        cls, root_or_version_dir: Path, *, version: str | None = None, verify: Literal["full", "sizes"] = "full"
    ) -> Self:
        """Open and check a bundle.

        Args:
            root_or_version_dir: a version's folder, or a root, which means its current version.
            version: a version below a root.
            verify: `full` reads every byte for its checksum; `sizes` trusts the bytes and checks all else.

        Raises:
            BundleError: anything is absent, altered, of another schema, or disagrees on the number of items.
        """
        folder = _resolve(root_or_version_dir, version)
        manifest = read_manifest(folder)
        if folder != root_or_version_dir and manifest.version != folder.name:
            raise schema.refuse(str(folder), f"a manifest of version {manifest.version}", f"version {folder.name}")
        bundle = cls(folder, manifest)
        bundle._check(digests=verify == "full")
        return bundle

    def _check(self, *, digests: bool) -> None:
        """Map every array, so that an open bundle survives its deletion, and check all that the manifest says."""
        present = frozenset(name.removesuffix(".npy") for name in self.manifest.files if name.endswith(".npy"))
        schema.check_groups(present)
        for name, entry in self.manifest.files.items():
            _check_size(self.path / name, entry)
        if digests:
            for name, entry in self.manifest.files.items():
                _check_digest(self.path / name, entry)
        for name, entry in self.manifest.files.items():
            path = self.path / name
            if path.suffix == ".npy":
                _check_array(path, self.array(path.stem), entry, self.n_items)
            else:
                _check_rest(path, entry, self.n_items)
        schema.check_offsets(present, self.array)

    @property
    def version(self) -> str:
        """Its version."""
        return self.manifest.version

    @property
    def n_items(self) -> int:
        """Catalogue size."""
        return self.manifest.n_items

    @cached_property
    def ids(self) -> ItemIds:
        """The item ids, memory-mapped."""
        return ItemIds(self.array(layout.ID_BYTES), self.array(layout.ID_OFFSETS), self.array(layout.ID_SLOTS))

    def shared(self, kind: type[Shared], make: Callable[[], Shared]) -> Shared:
        """What all users of this open bundle share, made at first use."""
        if kind not in self._shared:
            self._shared[kind] = make()
        one: Shared = self._shared[kind]
        return one

    def has(self, name: str) -> bool:
        """Whether the bundle holds an array, a table or a file of that layout name."""
        return any(f"{name}{suffix}" in self.manifest.files for suffix in ("", ".npy", ".parquet"))

    def _listed(self, file_name: str) -> Path:
        if file_name not in self.manifest.files:
            raise BundleError(
                f"bundle {self.version}",
                found=f"no {file_name}",
                expected="a bundle that holds it",
                remedy="Run the job that writes it: shortlist job --help.",
            )
        return self.path / file_name

    def array(self, name: str) -> Array:
        """An array, memory-mapped and read-only.

        Raises:
            BundleError: the bundle does not hold it.
        """
        if name not in self._arrays:
            self._arrays[name] = map_array(self._listed(f"{name}.npy"))
        return self._arrays[name]

    def table(self, name: str) -> pa.Table:
        """A table, memory-mapped while it is read.

        Raises:
            BundleError: the bundle does not hold it.
        """
        # Not read_table: it imports what reads whole folders, and with that pandas where that is installed.
        with pq.ParquetFile(self._listed(f"{name}.parquet"), memory_map=True) as file:
            return file.read()

    def file(self, name: str) -> Path:
        """Path of a file (ONNX, FAISS, safetensors).

        Raises:
            BundleError: the bundle does not hold it.
        """
        return self._listed(name)
