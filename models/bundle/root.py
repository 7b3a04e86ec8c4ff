"""The entries of a root folder: versions, `CURRENT`, `PREVIOUS`, staging folders and the locks that guard them.

`CURRENT` holds the version that serves. `PREVIOUS` holds the versions that served before, newest first; the first
that is not current counts, so a crash between writing the two files loses nothing.
"""

import contextlib
import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from models.bundle.manifest import VERSION_PATTERN
from models.errors import BundleError

CURRENT, PREVIOUS, LOCK = "CURRENT", "PREVIOUS", ".lock"
STAGING, DELETED = ".staging-", ".deleted-"


def fsync_path(path: Path) -> None:
    """Make a file, or the entries of a folder, durable."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def root_lock(root: Path) -> Iterator[None]:
    """One process at a time changes the entries of a root."""
    with (root / LOCK).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def try_lock(path: Path) -> IO[str] | None:
    """The open, locked file, or None if a live process holds it. Closing it unlocks."""
    lock = path.open("a")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        return None
    return lock


def staging_lock_path(staging: Path) -> Path:
    """The lock file beside a staging folder; who builds there holds it."""
    return staging.with_name(f"{staging.name}.lock")


def sweep(root: Path) -> list[str]:
    """Remove what dead builds and interrupted deletions left; the caller holds the root's lock. Names of what went."""
    swept = []
    for path in sorted(root.glob(f"{DELETED}*")):
        shutil.rmtree(path)
        swept.append(path.name)
    for lock_path in sorted(root.glob(f"{STAGING}*.lock")):
        lock = try_lock(lock_path)
        if lock is None:
            continue
        with lock:
            shutil.rmtree(lock_path.with_suffix(""), ignore_errors=True)
            lock_path.unlink(missing_ok=True)
        swept.append(lock_path.stem)
    return swept


def is_version(root: Path, version: str) -> bool:
    """Whether the root holds a published folder of that version; a symbolic link is none."""
    path = root / version
    return VERSION_PATTERN.fullmatch(version) is not None and path.is_dir() and not path.is_symlink()


def list_versions(root: Path) -> list[str]:
    """Published versions, oldest first; empty where the root does not exist."""
    if not root.is_dir():
        return []
    return sorted(entry.name for entry in root.iterdir() if is_version(root, entry.name))


def _lines(path: Path) -> list[str]:
    """Lines of a small file that must not be a link; a link or an unreadable file is refused by the system."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _broken(path, str(error)) from error
    with os.fdopen(handle, "rb") as file:
        return file.read(4096).decode("utf-8", "replace").split("\n")


def _broken(path: Path, found: str) -> BundleError:
    return BundleError(
        str(path), found=found, expected="the name of a version", remedy="Choose one: shortlist bundles use VERSION."
    )


def current(root: Path) -> str | None:
    """The version that serves, None where there is none yet.

    Raises:
        BundleError: CURRENT is a link, or holds anything else than a version's name.
    """
    lines = [line for line in _lines(root / CURRENT) if line]
    if not (root / CURRENT).exists():
        return None
    if len(lines) != 1 or not VERSION_PATTERN.fullmatch(lines[0]):
        raise _broken(root / CURRENT, repr("\n".join(lines))[:80])
    return lines[0]


def previous(root: Path) -> str | None:
    """The version that served before the current one, None where there is none."""
    serving = _served(root)
    return next((line for line in _lines(root / PREVIOUS) if is_version(root, line) and line != serving), None)


def _served(root: Path) -> str | None:
    """Like `current`, but a broken CURRENT reads as none, so that it can be replaced."""
    try:
        return current(root)
    except BundleError:
        return None


def _replace(path: Path, lines: list[str]) -> None:
    draft = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    try:
        with draft.open("w") as file:
            file.write("".join(f"{line}\n" for line in lines))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    fsync_path(path.parent)


def switch(root: Path, version: str) -> None:
    """Make a version current; the caller holds the root's lock and has verified the version."""
    serving, before = _served(root), previous(root)
    if serving == version:
        return
    history = [one for one in (serving, before) if one is not None]
    if history:
        _replace(root / PREVIOUS, history)
    _replace(root / CURRENT, [version])
