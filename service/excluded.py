"""A long list of exclusions read from the bytes of a body, without a Python string for each id.

Only what is plain JSON is taken: `"exclude"` named once, no escape in the whole body, ids of 1 to 256 bytes. The rest
of the body is checked as ever, with an empty list in its place. Everything else, and every body with a fault, goes to
the parser whole, so its messages are those of any other body.
"""

from contextlib import suppress
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError

from models.ids import Cut
from models.kernels import compiled
from service.body import parse
from service.schemas import MAX_EXCLUDED, MAX_ID_BYTES, RecommendRequest

LONG_BODY = 1024
"""Bytes; the parser reads a shorter body faster."""
NAME = b'"exclude"'
NOT_PLAIN = -1

_QUOTE, _ESCAPE, _COMMA, _COLON, _OPEN, _CLOSE = b'"\\,:[]'
_SPACE, _TAB, _LINE, _RETURN = b" \t\n\r"


class Asked(NamedTuple):
    """What the body of `/recommend` says.

    Attributes:
        request: the request.
        excluded: its exclusions, where they were read apart and the request names none.
    """

    request: RecommendRequest
    excluded: Cut | None


class Exclusions(NamedTuple):
    """A body in two parts.

    Attributes:
        rest: the body with an empty list of exclusions.
        ids: the exclusions.
    """

    rest: bytes
    ids: Cut


@compiled
def _after_spaces(text: npt.NDArray[np.uint8], at: int) -> int:
    while at < len(text) and (text[at] == _SPACE or text[at] == _TAB or text[at] == _LINE or text[at] == _RETURN):
        at += 1
    return at


@compiled
def _opened(text: npt.NDArray[np.uint8], at: int) -> int:
    """Where the list begins that is the value of a name which ends at `at`."""
    at = _after_spaces(text, at)
    if at == len(text) or text[at] != _COLON:
        return NOT_PLAIN
    at = _after_spaces(text, at + 1)
    return at if at < len(text) and text[at] == _OPEN else NOT_PLAIN


@compiled
def _string_end(text: npt.NDArray[np.uint8], at: int) -> int:
    """Where the string ends that begins behind a quote at `at`."""
    if at == len(text) or text[at] != _QUOTE:
        return NOT_PLAIN
    first = at = at + 1
    while at < len(text) and text[at] != _QUOTE:
        if text[at] < _SPACE or text[at] == _ESCAPE:
            return NOT_PLAIN
        at += 1
    return at if at < len(text) and 0 < at - first <= MAX_ID_BYTES else NOT_PLAIN


@compiled
def _strings(
    text: npt.NDArray[np.uint8], opened: int, begins: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
) -> tuple[int, int]:
    """How many strings the list at `opened` holds, and where it closes."""
    n, at = 0, opened
    while n < len(begins):
        at = _after_spaces(text, at + 1)
        end = _string_end(text, at)
        if end == NOT_PLAIN:
            break
        begins[n], ends[n] = at + 1, end
        n += 1
        at = _after_spaces(text, end + 1)
        if at < len(text) and text[at] == _CLOSE:
            return n, at
        if at == len(text) or text[at] != _COMMA:
            break
    return NOT_PLAIN, at


@compiled
def _read(
    text: npt.NDArray[np.uint8], name_end: int, begins: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
) -> tuple[int, int, int]:
    """Number of strings, where their list opens, where it closes."""
    opened = _opened(text, name_end)
    if opened == NOT_PLAIN:
        return NOT_PLAIN, opened, opened
    n, closed = _strings(text, opened, begins, ends)
    return n, opened, closed


def _is_text(body: bytes) -> bool:
    try:
        return body.isascii() or bool(body.decode())
    except UnicodeDecodeError:
        return False


def take_exclusions(body: bytes) -> Exclusions | None:
    """The exclusions of a body and the rest of it; None where the parser had better read it whole.

    >>> taken = take_exclusions(b'{"exclude": [' + b'"a", ' * 300 + b'"b"], "k": 5}')
    >>> taken.rest, len(taken.ids.begins)
    (b'{"exclude": [], "k": 5}', 301)
    """
    if len(body) < LONG_BODY:
        return None
    at = body.find(NAME) + len(NAME)
    if at < len(NAME) or body.find(NAME, at) >= 0 or b"\\" in body or not _is_text(body):
        return None
    text = np.frombuffer(body, np.uint8)
    begins, ends = np.empty(MAX_EXCLUDED, np.int64), np.empty(MAX_EXCLUDED, np.int64)
    n, opened, closed = _read(text, at, begins, ends)
    if n == NOT_PLAIN:
        return None
    begins.flags.writeable = ends.flags.writeable = False
    return Exclusions(body[: opened + 1] + body[closed:], Cut(text, begins[:n], ends[:n]))


def read_asked(body: bytes) -> Asked:
    """The body of `/recommend`.

    Raises:
        ProblemError: as of `service.body.parse`.
    """
    taken = take_exclusions(body)
    if taken is not None:
        with suppress(ValidationError):
            return Asked(RecommendRequest.model_validate_json(taken.rest), taken.ids)
    return Asked(parse(RecommendRequest, body), None)
