"""Timestamps of one file: find its unit, refuse a mix, turn all into nanoseconds since the epoch.

A number's size tells its unit: seconds below 1e10 (the year 2286), milliseconds below 1e13, microseconds below 1e16,
nanoseconds from there on. Zero fits any unit. ISO 8601 text must carry its offset.

All of it is ibis expressions over text and whole numbers: engines agree on those, not on casts to times.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from models.errors import InputError
from offline.ingest.columns import FILE, ROW, TIMESTAMP, TIMESTAMP_NS, TIMESTAMP_WHOLE
from offline.ingest.engine import QueryEngine
from offline.ingest.places import place

if TYPE_CHECKING:
    from ibis.expr.types import IntegerValue, StringValue, Table

MISSING = ("", "NAN", "NAT", "NULL", "NONE")
NUMBER = r"^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?$"
WHOLE = r"^[+-]?[0-9]{1,18}$"
OFFSET = r"(Z|[+-][0-9]{2}(:?[0-9]{2})?)$"
ISO = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{1,9})?)? ?" + OFFSET
NANOSECONDS = "nanoseconds"
FACTORS = {"seconds": 10**9, "milliseconds": 10**6, "microseconds": 10**3, NANOSECONDS: 1}
ISO_UNIT = "ISO 8601 with offset"
STORED = "timestamp"
"""Unit of a column that the file itself stores as a timestamp."""
ANY, ABSENT, UNREADABLE = "any", "missing", "unreadable"
UNIT, FIRST, BEYOND = "unit", "first", "beyond"
GREATEST = 2**63 - 1
BILLION = 10**9


def timed(rows: "Table") -> "Table":
    """Rows with `unit` (of each by itself) and `nanoseconds`, int64, NULL where missing, unreadable or out of range.

    Args:
        rows: with columns timestamp (text), timestamp_whole and timestamp_ns, at most one of which is not NULL.
    """
    import ibis

    given = rows.columns
    text = rows[TIMESTAMP].strip().upper()
    written = ibis.cases((text.re_search(WHOLE), text.try_cast("int64")))
    whole = ibis.coalesce(rows[TIMESTAMP_WHOLE], written)
    other = ibis.cases((whole.isnull(), text))
    rows = rows.mutate(
        _text=text,
        _integer=whole,
        _decimal=ibis.cases((other.re_search(NUMBER), other.try_cast("decimal(38, 9)"))).cast("string"),
        _iso_text=ibis.cases((other.re_search(ISO), other)),
    )
    digits = rows["_decimal"].re_replace("-", "")
    size = rows["_integer"].nullif(-GREATEST - 1).abs()
    rows = rows.mutate(
        _negative=(rows["_integer"] < 0).fill_null(rows["_decimal"].startswith("-")),
        _whole=size.fill_null(digits.substr(0, digits.length() - 10).try_cast("int64")),
        _fraction=ibis.cases((rows["_integer"].notnull(), 0), else_=digits.right(9).try_cast("int64")),
        _iso=_seconds_of_iso(rows["_iso_text"]),
        _iso_fraction=rows["_iso_text"].re_extract("[.,]([0-9]+)", 1).rpad(9, "0").try_cast("int64"),
    )
    rows = rows.mutate(**{UNIT: _unit(rows)})
    return rows.mutate(**{NANOSECONDS: _nanoseconds(rows)}).select(*given, UNIT, NANOSECONDS)


def _unit(rows: "Table") -> "StringValue":
    import ibis

    whole = rows["_whole"]
    return ibis.cases(
        (rows[TIMESTAMP_NS].notnull(), STORED),
        ((rows["_text"].isnull() & rows["_integer"].isnull()) | rows["_text"].isin(MISSING), ABSENT),
        (rows["_iso"].notnull(), ISO_UNIT),
        (rows["_integer"].isnull() & rows["_decimal"].isnull(), UNREADABLE),
        (whole.isnull(), NANOSECONDS),
        ((whole == 0) & (rows["_fraction"] == 0), ANY),
        (whole < 10**10, "seconds"),
        (whole < 10**13, "milliseconds"),
        (whole < 10**16, "microseconds"),
        else_=NANOSECONDS,
    )


def _nanoseconds(rows: "Table") -> "IntegerValue":
    import ibis

    def by_unit(values: dict[str, int]) -> "IntegerValue":
        return ibis.cases(*((rows[UNIT] == unit, ibis.literal(value, "int64")) for unit, value in values.items()))

    factor = by_unit(FACTORS)
    beyond = by_unit({unit: BILLION // factor for unit, factor in FACTORS.items()})
    most = by_unit({unit: GREATEST // factor - 1 for unit, factor in FACTORS.items()})
    rounded = ((2 * rows["_fraction"] + beyond) // (2 * beyond)).cast("int64")
    size = _joined(rows["_whole"], rounded, factor, most)
    return ibis.cases(
        (rows[UNIT] == STORED, rows[TIMESTAMP_NS]),
        (rows[UNIT] == ANY, ibis.literal(0, "int64")),
        (rows[UNIT] == ISO_UNIT, _joined(rows["_iso"], rows["_iso_fraction"], BILLION, GREATEST // BILLION - 1)),
        (rows[UNIT].isin(list(FACTORS)), ibis.ifelse(rows["_negative"], -size, size)),
    )


def _joined(whole: "IntegerValue", rest: "IntegerValue", factor: Any, most: Any) -> "IntegerValue":
    """`whole * factor + rest`, NULL where the size of whole is beyond `most`."""
    import ibis

    fits = (whole <= most) & (whole >= -most)
    return ibis.cases((fits, ibis.greatest(ibis.least(whole, most), -most) * factor + rest))


def _seconds_of_iso(text: "StringValue") -> "IntegerValue":
    """Whole seconds since the epoch of text that matches `ISO`; NULL where it is no such time."""
    import ibis

    def number(start: int, of: "StringValue" = text) -> "IntegerValue":
        return of.substr(start, 2).try_cast("int64")

    days = text.substr(0, 10).try_cast("date").epoch_days().cast("int64")
    hours, minutes = number(11), number(14)
    seconds = ibis.ifelse(text.substr(16, 1) == ":", number(17), 0)
    offset = text.re_extract(OFFSET, 1)
    zulu = offset == "Z"
    offset_hours = ibis.ifelse(zulu, 0, number(1, offset))
    offset_minutes = ibis.ifelse(offset.length() > 3, offset.right(2).try_cast("int64"), 0)
    shift = (offset_hours * 60 + offset_minutes) * 60
    local = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    valid = (hours < 24) & (minutes < 60) & (seconds < 60) & (offset_hours < 16) & (offset_minutes < 60)
    utc = ibis.ifelse(offset.startswith("-"), local + shift, local - shift)
    return ibis.cases((valid, utc))


def units_of(engine: QueryEngine, table: str, files: Sequence[str]) -> tuple[str, ...]:
    """The unit of each file, from a kept table that `timed` made.

    Raises:
        InputError: a timestamp is of another unit than the first, unreadable, or beyond the year 2262; the first
            such row is named.
    """
    rows = engine.table(table)
    beyond = rows[NANOSECONDS].isnull() & (rows[UNIT] != ABSENT)
    found = rows.group_by([FILE, UNIT]).aggregate(**{FIRST: rows[ROW].min(), BEYOND: rows[ROW].min(where=beyond)})
    groups = engine.result(found).to_pylist()
    return tuple(
        _one_unit(engine, table, number, name, [group for group in groups if group[FILE] == number])
        for number, name in enumerate(files)
    )


def _one_unit(engine: QueryEngine, table: str, number: int, name: str, groups: list[dict[str, Any]]) -> str:
    firsts = {group[UNIT]: group[FIRST] for group in groups if group[UNIT] != ABSENT}
    plain = {unit: row for unit, row in firsts.items() if unit not in (ANY, UNREADABLE)}
    unit = min(plain, key=lambda one: plain[one]) if plain else "seconds"
    odd = [(row, other) for other, row in firsts.items() if other != unit and not (other == ANY and unit in FACTORS)]
    if odd:
        row, other = min(odd)
        reference = f"{unit}, as in row {plain[unit]}" if plain else f"a number since the epoch, or {ISO_UNIT}"
        raise InputError(
            f"{place(name, row)}, field {TIMESTAMP}",
            found=f"{_raw(engine, table, number, row)!r}, "
            + (f"neither a number nor {ISO_UNIT}" if other == UNREADABLE else other),
            expected=reference,
            remedy="Give the whole file one unit (seconds, milliseconds, microseconds, nanoseconds or ISO 8601).",
        )
    _check_range(engine, table, number, name, groups)
    return unit


def _raw(engine: QueryEngine, table: str, number: int, row: int) -> str | None:
    import ibis

    rows = engine.table(table)
    found = engine.result(
        rows.filter((rows[FILE] == number) & (rows[ROW] == row)).select(
            **{TIMESTAMP: ibis.coalesce(rows[TIMESTAMP], rows[TIMESTAMP_WHOLE].cast("string"))}
        )
    )
    text: str | None = found[TIMESTAMP][0].as_py()
    return text


def _check_range(engine: QueryEngine, table: str, number: int, name: str, groups: list[dict[str, Any]]) -> None:
    beyond = [(group[BEYOND], group[UNIT]) for group in groups if group[BEYOND] is not None]
    if beyond:
        row, unit = min(beyond)
        raise InputError(
            f"{place(name, row)}, field {TIMESTAMP}",
            found=f"{_raw(engine, table, number, row)!r} {unit}",
            expected="a time from the year 1677 to 2262",
            remedy="Correct the timestamp or remove the row.",
        )
