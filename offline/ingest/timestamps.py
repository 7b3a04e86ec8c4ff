"""Timestamps of one file: find its unit, refuse a mix, turn all into nanoseconds since the epoch.

A number's size tells its unit: seconds below 1e10 (the year 2286), milliseconds below 1e13, microseconds below 1e16,
nanoseconds from there on. Zero fits any unit. ISO 8601 text must carry its offset.
"""

from pathlib import Path

from models.errors import InputError
from offline.ingest.columns import ROW, TIMESTAMP
from offline.ingest.engine import Engine
from offline.ingest.places import place

MISSING = "'', 'nan', 'nat', 'null', 'none'"
NUMBER = r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?"
ISO = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{1,9})?)? ?(Z|[+-][0-9]{2}(:?[0-9]{2})?)"
FACTORS = {"seconds": 10**9, "milliseconds": 10**6, "microseconds": 10**3, "nanoseconds": 1}
ISO_UNIT = "ISO 8601 with offset"

READABLE = f"""
SELECT {ROW}, {TIMESTAMP} AS raw, upper(trim({TIMESTAMP})) AS text,
    regexp_full_match(text, '{NUMBER}') AS is_number,
    CASE WHEN is_number THEN try_cast(text AS DECIMAL(38, 9)) END AS number,
    regexp_full_match(text, '{ISO}') AS is_iso,
    CASE WHEN is_iso
        THEN try_cast(replace(regexp_replace(text, '[.,][0-9]+', ''), ' +', '+') AS TIMESTAMPTZ) END AS moment,
    rpad(regexp_extract(text, '[.,]([0-9]+)', 1), 9, '0') AS fraction
FROM """

UNITS = f"""
CREATE OR REPLACE TABLE timed AS
SELECT *, CASE
    WHEN text IS NULL OR lower(text) IN ({MISSING}) THEN 'missing'
    WHEN number = 0 THEN 'any'
    WHEN abs(number) < 1e10 THEN 'seconds'
    WHEN abs(number) < 1e13 THEN 'milliseconds'
    WHEN abs(number) < 1e16 THEN 'microseconds'
    WHEN number IS NOT NULL THEN 'nanoseconds'
    WHEN moment IS NOT NULL THEN '{ISO_UNIT}'
    ELSE 'unreadable' END AS unit
FROM ({READABLE}"""

NANOSECONDS = f"""
CREATE OR REPLACE TABLE times AS
SELECT {ROW}, raw, unit, CASE
    WHEN unit IN ('missing', 'unreadable') THEN NULL
    WHEN moment IS NOT NULL THEN try_cast(epoch_us(moment)::HUGEINT * 1000 + fraction::BIGINT AS BIGINT)
    ELSE try_cast(
        trunc(number)::HUGEINT * {{factor}} + round((number - trunc(number)) * {{factor}})::HUGEINT AS BIGINT
    ) END AS nanoseconds
FROM timed
"""


def read_times(engine: Engine, table: str, path: Path) -> str:
    """Make table `times` (row, nanoseconds BIGINT or NULL where missing) from a raw table. The file's unit.

    Args:
        table: a raw table as `offline.ingest.files.load` makes it.
        path: its file, for errors.

    Raises:
        InputError: a timestamp is of another unit than the first, unreadable, or beyond the year 2262; the first
            such row is named.
    """
    if engine.columns(f"SELECT {TIMESTAMP} FROM {table}")[TIMESTAMP] == "BIGINT":
        engine.run(f"CREATE OR REPLACE TABLE times AS SELECT {ROW}, {TIMESTAMP} AS nanoseconds FROM {table}")
        return "timestamp"
    engine.run(f"{UNITS} {table})")
    unit = _one_unit(engine, path)
    engine.run(NANOSECONDS.format(factor=FACTORS.get(unit, 1)))
    _check_range(engine, path)
    return unit


def _one_unit(engine: Engine, path: Path) -> str:
    first = engine.run(
        f"SELECT unit, {ROW} FROM timed WHERE unit NOT IN ('missing', 'any', 'unreadable') ORDER BY {ROW} LIMIT 1"
    )
    unit, first_row = first[0] if first else ("seconds", 0)
    odd = engine.run(
        f"SELECT {ROW}, raw, unit FROM timed WHERE unit <> ? AND unit <> 'missing' "
        f"AND NOT (unit = 'any' AND ? <> '{ISO_UNIT}') ORDER BY {ROW} LIMIT 1",
        [unit, unit],
    )
    if odd:
        row, raw, found = odd[0]
        reference = f"{unit}, as in row {first_row}" if first else f"a number since the epoch, or {ISO_UNIT}"
        raise InputError(
            f"{place(path, row)}, field {TIMESTAMP}",
            found=f"{raw!r}, {'neither a number nor ' + ISO_UNIT if found == 'unreadable' else found}",
            expected=reference,
            remedy="Give the whole file one unit (seconds, milliseconds, microseconds, nanoseconds or ISO 8601).",
        )
    return str(unit)


def _check_range(engine: Engine, path: Path) -> None:
    beyond = engine.run(
        f"SELECT {ROW}, raw, unit FROM times WHERE nanoseconds IS NULL AND unit <> 'missing' ORDER BY {ROW} LIMIT 1"
    )
    if beyond:
        row, raw, unit = beyond[0]
        raise InputError(
            f"{place(path, row)}, field {TIMESTAMP}",
            found=f"{raw!r} {unit}",
            expected="a time from the year 1677 to 2262",
            remedy="Correct the timestamp or remove the row.",
        )
