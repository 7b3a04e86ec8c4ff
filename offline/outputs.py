"""Files that a command writes: their place is checked before the work begins, and they appear whole."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from models.errors import ConfigError


def check_file(path: Path | None, option: str) -> None:
    """Refuse a place where no file can be written, before anything was computed for it. None = nothing to write.

    Raises:
        ConfigError: the path is a folder, or its folder cannot be made or written to.
    """
    if path is None:
        return
    if path.is_dir():
        raise ConfigError(option, found=f"the folder {path}", expected="a file", remedy="Add the file's name.")
    check_folder(path.parent, option)


def check_folder(path: Path | None, option: str) -> None:
    """Refuse a folder that cannot be made or written to; folders that are missing are made later, when written to.

    Raises:
        ConfigError: a part of the path is a file, or may not be written to.
    """
    if path is None:
        return
    nearest = next(place for place in (path.absolute(), *path.absolute().parents) if place.exists())
    if not nearest.is_dir():
        raise _refused(option, f"{nearest}, which is a file")
    if not os.access(nearest, os.W_OK):
        raise _refused(option, f"{nearest}, which may not be written to")


@contextmanager
def replaced_file(path: Path) -> Iterator[Path]:
    """A draft beside `path` that takes its place when the block ends well, and vanishes otherwise.

    Raises:
        ConfigError: it cannot be written.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield draft
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise _refused(str(path), error.strerror or str(error)) from error


def _refused(where: str, found: str) -> ConfigError:
    return ConfigError(where, found=found, expected="a place that can be written to", remedy="Pass another path.")
