"""A synthetic shop as files: sessions stay near a shelf and now and then take a bestseller; titles of plain words."""

from pathlib import Path

import duckdb

PER_USER = 10
SHELF = 200
"""Items that one user's sessions stay among."""
WORDS = ("soft", "classic", "blue", "shampoo", "cream", "light", "lotion", "daily", "rose", "oil", "mask", "clear")


def write_shop(folder: Path, items: int, interactions: int) -> tuple[Path, Path]:
    """Write `interactions.parquet` and `items.parquet`; deterministic.

    Args:
        folder: where to; exists.
        items: size of the catalogue.
        interactions: rows of the log, ten a user.
    """
    log, catalogue = folder / "interactions.parquet", folder / "items.parquet"
    with duckdb.connect() as engine:
        engine.execute("set preserve_insertion_order = false; set enable_progress_bar = false")
        engine.execute(f"""
            copy (
                select 'u' || who as user_id,
                    'i' || case when hash(n, 3) % 10 < 2
                        then cast(floor({items} * pow((hash(n, 1) % 16777216) / 16777216.0, 3)) as bigint)
                        else (hash(who, 4) + hash(n, 5) % {SHELF}) % {items} end as item_id,
                    1600000000 + hash(n, 2) % 100000000 as timestamp
                from (
                    select n, hash(n) % {max(1, interactions // PER_USER)} as who from range({interactions}) as rows(n)
                )
            ) to '{log}' (format parquet)""")
        chosen = ", ".join(f"words[cast(1 + hash(n, {place}) % {len(WORDS)} as bigint)]" for place in range(5))
        engine.execute(f"""
            copy (
                select 'i' || n as item_id, concat_ws(' ', 'brand' || hash(n, 9) % 500, {chosen}, n) as title,
                    'brand' || hash(n, 9) % 500 as brand, 1 + n % 997 / 10.0 as price,
                    [['department ' || n % 20, 'shelf ' || n // {SHELF}]] as categories
                from range({items}) as rows(n), (select {list(WORDS)} as words)
            ) to '{catalogue}' (format parquet)""")
    return log, catalogue
