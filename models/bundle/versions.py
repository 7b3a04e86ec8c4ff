"""Versions of a bundle: list them, choose the one that serves, go back, delete old ones."""

from pathlib import Path

from models.bundle.reader import Bundle
from models.bundle.root import DELETED, current, fsync_path, list_versions, previous, root_lock, sweep, switch
from models.errors import BundleError

__all__ = ["current", "list_versions", "previous", "prune", "rollback", "use"]


def use(root: Path, version: str) -> None:
    """Verify a version fully and make it current.

    Raises:
        BundleError: it is absent or does not verify; the current one stays.
    """
    with root_lock(root):
        Bundle.open(root, version=version)
        switch(root, version)


def rollback(root: Path) -> str:
    """Make the version that served before current again; rolling back twice returns to where one was. The version.

    Raises:
        BundleError: there is none, or it does not verify; the current one stays.
    """
    version = previous(root)
    if version is None:
        raise BundleError(
            str(root),
            found="no version that served before",
            expected="one to return to",
            remedy="Choose a version: shortlist bundles list, shortlist bundles use VERSION.",
        )
    use(root, version)
    return version


def prune(root: Path, keep: int) -> list[str]:
    """Delete all but the newest `keep` versions; the current and the previous one always stay. Versions that went.

    Raises:
        ValueError: `keep` is negative.
        BundleError: CURRENT is unreadable, so nothing is safe to delete.
    """
    if keep < 0:
        raise ValueError(f"keep = {keep}, expected 0 or more")
    if not root.is_dir():
        return []
    with root_lock(root):
        versions = list_versions(root)
        kept = {current(root), previous(root), *versions[len(versions) - min(keep, len(versions)) :]}
        doomed = [version for version in versions if version not in kept]
        for version in doomed:
            (root / version).rename(root / f"{DELETED}{version}")
        fsync_path(root)
        sweep(root)
    return doomed
