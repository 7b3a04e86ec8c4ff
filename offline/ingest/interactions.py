"""Reading interactions: each row is kept, or dropped by the first rule that it breaks, and counted.

The rules are ibis expressions, so that every engine reads, keeps, drops and counts alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from models.errors import InputError
from offline.config import BuildConfig, RatingScale, UnknownItems
from offline.ingest.columns import EVENT, FILE, ITEM_ID, PLACES, RATING, RATING_TEXT, ROW, TIMESTAMP, USER_ID
from offline.ingest.engine import Fields, QueryEngine, Source
from offline.ingest.report import Finding, TableReport
from offline.ingest.timestamps import NANOSECONDS, NUMBER, timed, units_of

if TYPE_CHECKING:
    from ibis.expr.types import BooleanValue, StringValue, Table

INTERACTIONS = "interactions"
"""Table: file, row, user_id, item_id, timestamp (int64 ns), event, rating (float64, NULL where none counts) and
rating_verdict (why none does); rows of unknown items are there too, whatever the rule for them."""
RAW, JUDGED = "raw_rows", "judged_rows"
MAX_ID_BYTES = 256
VERDICT, RATING_VERDICT, KNOWN = "verdict", "rating_verdict", "is_known"
UNKNOWN_ITEM = "item not in the catalogue"
KEPT_UNKNOWN = "kept as items without metadata"
KEPT_UNRATED = "kept without the rating"
DROPPED = "dropped"
ROWS, FIRST = "rows", "first"

Group = dict[str, Any]
"""Rows of one combination of verdicts: verdict, rating_verdict, is_known, rows, first (file * PLACES + row)."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """What reading found before the catalogue was looked at.

    Attributes:
        files: the files' names.
        units: unit of the timestamps of each.
        dropped: rows that no catalogue can save.
        kept: the others, as if the catalogue held all of their items.
        one_event: all rows are known to have the same event, or none.
    """

    files: tuple[str, ...]
    units: tuple[str, ...]
    dropped: tuple[Group, ...]
    kept: tuple[Group, ...] = ()
    one_event: bool = False

    def n_kept(self) -> int:
        """Rows that the rules accept."""
        return sum(group[ROWS] for group in self.kept)


def read_interactions(
    engine: QueryEngine, sources: Sequence[Source], config: BuildConfig, known: pa.Table | None
) -> TableReport:
    """Make the engine table `interactions` out of all files, in the order given.

    Args:
        engine: receives the table.
        sources: interaction files, or folders of Parquet files.
        config: columns, events that count, rating scale, rule for unknown items.
        known: table with a column `item_id`: the catalogue; None = every item is known.

    Raises:
        InputError: a file is malformed, mixes units, or nothing usable remains.
    """
    accepted = accept(engine, sources, config)
    return report_of(accepted, known_groups(engine, engine.table(INTERACTIONS), known), config)


def accept(engine: QueryEngine, sources: Sequence[Source], config: BuildConfig) -> Accepted:
    """Make the engine table `interactions`: every row that the rules accept.

    Raises:
        InputError: a file is malformed or mixes units.
    """
    names = config.interactions.columns.model_dump()
    found = engine.read(RAW, sources, Fields(names, (USER_ID, ITEM_ID, TIMESTAMP)))
    made = engine.view if found.typed else engine.keep
    judged = made(JUDGED, _judged(engine, config))
    units = units_of(engine, JUDGED, found.files)
    groups = engine.result(_grouped(judged, [VERDICT, RATING_VERDICT])).to_pylist()
    one_event = len(config.interactions.events) == 1 or _one_event(engine, judged)
    made(INTERACTIONS, _accepted(judged))
    if not found.typed:
        engine.drop(RAW, JUDGED)
    dropped = tuple(group for group in groups if group[VERDICT] is not None)
    kept = tuple({**group, KNOWN: True} for group in groups if group[VERDICT] is None)
    return Accepted(found.files, units, dropped, kept, one_event)


def _one_event(engine: QueryEngine, rows: "Table") -> bool:
    event = rows[EVENT]
    ends = rows.aggregate(first=event.min(), last=event.max(), missing=event.isnull().any())
    found = engine.result(ends).to_pylist()[0]
    return found["first"] == found["last"] and (found["first"] is None or not found["missing"])


def _grouped(rows: "Table", by: list[str]) -> "Table":
    where = rows[FILE].cast("int64") * PLACES + rows[ROW]
    return rows.group_by(by).aggregate(**{ROWS: rows.count(), FIRST: where.min()})


def known_groups(engine: QueryEngine, rows: "Table", known: pa.Table | None) -> list[Group]:
    """Accepted rows counted by what may still be odd about them: their rating, and an item that nobody knows."""
    import ibis

    if known is None:
        rows = rows.mutate(**{KNOWN: ibis.literal(True)})
    else:
        ids = engine.give("known_items", known.select([ITEM_ID])).distinct().rename(known_id=ITEM_ID)
        rows = rows.left_join(ids, rows[ITEM_ID] == ids["known_id"])
        rows = rows.mutate(**{KNOWN: rows["known_id"].notnull()}).drop("known_id")
    groups: list[Group] = engine.result(_grouped(rows, [RATING_VERDICT, KNOWN])).to_pylist()
    return groups


def _judged(engine: QueryEngine, config: BuildConfig) -> "Table":
    """Every raw row with its time and its verdicts, NULL = none against it."""
    import ibis

    rows = timed(engine.table(RAW).rename({RATING_TEXT: RATING}))
    rows = rows.mutate(**{EVENT: rows[EVENT].nullif("")})
    text = rows[RATING_TEXT].strip()
    rows = rows.mutate(**{RATING: ibis.cases((text.re_search(NUMBER), text.try_cast("float64")))})
    rules = [(broken, ibis.literal(what)) for what, broken in _rules(engine, rows, config).items()]
    return rows.mutate(**{VERDICT: ibis.cases(*rules), RATING_VERDICT: _rating_verdict(rows, config.ratings)})


def _rules(engine: QueryEngine, rows: "Table", config: BuildConfig) -> dict[str, "BooleanValue"]:
    """What is odd -> the condition. A row falls under the first that holds."""
    user, item, event = (rows[name].fill_null("") for name in (USER_ID, ITEM_ID, EVENT))
    longest = MAX_ID_BYTES
    rules = {
        "empty user_id": user == "",
        "empty item_id": item == "",
        f"id longer than {longest} bytes": (engine.byte_length(user) > longest) | (engine.byte_length(item) > longest),
        "missing timestamp": rows[NANOSECONDS].isnull(),
    }
    if config.interactions.events:
        rules["event that does not count"] = ~event.isin(config.interactions.events)
    return rules


def _rating_verdict(rows: "Table", scale: RatingScale | None) -> "StringValue":
    import ibis

    given = rows[RATING_TEXT].strip().fill_null("") != ""
    if scale is None:
        return ibis.cases((given, "rating without a stated scale"))
    rating = rows[RATING]
    return ibis.cases(
        (~given, ibis.null("string")),
        (rating.isnull() | rating.isinf(), "rating that is not a number"),
        ((rating < scale.low) | (rating > scale.high), "rating outside the stated scale"),
    )


def _accepted(judged: "Table") -> "Table":
    import ibis

    kept = judged.filter(judged[VERDICT].isnull())
    rating = ibis.cases((kept[RATING_VERDICT].isnull(), kept[RATING]))
    names = (FILE, ROW, USER_ID, ITEM_ID, TIMESTAMP, EVENT, RATING, RATING_VERDICT)
    return kept.mutate(**{RATING: rating, TIMESTAMP: kept[NANOSECONDS]}).select(*names)


def report_of(accepted: Accepted, groups: Sequence[Group], config: BuildConfig) -> TableReport:
    """What became of the rows.

    Args:
        accepted: what reading found.
        groups: of the accepted rows, from `known_groups`.
        config: the rule for unknown items.

    Raises:
        InputError: nothing usable remains.
    """
    drop = config.interactions.unknown_items is UnknownItems.DROP
    counted = [*accepted.dropped]
    for group in groups:
        lost = drop and not group[KNOWN]
        counted.append({**group, VERDICT: UNKNOWN_ITEM if lost else None})
    caught: dict[tuple[str, str], list[Group]] = {}
    for group in counted:
        for oddity in _oddities(group):
            caught.setdefault(oddity, []).append(group)
    findings = [
        Finding(what, sum(one[ROWS] for one in odd), _advised(what, rule, config), _place(odd, accepted.files))
        for (what, rule), odd in caught.items()
    ]
    findings.sort(key=lambda finding: (-finding.rows, finding.what))
    read = sum(group[ROWS] for group in counted)
    kept = sum(group[ROWS] for group in counted if group[VERDICT] is None)
    report = TableReport(accepted.files, accepted.units, read, kept, tuple(findings))
    if not kept:
        raise _nothing_left(report)
    return report


def _oddities(group: Group) -> list[tuple[str, str]]:
    """What is odd about the rows of one combination of verdicts, and what was done with them."""
    if group[VERDICT] is not None:
        return [(group[VERDICT], DROPPED)]
    unrated = [] if group[RATING_VERDICT] is None else [(group[RATING_VERDICT], KEPT_UNRATED)]
    return unrated + ([] if group[KNOWN] else [(UNKNOWN_ITEM, KEPT_UNKNOWN)])


def _place(groups: Sequence[Group], files: Sequence[str]) -> str:
    number, row = divmod(min(group[FIRST] for group in groups), PLACES)
    return f"{files[number].rsplit('/', 1)[-1]} row {row}"


def _advised(what: str, rule: str, config: BuildConfig) -> str:
    if config.ratings is not None or what != "rating without a stated scale":
        return rule
    return f"{rule}; state [ratings] low and high in build.toml to use them"


def _nothing_left(report: TableReport) -> InputError:
    reasons = "; ".join(finding.line() for finding in report.findings) or "the files hold no rows"
    return InputError(
        ", ".join(report.files),
        found=f"{report.read} rows of which none can be used ({reasons})",
        expected="interactions of known items with a time",
        remedy="Check the column names, the events that count and that the catalogue belongs to these interactions.",
    )
