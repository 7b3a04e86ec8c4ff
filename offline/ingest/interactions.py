"""Reading interactions: each row is kept, or dropped by the first rule that it breaks, and counted."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from models.errors import InputError
from offline.config import BuildConfig, RatingScale, UnknownItems
from offline.ingest.columns import EVENT, FILE, ITEM_ID, RATING, ROW, TIMESTAMP, USER_ID
from offline.ingest.engine import Engine, literal
from offline.ingest.files import Fields, load
from offline.ingest.report import Finding, TableReport
from offline.ingest.timestamps import read_times

INTERACTIONS = "interactions"
"""Engine table: file, row, user_id, item_id, timestamp (BIGINT ns), event, rating (DOUBLE, NULL where none counts)."""
MAX_ID_BYTES = 256

DROPPED = {
    "empty user_id": f"coalesce({USER_ID}, '') = ''",
    "empty item_id": f"coalesce({ITEM_ID}, '') = ''",
    f"id longer than {MAX_ID_BYTES} bytes": (
        f"strlen({USER_ID}) > {MAX_ID_BYTES} OR strlen({ITEM_ID}) > {MAX_ID_BYTES}"
    ),
    "missing timestamp": f"{TIMESTAMP} IS NULL",
}
"""Rules for every file: what is odd -> the condition. A row falls under the first that holds."""

CREATE = f"""
CREATE OR REPLACE TABLE judged ({FILE} INTEGER, {ROW} BIGINT, {USER_ID} VARCHAR, {ITEM_ID} VARCHAR,
    {TIMESTAMP} BIGINT, {EVENT} VARCHAR, rating_text VARCHAR)
"""
APPEND = f"""
INSERT INTO judged SELECT ?, raw.{ROW}, {USER_ID}, {ITEM_ID}, times.nanoseconds, nullif({EVENT}, ''), trim({RATING})
FROM raw JOIN times USING ({ROW})
"""


def read_interactions(
    engine: Engine, paths: Sequence[Path], config: BuildConfig, known: pa.Table | None
) -> TableReport:
    """Make the engine table `interactions` out of all files, in the order given.

    Args:
        engine: receives the table.
        paths: interaction files.
        config: columns, events that count, rating scale, rule for unknown items.
        known: table with a column `item_id`: the catalogue; None = every item is known.

    Raises:
        InputError: a file is malformed, mixes units, or nothing usable remains.
    """
    engine.run(CREATE)
    units = tuple(_append(engine, number, path, config) for number, path in enumerate(paths))
    engine.register("known_items", pa.table({ITEM_ID: pa.array([], pa.string())}) if known is None else known)
    _judge(engine, config, any_item=known is None)
    findings = _findings(engine, paths, config)
    read, kept = engine.run("SELECT count(*), count(*) FILTER (verdict IS NULL) FROM verdicts")[0]
    report = TableReport(tuple(map(str, paths)), units, read, kept, findings)
    if not kept:
        raise _nothing_left(report)
    engine.run(
        f"CREATE OR REPLACE TABLE {INTERACTIONS} AS SELECT {FILE}, {ROW}, {USER_ID}, {ITEM_ID}, {TIMESTAMP}, {EVENT}, "
        f"CASE WHEN rating_verdict IS NULL THEN rating END AS {RATING} FROM verdicts WHERE verdict IS NULL"
    )
    engine.run("DROP TABLE verdicts; DROP TABLE judged; DROP TABLE raw; DROP TABLE times; DROP TABLE IF EXISTS timed")
    return report


def _append(engine: Engine, number: int, path: Path, config: BuildConfig) -> str:
    names = config.interactions.columns.model_dump()
    load(engine, "raw", path, Fields(names, (USER_ID, ITEM_ID, TIMESTAMP)))
    unit = read_times(engine, "raw", path)
    engine.run(APPEND, [number])
    return unit


def _judge(engine: Engine, config: BuildConfig, *, any_item: bool) -> None:
    rules = dict(DROPPED)
    if config.interactions.events:
        events = ", ".join(map(literal, config.interactions.events))
        rules["event that does not count"] = f"{EVENT} IS NULL OR {EVENT} NOT IN ({events})"
    if not any_item and config.interactions.unknown_items is UnknownItems.DROP:
        rules["item not in the catalogue"] = "NOT is_known"
    cases = " ".join(f"WHEN {condition} THEN {literal(what)}" for what, condition in rules.items())
    engine.run(
        f"CREATE OR REPLACE TABLE verdicts AS "
        f"SELECT *, CASE {cases} END AS verdict, {_rating_verdict(config.ratings)} AS rating_verdict FROM ("
        f"SELECT judged.*, {'TRUE' if any_item else 'known.item_id IS NOT NULL'} AS is_known, "
        f"try_cast(rating_text AS DOUBLE) AS rating "
        f"FROM judged LEFT JOIN (SELECT DISTINCT {ITEM_ID} FROM known_items) known USING ({ITEM_ID}))"
    )


def _rating_verdict(scale: RatingScale | None) -> str:
    if scale is None:
        return "CASE WHEN coalesce(rating_text, '') <> '' THEN 'rating without a stated scale' END"
    return (
        "CASE WHEN coalesce(rating_text, '') = '' THEN NULL "
        "WHEN rating IS NULL OR NOT isfinite(rating) THEN 'rating that is not a number' "
        f"WHEN rating < {scale.low!r} OR rating > {scale.high!r} THEN 'rating outside the stated scale' END"
    )


def _findings(engine: Engine, paths: Sequence[Path], config: BuildConfig) -> tuple[Finding, ...]:
    caught = engine.run(
        f"SELECT what, count(*), min(({FILE}, {ROW})), any_value(rule) FROM ("
        f"SELECT verdict AS what, {FILE}, {ROW}, 'dropped' AS rule FROM verdicts WHERE verdict IS NOT NULL UNION ALL "
        f"SELECT rating_verdict, {FILE}, {ROW}, 'kept without the rating' FROM verdicts "
        f"WHERE verdict IS NULL AND rating_verdict IS NOT NULL UNION ALL "
        f"SELECT 'item not in the catalogue', {FILE}, {ROW}, 'kept as items without metadata' FROM verdicts "
        f"WHERE verdict IS NULL AND NOT is_known) GROUP BY what ORDER BY count(*) DESC, what"
    )
    findings = [
        Finding(what, rows, rule, f"{paths[first[0]].name} row {first[1]}") for what, rows, first, rule in caught
    ]
    return tuple(_advise(finding, config) for finding in findings)


def _advise(finding: Finding, config: BuildConfig) -> Finding:
    if config.ratings is not None or finding.what != "rating without a stated scale":
        return finding
    rule = f"{finding.rule}; state [ratings] low and high in build.toml to use them"
    return Finding(finding.what, finding.rows, rule, finding.first)


def _nothing_left(report: TableReport) -> InputError:
    reasons = "; ".join(finding.line() for finding in report.findings) or "the files hold no rows"
    return InputError(
        ", ".join(report.files),
        found=f"{report.read} rows of which none can be used ({reasons})",
        expected="interactions of known items with a time",
        remedy="Check the column names, the events that count and that the catalogue belongs to these interactions.",
    )
