"""From the sinks' files to what an experiment showed.

An event counts for a variant if it came within a day after an exposure of the same unit to an item that was served
then: by its `request_id` where it carries one (it came after that list, whatever the caller's clock says), else by its
user. Units are counted by the variant that they were assigned, whoever served; forced exposures are left out, and so
are units that were seen in two variants.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.errors import InputError, MissingExtraError
from service.experiments.statistics import (
    SHOUT_BELOW,
    Interval,
    difference,
    lift,
    sample_ratio_p,
    wilson,
)

WINDOW_HOURS = 24
_EXPOSURE_COLUMNS = {
    "request_id": "VARCHAR",
    "timestamp": "TIMESTAMPTZ",
    "user_id": "VARCHAR",
    "unit": "VARCHAR",
    "experiment": "VARCHAR",
    "variant": "VARCHAR",
    "salt": "VARCHAR",
    "share": "DOUBLE",
    "forced": "BOOLEAN",
    "fallback_reason": "VARCHAR",
    "items": "VARCHAR[]",
}
_EVENT_COLUMNS = {
    "user_id": "VARCHAR",
    "item_id": "VARCHAR",
    "timestamp": "TIMESTAMPTZ",
    "event": "VARCHAR",
    "event_id": "VARCHAR",
    "request_id": "VARCHAR",
}

_SHOWN = """
CREATE TEMP TABLE shown AS
SELECT * EXCLUDE (place) FROM (
    SELECT *, row_number() OVER (PARTITION BY request_id ORDER BY timestamp) AS place FROM exposures
    WHERE experiment = $experiment AND NOT forced AND unit IS NOT NULL
      AND salt = (SELECT arg_max(salt, timestamp) FROM exposures WHERE experiment = $experiment AND NOT forced)
) WHERE place = 1
"""
_UNITS = """
CREATE TEMP TABLE units AS
SELECT unit, min(variant) AS variant, count(DISTINCT variant) > 1 AS mixed FROM shown GROUP BY unit
"""
_HAPPENED = """
CREATE TEMP TABLE happened AS
SELECT * EXCLUDE (place) FROM (
    SELECT *, row_number() OVER (PARTITION BY user_id, event_id ORDER BY timestamp) AS place FROM events
    WHERE len($types) = 0 OR event IN (SELECT unnest($types))
) WHERE place = 1
"""
_ATTRIBUTED = f"""
CREATE TEMP TABLE attributed AS
SELECT DISTINCT shown.unit, happened.user_id, happened.event_id
FROM happened JOIN shown ON happened.request_id = shown.request_id
WHERE list_contains(shown.items, happened.item_id)
  AND happened.timestamp <= shown.timestamp + INTERVAL {WINDOW_HOURS} HOUR
UNION
SELECT DISTINCT shown.unit, happened.user_id, happened.event_id
FROM happened JOIN shown ON happened.request_id IS NULL AND happened.user_id = shown.user_id
WHERE list_contains(shown.items, happened.item_id)
  AND happened.timestamp >= shown.timestamp AND happened.timestamp <= shown.timestamp + INTERVAL {WINDOW_HOURS} HOUR
"""
_RESULT = """
SELECT shown.variant, any_value(shown.share), count(DISTINCT shown.unit) AS units, count(*) AS exposures,
       count(*) FILTER (shown.fallback_reason IS NOT NULL) AS fallbacks,
       count(DISTINCT attributed.unit) AS converted
FROM shown JOIN units ON shown.unit = units.unit AND NOT units.mixed
LEFT JOIN (SELECT DISTINCT unit FROM attributed) AS attributed ON attributed.unit = shown.unit
GROUP BY shown.variant ORDER BY shown.variant
"""
_EVENTS_BY_VARIANT = """
SELECT units.variant, count(*) FROM attributed JOIN units ON attributed.unit = units.unit AND NOT units.mixed
GROUP BY units.variant
"""


@dataclass(frozen=True, slots=True)
class VariantResult:
    """What one variant showed.

    Attributes:
        variant: its name.
        share: expected share of units.
        units, exposures, events: counts; events are those attributed.
        converted: units with an attributed event.
        rate: converted units per unit.
        fallback_share: exposures that another retriever answered.
        difference, lift: of the rate against the control; None for the control itself.
    """

    variant: str
    share: float
    units: int
    exposures: int
    events: int
    converted: int
    rate: Interval
    fallback_share: float
    difference: Interval | None = None
    lift: Interval | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """What an experiment showed.

    Attributes:
        experiment: its name.
        salt: of the assignment that is reported: the latest.
        control: the variant that the others are compared with.
        variants: results by name.
        mixed_units: units that were seen in two variants and are left out.
        sample_ratio_p: p of the check that units came in the expected shares.
    """

    experiment: str
    salt: str
    control: str
    variants: tuple[VariantResult, ...]
    mixed_units: int
    sample_ratio_p: float

    @property
    def broken(self) -> bool:
        """True when the sample ratio says that nothing of this can be trusted."""
        return self.sample_ratio_p < SHOUT_BELOW


def report(
    folder: Path,
    experiment: str,
    *,
    types: Sequence[str] = (),
    control: str | None = None,
    source: str | None = None,
) -> Report:
    """Join a sink folder's exposures with its events.

    Args:
        folder: holds `exposures` and `events`.
        experiment: its name.
        types: event types that count; empty = all.
        control: the variant to compare with; None = the first by name.
        source: where the records come from, for messages; None = the folder.

    Raises:
        InputError: no exposure of that experiment, or no such control.
        MissingExtraError: DuckDB or SciPy is not installed.
    """
    database = _database()
    _load(database, "exposures", folder / "exposures", _EXPOSURE_COLUMNS)
    _load(database, "events", folder / "events", _EVENT_COLUMNS)
    database.execute(_SHOWN, {"experiment": experiment})
    database.execute(_UNITS)
    database.execute(_HAPPENED, {"types": list(types)})
    database.execute(_ATTRIBUTED)
    rows = database.execute(_RESULT).fetchall()
    if not rows:
        raise _nothing(source or str(folder / "exposures"), experiment)
    events = dict(database.execute(_EVENTS_BY_VARIANT).fetchall())
    mixed = database.execute("SELECT count(*) FROM units WHERE mixed").fetchone()[0]
    salt = database.execute("SELECT any_value(salt) FROM shown").fetchone()[0]
    chosen = _control(rows, control)
    variants = tuple(_result(row, chosen, events.get(row[0], 0)) for row in rows)
    return Report(experiment, salt, chosen[0], variants, mixed, _ratio_p(rows))


def _ratio_p(rows: Sequence[tuple[Any, ...]]) -> float:
    """Arms without a unit are missing from the rows; what the shares lack of 1 is theirs."""
    shares = [float(row[1]) for row in rows]
    absent = max(0.0, 1.0 - sum(shares))
    observed = [int(row[2]) for row in rows]
    return sample_ratio_p([*observed, 0], [*shares, absent if absent > 1e-9 else 0.0])


def _control(rows: Sequence[tuple[Any, ...]], wanted: str | None) -> tuple[Any, ...]:
    found = rows[0] if wanted is None else next((row for row in rows if row[0] == wanted), None)
    if found is None:
        raise InputError(
            "--control",
            found=repr(wanted),
            expected=f"one of {', '.join(row[0] for row in rows)}",
            remedy="Name a variant that has exposures.",
        )
    return found


def _result(row: tuple[Any, ...], control: tuple[Any, ...], events: int) -> VariantResult:
    variant, share, units, exposures, fallbacks, converted = row
    versus = (converted, units, control[5], control[2])
    return VariantResult(
        variant,
        share,
        units,
        exposures,
        events,
        converted,
        wilson(converted, units),
        fallbacks / exposures,
        None if row is control else difference(*versus),
        None if row is control else lift(*versus),
    )


def _database() -> Any:
    try:
        import duckdb
        import scipy  # noqa: F401 - only asked for
    except ImportError as error:
        raise MissingExtraError(
            "shortlist experiment report",
            found=str(error),
            expected="DuckDB and SciPy",
            remedy="Install the extra: pip install 'shortlist[build]'.",
        ) from error
    return duckdb.connect()


def _load(database: Any, name: str, folder: Path, columns: dict[str, str]) -> None:
    """One table of a sink's files, JSONL and Parquet alike; none at all give an empty table."""
    typed = ", ".join(f"{column} {kind}" for column, kind in columns.items())
    database.execute(f"CREATE TEMP TABLE {name} ({typed})")
    chosen = ", ".join(f"{column}::{kind}" for column, kind in columns.items())
    readers = {
        "jsonl": f"read_json($files, format='newline_delimited', ignore_errors=true, columns={columns})",
        "parquet": "read_parquet($files, union_by_name=true)",
    }
    for suffix, reader in readers.items():
        if files := sorted(map(str, folder.glob(f"*.{suffix}"))):
            database.execute(f"INSERT INTO {name} SELECT {chosen} FROM {reader}", {"files": files})


def _nothing(source: str, experiment: str) -> InputError:
    return InputError(
        source,
        found=f"no exposure of experiment {experiment!r}",
        expected="records of units that were assigned to it",
        remedy="Check the name and SHORTLIST_SINK_DIR, and that the experiment runs.",
    )
