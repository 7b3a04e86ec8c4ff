"""Graded judgments that a person or an LLM judge made: a table user_id, item_id, grade."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from models.errors import InputError
from models.ids import ItemIds
from offline.measures.arrays import Ragged
from offline.measures.relevance import check_grades, judgment_rows
from offline.tables import read_columns

COLUMNS = {"user_id": pa.string(), "item_id": pa.string(), "grade": pa.float64()}
REMEDY = "Name the columns so and write grades as numbers from 0 to 1."


def read_judgments(path: Path, user_ids: Sequence[str], ids: ItemIds) -> tuple[Ragged, list[str]]:
    """Read judgments as one row a test user.

    Args:
        path: CSV (also .gz) or Parquet with user_id, item_id and grade in [0, 1].
        user_ids: the test users, in the order of the lists.
        ids: the catalogue.

    Returns:
        The rows, and in a sentence how many judgments count and how many name an unknown user or item.

    Raises:
        InputError: the file cannot be read, lacks a column, a grade is outside [0, 1], or no row is of these users.
    """
    table = read_columns(path, COLUMNS, REMEDY)
    place = {user: row for row, user in enumerate(user_ids)}
    users = np.array([place.get(user, -1) for user in table["user_id"].to_pylist()], np.int32)
    items = ids.indices(table["item_id"].to_pylist())
    known = (users >= 0) & (items >= 0)
    grades = np.asarray(table["grade"].to_numpy(), np.float64)
    check_grades(grades)
    rows = judgment_rows(users[known], items[known], grades[known], n_users=len(user_ids))
    if not known.any():
        raise InputError(
            str(path),
            found=f"{len(known):,} judgments, none of a test user and an item that are here",
            expected="judgments of the users of these interactions",
            remedy="Check that they were made for the same data set, with its user and item ids.",
        )
    unknown = int((~known).sum())
    said = f"{len(rows.indices):,} graded judgments count; {unknown:,} name a user or an item that is not here."
    return rows, [said]
