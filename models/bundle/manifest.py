"""The manifest of a bundle: what it was built from and, for every file, how it must look."""

import re
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from models.errors import BundleError
from models.words import Split

MANIFEST = "manifest.json"
SCHEMA_VERSION = 1
"""Raised whenever an older reader would misread a newer bundle."""

VERSION_PATTERN = re.compile(r"\d{8}T\d{6}-[0-9a-f]{4}")
FILE_PATTERN = re.compile(r"[a-z0-9][a-z0-9_+-]*(\.[a-z0-9]+)+")
REBUILD = "Build the bundle anew, or roll back to one that verifies."


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SplitInfo(_Strict):
    """How the interactions were divided; evaluation reads it from here.

    Attributes:
        kind: none, or leave-last-out.
        truncate_history: a user's last N items were kept before the split; None = all.
    """

    kind: Split = Split.NONE
    truncate_history: int | None = Field(default=None, ge=1)


class FileEntry(_Strict):
    """One file of the bundle.

    Attributes:
        sha256: hexadecimal digest of its bytes.
        bytes: its size.
        dtype: of an array, as numpy writes it (`<f4`).
        shape: of an array.
        rows: of a table.
    """

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    bytes: int = Field(ge=0)
    dtype: str | None = None
    shape: tuple[int, ...] | None = None
    rows: int | None = None


class Manifest(_Strict):
    """What a bundle says of itself.

    Attributes:
        schema_version: `SCHEMA_VERSION` of the writer.
        version: name of the bundle's folder.
        created: when it was published, UTC.
        n_items: catalogue size; every part agrees with it.
        split: how the interactions were divided.
        config: the whole build configuration.
        statistics: facts about the data.
        sections: facts that each job states about its artifacts.
        files: by file name.
    """

    schema_version: int
    version: str = Field(pattern=rf"^{VERSION_PATTERN.pattern}$")
    created: datetime
    n_items: int = Field(ge=1)
    split: SplitInfo
    config: dict[str, Any]
    statistics: dict[str, Any]
    sections: dict[str, dict[str, Any]]
    files: dict[str, FileEntry]

    @field_validator("files")
    @classmethod
    def _plain_names(cls, files: dict[str, FileEntry]) -> dict[str, FileEntry]:
        for name in files:
            if not FILE_PATTERN.fullmatch(name):
                raise ValueError(f"{name!r} is not a plain file name")
        return files

    def to_json(self) -> bytes:
        """The text of `manifest.json`."""
        return orjson.dumps(self.model_dump(mode="json"), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)


def plain(facts: dict[str, Any]) -> dict[str, Any]:
    """Facts as JSON knows them: numpy scalars and arrays, dates and paths become plain values."""
    packed = orjson.dumps(facts, default=str, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)
    result: dict[str, Any] = orjson.loads(packed)
    return result


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a version folder.

    Raises:
        BundleError: it is absent, is not JSON, is of another schema version or breaks the schema.
    """
    path = folder / MANIFEST
    try:
        raw = orjson.loads(path.read_bytes())
    except OSError as error:
        raise BundleError(str(path), found=str(error), expected="a readable manifest", remedy=REBUILD) from error
    except orjson.JSONDecodeError as error:
        raise BundleError(str(path), found=f"no JSON ({error})", expected="a JSON object", remedy=REBUILD) from error
    schema = raw.get("schema_version") if isinstance(raw, dict) else None
    if schema != SCHEMA_VERSION:
        raise BundleError(
            str(path),
            found=f"schema version {schema!r}",
            expected=f"schema version {SCHEMA_VERSION}",
            remedy="Build the bundle with this release, or serve it with the release that built it.",
        )
    try:
        return Manifest.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise BundleError(
            str(path), found=f"field {field}: {first['msg']}", expected="a valid manifest", remedy=REBUILD
        ) from error
