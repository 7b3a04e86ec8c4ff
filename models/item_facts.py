"""What the service tells of items and looks for in them, as it is mapped: a column of each fact, and one of words."""

import pyarrow as pa
import pyarrow.compute as pc

ITEM_ID, TITLE, BRAND = "item_id", "title", "brand"
COLUMNS = (TITLE, BRAND, "price", "categories", "rating_avg", "rating_count")
WORDS = "words"
"""Id, title and brand in lower case: what words are looked for in."""


def item_facts(items: pa.Table) -> pa.Table:
    """Those of `COLUMNS` that a catalogue has, and `words`.

    >>> item_facts(pa.table({"item_id": ["B1"], "title": ["Red Lamp"], "stock": [3]})).to_pylist()
    [{'title': 'Red Lamp', 'words': 'b1 red lamp'}]
    >>> item_facts(pa.table({"item_id": ["B1"]})).to_pylist()
    [{'words': 'b1'}]

    Args:
        items: n rows with item_id.
    """
    told = {name: _blanked(items[name]) for name in COLUMNS if name in items.column_names}
    # In one piece each: rows are taken out of a column of several pieces only after it was copied.
    return pa.table(told | {WORDS: _words(items)}).combine_chunks()


def _blanked(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers with zeros where none is given, for that memory is written, too."""
    if not pa.types.is_primitive(column.type):
        return column
    missing = column.is_null().to_numpy()
    return pa.chunked_array([pa.array(column.fill_null(0).to_numpy(), column.type, mask=missing)])


def _words(items: pa.Table) -> pa.ChunkedArray:
    parts = [pc.cast(items[name], pa.large_string()) for name in (ITEM_ID, TITLE, BRAND) if name in items.column_names]
    separator = pa.scalar(" ", pa.large_string())
    joined = pc.binary_join_element_wise(*parts, separator, null_handling="replace", null_replacement="")
    return pc.utf8_lower(joined)
