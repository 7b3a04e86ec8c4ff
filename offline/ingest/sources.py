"""Which files a source stands for."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from models.bundle.reader import sha256
from models.errors import ConfigError, InputError
from offline.ingest.engine import Source


def local_files(sources: Sequence[Source]) -> list[Path]:
    """The files of sources, in order: a folder stands for the Parquet files below it, in the order of their paths.

    Raises:
        ConfigError: a URI, which this engine does not read.
        InputError: a folder holds no Parquet file.
    """
    return [path for source in sources for path in _files_of(source)]


def _files_of(source: Source) -> list[Path]:
    if isinstance(source, str):
        raise ConfigError(
            source,
            found="a URI",
            expected="a local file or folder",
            remedy="Copy it here, or read it with --engine spark.",
        )
    if not source.exists():
        raise InputError(
            str(source), found="no such file", expected="a file, or a folder of Parquet files", remedy="Check the path."
        )
    if not source.is_dir():
        return [source]
    below = (path for path in source.rglob("*.parquet") if not is_hidden(str(path.relative_to(source))))
    found = sorted(below, key=lambda path: str(path.relative_to(source)).encode())
    if not found:
        raise nothing_below(str(source))
    return found


def identified(source: Source) -> list[tuple[Source, dict[str, Any]]]:
    """What identifies each file of a source; a URI is only named, for its bytes pass through Spark alone."""
    if isinstance(source, str):
        return [(source, {})]
    return [(path, {"sha256": sha256(path), "bytes": path.stat().st_size}) for path in local_files([source])]


def is_hidden(path: str) -> bool:
    """Whether a path below a folder is none of its data: engines leave such files beside what they write.

    >>> is_hidden("day=1/part-0.parquet"), is_hidden("_temporary/part-0.parquet"), is_hidden(".part-0.parquet.crc")
    (False, True, True)
    """
    return any(part.startswith((".", "_")) for part in path.split("/"))


def nothing_below(folder: str) -> InputError:
    """The refusal of an empty folder."""
    return InputError(
        folder, found="no *.parquet below it", expected="a folder of Parquet files", remedy="Check the path."
    )
