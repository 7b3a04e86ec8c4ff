"""Fetching raw files: resumed where a connection broke, checked for size and checksum, renamed when whole."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx
import stamina

from models.errors import InputError
from offline.datasets.raw import RawFile, RawFolder

TIMEOUT_S = 60.0
ATTEMPTS = 8

Progress = Callable[[int, int | None], None]
"""Told the bytes that are here and the bytes in all (None = the server does not say)."""


@dataclass(frozen=True, slots=True)
class Download:
    """One file to fetch.

    Attributes:
        url: where from.
        target: where to.
        md5: hex digest that the publisher states; None = none.
    """

    url: str
    target: Path
    md5: str | None = None


class PassingTroubleError(Exception):
    """The server asks to try again later."""


PASSING = (httpx.TransportError, PassingTroubleError)
"""What is tried again, with growing pauses; a download has no time limit of its own."""


def missing_downloads(raw: RawFolder) -> list[Download]:
    """What is needed, absent and may be fetched without an account; of files that stand for each other the first."""
    missing = [file for file in raw.files if raw.find(file.key) is None]
    answered = {file.choice for file in raw.files if file.choice and file not in missing}
    wanted: dict[Path, Download] = {}
    for file in missing:
        source = _source(file, raw.folder)
        if source and (file.choice is None or file.choice not in answered):
            wanted.setdefault(source.target, source)
            answered |= {file.choice} if file.choice else set()
    return list(wanted.values())


def download(wanted: Download, progress: Progress) -> None:
    """Fetch one file; what an earlier run left in `<target>.part` is gone on with if the server's file is the same.

    Raises:
        InputError: the server refuses, or what it sends has another size or checksum than stated.
    """
    wanted.target.parent.mkdir(parents=True, exist_ok=True)
    with httpx.Client(follow_redirects=True, timeout=TIMEOUT_S) as session:
        try:
            for attempt in stamina.retry_context(on=PASSING, attempts=ATTEMPTS, timeout=None):
                with attempt:
                    _fetch(session, wanted, progress)
        except (httpx.HTTPError, PassingTroubleError) as error:
            raise _refused(wanted, str(error) or type(error).__name__) from error
    _check(wanted)
    _part(wanted).replace(wanted.target)
    _tag(wanted).unlink(missing_ok=True)


def _fetch(session: httpx.Client, wanted: Download, progress: Progress) -> None:
    part, tag = _part(wanted), _tag(wanted)
    headers = {"Accept-Encoding": "identity"}
    if part.exists() and tag.exists():
        headers |= {"Range": f"bytes={part.stat().st_size}-", "If-Range": tag.read_text("ascii")}
    with session.stream("GET", wanted.url, headers=headers) as response:
        if response.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
            part.unlink()
            raise PassingTroubleError("the part that is here is longer than the file")
        _raise_for_status(wanted, response)
        resumed = response.status_code == httpx.codes.PARTIAL_CONTENT
        _remember(tag, response)
        total = _total(response, part.stat().st_size if resumed else 0)
        with part.open("ab" if resumed else "wb") as file:
            for chunk in response.iter_raw():
                file.write(chunk)
                progress(file.tell(), total)
    if total is not None and part.stat().st_size != total:
        raise PassingTroubleError(f"{part.stat().st_size} of {total} bytes")


def _raise_for_status(wanted: Download, response: httpx.Response) -> None:
    status = f"{response.status_code} {response.reason_phrase}"
    if response.status_code == httpx.codes.TOO_MANY_REQUESTS or response.is_server_error:
        raise PassingTroubleError(status)
    if not response.is_success:
        raise _refused(wanted, status)


def _remember(tag: Path, response: httpx.Response) -> None:
    """Keep what tells this version of the file from another; without it a broken download starts anew."""
    strong = response.headers.get("ETag", "")
    validator = strong if strong and not strong.startswith("W/") else response.headers.get("Last-Modified", "")
    if validator:
        tag.write_text(validator, "ascii")
    else:
        tag.unlink(missing_ok=True)


def _total(response: httpx.Response, already: int) -> int | None:
    length = response.headers.get("Content-Length")
    return None if length is None else already + int(length)


def _check(wanted: Download) -> None:
    if wanted.md5 is None:
        return
    with _part(wanted).open("rb") as file:
        found = hashlib.file_digest(file, "md5").hexdigest()
    if found != wanted.md5:
        _part(wanted).unlink()
        _tag(wanted).unlink(missing_ok=True)
        raise InputError(
            wanted.url,
            found=f"a file with MD5 {found}",
            expected=f"MD5 {wanted.md5}, as its publisher states",
            remedy="Run again; if it stays so, the publisher has changed the file.",
        )


def _refused(wanted: Download, what: str) -> InputError:
    return InputError(
        wanted.url,
        found=what,
        expected=wanted.target.name,
        remedy=f"Run again later to go on from where it stopped, or put the file at {wanted.target} by hand.",
    )


def _source(file: RawFile, folder: Path) -> Download | None:
    if file.url:
        return Download(file.url, folder / file.name)
    if file.archive and file.archive.url:
        return Download(file.archive.url, folder / file.archive.name, file.archive.md5)
    return None


def _part(wanted: Download) -> Path:
    return wanted.target.with_name(f"{wanted.target.name}.part")


def _tag(wanted: Download) -> Path:
    return wanted.target.with_name(f"{wanted.target.name}.part.tag")
