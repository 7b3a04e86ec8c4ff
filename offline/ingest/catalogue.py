"""Reading the catalogue: fields that cannot be used are left empty and counted; of repeated ids the first row stays."""

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from models.errors import InputError
from offline.config import BuildConfig, RatingScale
from offline.ingest.columns import ITEM_ID, ROW
from offline.ingest.engine import Engine, Fields, literal
from offline.ingest.files import load
from offline.ingest.interactions import MAX_ID_BYTES
from offline.ingest.report import Finding, TableReport

LISTS = ("also_bought", "also_viewed", "bought_together")
TRUE, FALSE = "'true', 't', 'yes', 'y', '1', '1.0'", "'false', 'f', 'no', 'n', '0', '0.0'"

TEXT = pa.string()
SCHEMA = pa.schema(
    [
        (ITEM_ID, TEXT),
        ("title", TEXT),
        ("brand", TEXT),
        ("price", pa.float64()),
        ("categories", pa.list_(pa.list_(TEXT))),
        ("description", TEXT),
        ("available", pa.bool_()),
        ("rating_avg", pa.float64()),
        ("rating_count", pa.int64()),
        *((name, pa.list_(TEXT)) for name in LISTS),
    ]
)
"""The table `items`; the co-purchase lists and `description` are left out where the catalogue has none."""

LEVELS = "list_filter(list_transform({levels}, lambda level: trim(level)), lambda level: level <> '')"
FROM_TEXT = LEVELS.format(levels="string_split({text}, '>')")
PATH = f"""CASE json_type(path) WHEN 'ARRAY'
    THEN {LEVELS.format(levels="list_transform(json_extract(path, '$[*]'), lambda element: element ->> '$')")}
    ELSE {FROM_TEXT.format(text="coalesce(path ->> '$', '')")} END"""
PATHS = f"""CASE
    WHEN coalesce(categories, '') = '' THEN NULL
    WHEN starts_with(ltrim(categories), '[') AND json_type(try_cast(categories AS JSON)) = 'ARRAY'
        THEN list_transform(json_extract(categories, '$[*]'), lambda path: {PATH})
    ELSE [{FROM_TEXT.format(text="categories")}] END"""
IDS = """CASE WHEN json_type(try_cast({name} AS JSON)) = 'ARRAY'
    THEN list_transform(json_extract({name}, '$[*]'), lambda element: element ->> '$') END"""

PARSED = f"""
CREATE OR REPLACE TABLE parsed AS
SELECT *, {PATHS} AS paths, try_cast(trim(price) AS DOUBLE) AS price_number,
    try_cast(trim(rating_avg) AS DOUBLE) AS average, try_cast(trim(rating_count) AS DOUBLE) AS raters,
    lower(trim(available)) AS stock, row_number() OVER (PARTITION BY {ITEM_ID} ORDER BY {ROW}) AS repeat
FROM raw_items
"""

CLEAN = f"""
SELECT {ITEM_ID}, nullif(title, '') AS title, nullif(brand, '') AS brand,
    CASE WHEN price_verdict IS NULL THEN price_number END AS price,
    list_filter(paths, lambda path: len(path) > 0) AS categories, nullif(description, '') AS description,
    NOT coalesce(stock IN ({FALSE}), FALSE) AS available,
    CASE WHEN rating_verdict IS NULL AND raters > 0 THEN average END AS rating_avg,
    CASE WHEN rating_verdict IS NULL THEN raters END::BIGINT AS rating_count,
    {", ".join(f"{IDS.format(name=name)} AS {name}" for name in LISTS)}
FROM judged_items WHERE verdict IS NULL ORDER BY {ITEM_ID}
"""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The items as read.

    Attributes:
        table: columns of `SCHEMA`, ordered by the ids' UTF-8 bytes.
        report: what was odd.
    """

    table: pa.Table
    report: TableReport


def read_catalogue(engine: Engine, path: Path, config: BuildConfig) -> Catalogue:
    """Read a catalogue.

    Raises:
        InputError: the file is malformed, lacks `item_id`, or holds no usable row.
    """
    load(engine, "raw_items", path, Fields(config.items.columns.model_dump(), (ITEM_ID,)))
    engine.run(PARSED)
    engine.run(_judge(config.ratings))
    table = engine.arrow(CLEAN).cast(SCHEMA)
    report = TableReport((str(path),), (), *_counts(engine), _findings(engine, path))
    engine.run("DROP TABLE raw_items; DROP TABLE parsed; DROP TABLE judged_items")
    if not len(table):
        raise InputError(
            str(path),
            found=f"{report.read} rows of which none can be used",
            expected="at least one item",
            remedy="Check the file and the name of its id column.",
        )
    return Catalogue(_without_empty(table), report)


def items_only(ids: pa.Array | list[str]) -> pa.Table:
    """A catalogue of bare ids, for data without one: every other field is missing, every item is available."""
    columns = {ITEM_ID: pa.array(ids, TEXT), "available": pa.array([True] * len(ids), pa.bool_())}
    arrays = [columns.get(field.name, pa.nulls(len(ids), field.type)) for field in SCHEMA]
    return _without_empty(pa.Table.from_arrays(arrays, schema=SCHEMA))


def as_read(stored: pa.Table) -> pa.Table:
    """A catalogue back from Parquet as it was before, to the names inside its types."""
    return stored.cast(pa.schema([SCHEMA.field(name) for name in stored.column_names])).combine_chunks()


def _without_empty(table: pa.Table) -> pa.Table:
    optional = ("description", *LISTS)
    return table.drop_columns([name for name in optional if table[name].null_count == len(table)])


def _judge(scale: RatingScale | None) -> str:
    within = "FALSE" if scale is None else f"average < {scale.low!r} OR average > {scale.high!r}"
    return f"""
    CREATE OR REPLACE TABLE judged_items AS SELECT *,
        CASE WHEN coalesce({ITEM_ID}, '') = '' THEN 'empty item_id'
            WHEN strlen({ITEM_ID}) > {MAX_ID_BYTES} THEN 'id longer than {MAX_ID_BYTES} bytes'
            WHEN repeat > 1 THEN 'repeated item_id' END AS verdict,
        CASE WHEN coalesce(trim(price), '') = '' THEN NULL
            WHEN price_number IS NULL OR NOT isfinite(price_number) THEN 'price that is not a number'
            WHEN price_number < 0 THEN 'negative price' END AS price_verdict,
        CASE WHEN coalesce(trim(rating_avg), '') = '' AND coalesce(trim(rating_count), '') IN ('', '0') THEN NULL
            WHEN raters IS NULL AND coalesce(trim(rating_count), '') = '' THEN 'rating_avg without rating_count'
            WHEN raters IS NULL OR NOT isfinite(raters) OR raters <> trunc(raters) OR raters > 1e15
                THEN 'rating_count that is not a whole number'
            WHEN raters < 0 THEN 'negative rating_count'
            WHEN raters = 0 THEN NULL
            WHEN coalesce(trim(rating_avg), '') = '' THEN 'rating_count without rating_avg'
            WHEN average IS NULL OR NOT isfinite(average) THEN 'rating_avg that is not a number'
            WHEN {within} THEN 'rating_avg outside the stated scale' END AS rating_verdict,
        CASE WHEN coalesce(stock, '') NOT IN ('', {TRUE}, {FALSE}) THEN 'available that is neither true nor false'
            END AS stock_verdict
    FROM parsed
    """


RULES = {
    "verdict": "dropped",
    "price_verdict": "kept without a price",
    "rating_verdict": "kept without rating_avg and rating_count",
    "stock_verdict": "taken as available",
}


def _counts(engine: Engine) -> tuple[int, int]:
    read, kept = engine.run("SELECT count(*), count(*) FILTER (verdict IS NULL) FROM judged_items")[0]
    return read, kept


def _findings(engine: Engine, path: Path) -> tuple[Finding, ...]:
    parts = [
        f"SELECT {column} AS what, {ROW}, {literal(_rule(column, rule))} AS rule FROM judged_items "
        f"WHERE {column} IS NOT NULL" + ("" if column == "verdict" else " AND verdict IS NULL")
        for column, rule in RULES.items()
    ]
    caught = engine.run(
        f"SELECT what, count(*), min({ROW}), any_value(rule) FROM ({' UNION ALL '.join(parts)}) "
        "GROUP BY what ORDER BY count(*) DESC, what"
    )
    return tuple(Finding(what, rows, rule, f"{path.name} row {row}") for what, rows, row, rule in caught)


def _rule(column: str, rule: str) -> str:
    return f"{rule}, the first row of an id stays" if column == "verdict" else rule
