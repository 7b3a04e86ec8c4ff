"""A log that has grown but kept its shape: copies of users and items, joined where users cross from copy to copy.

Item n of copy c is `ID.c`. Each item of each copy occurs as often as the original does, and sequences keep their
lengths, so popularity and out-degrees keep their distributions. One sequence in ten goes on in the next copy from a
random place on, in every copy alike, so that the graph stays one piece and far rings grow as they do in a larger shop.
"""

from pathlib import Path

import duckdb

CROSSING = 10
"""One user in so many."""


def grow_interactions(source: Path, factor: int, target: Path) -> int:
    """Write `factor` copies as Parquet; the number of rows.

    Args:
        source: interactions in CSV, maybe gzipped, with user_id, item_id, timestamp.
        factor: number of copies.
        target: file that is written.
    """
    with duckdb.connect() as engine:
        engine.execute(f"""
            create table log as select *, row_number() over () as place,
                hash(user_id) % {CROSSING} = 0 as crosses,
                row_number() over (partition by user_id order by timestamp) as step,
                1 + hash(user_id, 'where') % count(*) over (partition by user_id) as crossing
            from read_csv('{source}', all_varchar = true)""")
        engine.execute(f"""
            copy (
                select user_id || '.' || c as user_id,
                    item_id || '.' ||
                        case when crosses and step > crossing then (c + 1) % {factor} else c end as item_id,
                    cast(timestamp as bigint) as timestamp
                from log, range({factor}) as copies(c) order by c, place
            ) to '{target}' (format parquet)""")
        counted = engine.execute(f"select count(*) from '{target}'").fetchone()
    return int(counted[0]) if counted else 0


def grow_items(source: Path, factor: int, target: Path) -> int:
    """Write `factor` copies of a JSONL catalogue as Parquet, co-purchase lists left out; the number of rows."""
    with duckdb.connect() as engine:
        columns = [row[0] for row in engine.execute(f"describe select * from read_json_auto('{source}')").fetchall()]
        kept = [name for name in columns if name not in ("item_id", "also_bought", "also_viewed", "bought_together")]
        chosen = ", ".join(f'"{name}"' for name in kept)
        engine.execute(f"""
            copy (
                select item_id || '.' || c as item_id, {chosen}
                from read_json_auto('{source}'), range({factor}) as copies(c)
            ) to '{target}' (format parquet)""")
        counted = engine.execute(f"select count(*) from '{target}'").fetchone()
    return int(counted[0]) if counted else 0
