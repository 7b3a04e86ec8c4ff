"""Lists that another system made for the same users: read, checked and measured beside a bundle's retrievers."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from models.errors import InputError
from models.ids import ItemIds
from models.retrieval import Items
from offline.evaluate import LONGEST, Evaluation, list_lengths, measure
from offline.measures.arrays import PAD
from offline.tables import read_columns

Longs = npt.NDArray[np.int64]

COLUMNS = {"user_id": pa.string(), "retriever": pa.string(), "rank": pa.int32(), "item_id": pa.string()}
REMEDY = "Name the columns so; `shortlist evaluate --predictions` writes such a file."


@dataclass(frozen=True, slots=True)
class Predictions:
    """Lists by method.

    Attributes:
        source: the file.
        lists: method -> int32 [users, greatest rank], padded with -1; an unknown item leaves its place empty.
        notes: what was left out, and what a reader should know, in sentences.
    """

    source: Path
    lists: Mapping[str, Items]
    notes: tuple[str, ...]


def read_predictions(path: Path, user_ids: Sequence[str], ids: ItemIds) -> Predictions:
    """Read lists in the form that `evaluate --predictions` writes.

    Args:
        path: CSV (also .gz) or Parquet with user_id, retriever, rank (from 1) and item_id; more columns are ignored.
        user_ids: the test users, in the order of the rows.
        ids: the catalogue.

    Raises:
        InputError: the file cannot be read or lacks a column, a rank is out of range, or a list has two items at one
            rank or one item at two.
    """
    table = read_columns(path, COLUMNS, REMEDY)
    place = {user: row for row, user in enumerate(user_ids)}
    users = np.array([place.get(user, -1) for user in table["user_id"].to_pylist()], np.int64)
    items = ids.indices(table["item_id"].to_pylist()).astype(np.int64)
    ranks = np.asarray(table["rank"].to_numpy(), np.int64)
    _check_ranks(path, ranks)
    methods = np.array(table["retriever"].to_pylist(), object)
    known = (users >= 0) & (items >= 0)
    lists = {
        name: _dense(f"{path}, retriever {name}", users[mine], ranks[mine], items[mine], len(user_ids))
        for name in dict.fromkeys(methods.tolist())
        if (mine := known & (methods == name)).any()
    }
    return Predictions(path, lists, _notes(path, lists, int((~known).sum())))


def add_predictions(
    evaluation: Evaluation, predictions: Predictions, targets: Items, ks: Sequence[int]
) -> tuple[str, ...]:
    """Measure the lists as those of retrievers are, all cut from the one list that the file holds. What to tell.

    Raises:
        InputError: as `check_predictions`.
    """
    check_predictions(predictions, evaluation.measures)
    for name, lists in predictions.lists.items():
        evaluation.measures[name] = measure(lists, targets, sorted(set(ks)))
        evaluation.items[name] = {length: _cut(lists, length) for length in list_lengths(ks)}
        evaluation.seconds[name] = None
    return predictions.notes


def check_predictions(predictions: Predictions, taken: Collection[str]) -> None:
    """Refuse lists that cannot stand beside methods of these names; worth asking before those are evaluated.

    Raises:
        InputError: no row is of the test users and the catalogue, or a method has a name that is taken.
    """
    if not predictions.lists:
        raise InputError(
            str(predictions.source),
            found="no row with a test user and an item of this bundle",
            expected="lists for the users of these interactions",
            remedy="Check that the lists were made from the same data set.",
        )
    for name in predictions.lists:
        if name in taken:
            raise InputError(
                f"{predictions.source}, retriever {name}",
                found="the name of another method of this evaluation",
                expected="other names than those of --retrievers and of other files",
                remedy="Rename it in the file, or leave it out of --retrievers.",
            )


def _cut(lists: Items, k: int) -> Items:
    wide = np.full((len(lists), k), PAD, np.int32)
    width = min(k, lists.shape[1])
    wide[:, :width] = lists[:, :width]
    return wide


def _notes(path: Path, lists: Mapping[str, Items], unknown: int) -> tuple[str, ...]:
    notes = [
        f"Lists of {', '.join(lists) or 'no method'} were read from {path.name} as they are: nothing was taken out, "
        "nothing filled."
    ]
    if unknown:
        notes.append(f"{unknown:,} rows of {path.name} name a user or an item that is not here.")
    notes += [f"Lists of {name} end at rank {found.shape[1]}." for name, found in lists.items()]
    return tuple(notes)


def _dense(where: str, users: Longs, ranks: Longs, items: Longs, n_users: int) -> Items:
    _check_once(where, users * (LONGEST + 1) + ranks, "two items at one rank")
    _check_once(where, users * (int(items.max()) + 1) + items, "one item at two ranks")
    lists = np.full((n_users, int(ranks.max())), PAD, np.int32)
    lists[users, ranks - 1] = items
    return lists


def _check_once(where: str, keys: Longs, found: str) -> None:
    if len(np.unique(keys)) < len(keys):
        raise InputError(
            where,
            found=f"{found} in a user's list",
            expected="each rank and each item once a user",
            remedy="Write one list a user and retriever.",
        )


def _check_ranks(path: Path, ranks: Longs) -> None:
    odd = np.flatnonzero((ranks < 1) | (ranks > LONGEST))
    if len(odd):
        raise InputError(
            f"{path}, row {odd[0] + 1}, field rank",
            found=str(ranks[odd[0]]),
            expected=f"a rank from 1 to {LONGEST:,}",
            remedy="Count ranks from 1.",
        )
