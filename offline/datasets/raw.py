"""Where the raw files of a data set lie, and what to say when they do not."""

import shutil
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from models.errors import InputError

GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Archive:
    """A published archive that holds raw files.

    Attributes:
        name: its file name.
        url: where it can be fetched without an account; None = a licence or a login stands before it.
        md5: hex digest, where the publisher states one.
    """

    name: str
    url: str | None = None
    md5: str | None = None

    @property
    def stem(self) -> str:
        """Name of the folder that it is usually unpacked to."""
        return self.name.split(".")[0]


@dataclass(frozen=True, slots=True)
class RawFile:
    """One raw file as published.

    Attributes:
        key: what the reader calls it.
        name: its path below the raw folder, e.g. `MINDsmall_dev/news.tsv`; `.gz` may be absent or added.
        url: where it can be fetched without an account; None = inside `archive`, or not to be fetched.
        archive: the published archive that it is a member of.
        choice: files of one choice stand for each other, and one of them is enough; None = needed.
    """

    key: str
    name: str
    url: str | None = None
    archive: Archive | None = None
    choice: str | None = None

    def places(self) -> list[str]:
        """Paths below the raw folder where the file may lie, the published one first."""
        bare = self.name.removesuffix(".gz")
        names = [self.name, bare, f"{bare}.gz"]
        if self.archive:
            names += [f"{self.archive.stem}/{Path(name).name}" for name in names]
        return list(dict.fromkeys(names))

    @property
    def published_as(self) -> str:
        """What to look for on the publisher's page."""
        return f"{self.name} (in {self.archive.name})" if self.archive else self.name


def is_gzip(path: Path) -> bool:
    """Whether the file is gzip by its first bytes: some servers and browsers unpack `.gz` files on the way."""
    with path.open("rb") as file:
        return file.read(2) == GZIP_MAGIC


@dataclass(slots=True)
class RawFolder:
    """The raw files of one data set.

    Attributes:
        folder: where the user put them; never written to.
        scratch: where members of archives are unpacked to.
        files: what the data set needs.
        page: web page of the publisher, for error messages.
        used: files that a reader asked for, by key.
    """

    folder: Path
    scratch: Path
    files: Sequence[RawFile]
    page: str
    used: dict[str, Path] = field(default_factory=dict)
    _found: dict[str, Path] = field(default_factory=dict)

    def find(self, key: str) -> Path | None:
        """Path of the file called `key`, unpacked if need be; None if it is not there."""
        if key not in self._found:
            found = self._look_up(self._file(key))
            if found is None:
                return None
            self._found[key] = found
        return self._found[key]

    def path(self, key: str) -> Path:
        """Path of the file called `key`.

        Raises:
            InputError: it is not there; the message says where it can be had.
        """
        found = self.find(key)
        if found is None:
            raise self._missing([self._file(key)])
        self.used[key] = found
        return found

    def check(self) -> None:
        """Raise one InputError that names every file that is needed and absent."""
        missing = [file for file in self.files if self.find(file.key) is None]
        answered = {file.choice for file in self.files if file.choice and file not in missing}
        needed = [file for file in missing if file.choice is None or file.choice not in answered]
        if needed:
            raise self._missing(needed)

    def _file(self, key: str) -> RawFile:
        return next(file for file in self.files if file.key == key)

    def _look_up(self, file: RawFile) -> Path | None:
        for place in file.places():
            if (self.folder / place).is_file():
                return self.folder / place
        archive = file.archive and self.folder / file.archive.name
        return _unpack(archive, file, self.scratch) if archive and archive.is_file() else None

    def _missing(self, files: Sequence[RawFile]) -> InputError:
        names = ", ".join(file.published_as for file in files)
        return InputError(
            str(self.folder), found=f"no {names}", expected="the files as published", remedy=_remedy(files, self.page)
        )


def _remedy(files: Sequence[RawFile], page: str) -> str:
    urls = list(dict.fromkeys(url for file in files for url in _urls(file)))
    if not urls:
        return f"Accept the publisher's terms at {page}, download the files by hand and put them there."
    return f"Run again with --download, or fetch {' and '.join(urls)} and put them there (publisher: {page})."


def _urls(file: RawFile) -> Iterator[str]:
    url = file.url or (file.archive.url if file.archive else None)
    if url:
        yield url


def _unpack(archive: Path, file: RawFile, scratch: Path) -> Path | None:
    target = scratch / archive.stem / Path(file.name).name
    try:
        with zipfile.ZipFile(archive) as members:
            member = next((name for name in members.namelist() if Path(name).name == target.name), None)
            if member is None:
                return None
            target.parent.mkdir(parents=True, exist_ok=True)
            with members.open(member) as source, target.open("wb") as sink:
                shutil.copyfileobj(source, sink)
    except zipfile.BadZipFile as error:
        raise InputError(
            str(archive), found=f"a broken archive ({error})", expected="a zip file", remedy="Download it again."
        ) from error
    return target
