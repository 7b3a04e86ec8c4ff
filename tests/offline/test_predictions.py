"""Lists of another system, measured beside a bundle's retrievers."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from models.bundle.reader import Bundle
from models.errors import InputError
from models.words import RetrieverName
from offline.build import Request, build
from offline.evaluate import Settings, TargetUsers, evaluate, read_target_users
from offline.predictions import add_predictions, read_predictions
from offline.progress import Reporter
from offline.results import write_predictions
from offline.split import Part
from tests.offline.shop import config, inputs

QUIET = Reporter(quiet=True)
HEADER = "user_id,retriever,rank,item_id\n"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bundle, TargetUsers]:
    """Test users ann, bob, cid, whose targets are butter, tea and jam."""
    folder = tmp_path_factory.mktemp("split")
    files = inputs(folder)
    build(Request(folder / "b", config(split="leave-last-out", text={"encoder": "none"}), files), QUIET)
    bundle = Bundle.open(folder / "b")
    return bundle, read_target_users(bundle, files.interactions, Part.TEST, QUIET)


def written(folder: Path, *rows: str) -> Path:
    path = folder / "other.csv"
    path.write_text(HEADER + "".join(f"{row}\n" for row in rows))
    return path


def read(shop: tuple[Bundle, TargetUsers], path: Path):
    return read_predictions(path, shop[1].user_ids(), shop[0].ids)


def test_what_evaluate_writes_measures_the_same_when_read_back(shop, tmp_path):
    bundle, test = shop
    found = evaluate(bundle, test, [RetrieverName.POPULAR, RetrieverName.TGH_1], [1, 5], Settings(), QUIET)
    write_predictions(tmp_path / "lists.parquet", bundle, test, found)
    table = pq.read_table(tmp_path / "lists.parquet")
    renamed = [f"their {name}" for name in table["retriever"].to_pylist()]
    table = table.set_column(table.column_names.index("retriever"), "retriever", [renamed])
    pq.write_table(table, tmp_path / "theirs.parquet")

    add_predictions(found, read(shop, tmp_path / "theirs.parquet"), test.targets, [1, 5])

    for name in ("popular", "tgh-1"):
        assert found.measures[f"their {name}"] == pytest.approx(found.measures[name])
        np.testing.assert_array_equal(found.items[f"their {name}"][10], found.items[name][10])
        assert found.seconds[f"their {name}"] is None


def test_unknown_rows_are_counted_and_leave_their_place_empty(shop, tmp_path):
    path = written(tmp_path, "ann,sasrec,1,gone", "ann,sasrec,2,butter", "eve,sasrec,1,tea")

    found = read(shop, path)

    assert shop[0].ids.strings(found.lists["sasrec"][0][1:]) == ["butter"]
    assert found.lists["sasrec"][:, 0].tolist() == [-1, -1, -1]
    assert "2 rows of other.csv name a user or an item that is not here." in found.notes


def test_a_rank_counts_as_written(shop, tmp_path):
    bundle, test = shop
    evaluation = evaluate(bundle, test, [RetrieverName.POPULAR], [1, 2], Settings(), QUIET)
    path = written(tmp_path, "ann,sasrec,2,butter", "bob,sasrec,1,tea", "cid,sasrec,1,tea")

    notes = add_predictions(evaluation, read(shop, path), test.targets, [1, 2])

    assert evaluation.measures["sasrec"]["recall@1"] == pytest.approx(1 / 3)
    assert evaluation.measures["sasrec"]["recall@2"] == pytest.approx(2 / 3)
    assert "Lists of sasrec end at rank 2." in notes


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (("ann,x,0,tea",), "row 1, field rank: found 0"),
        (("ann,x,1,tea", "ann,x,1,jam"), "two items at one rank"),
        (("ann,x,1,tea", "ann,x,2,tea"), "one item at two ranks"),
    ],
)
def test_lists_that_cannot_be_are_refused(shop, tmp_path, rows, said):
    with pytest.raises(InputError, match=said):
        read(shop, written(tmp_path, *rows))


def test_a_file_without_the_columns_is_refused(shop, tmp_path):
    (tmp_path / "other.csv").write_text("user,item\nann,tea\n")
    with pytest.raises(InputError, match="the columns user_id, retriever, rank, item_id"):
        read(shop, tmp_path / "other.csv")


def test_a_name_that_is_evaluated_already_is_refused(shop, tmp_path):
    bundle, test = shop
    evaluation = evaluate(bundle, test, [RetrieverName.POPULAR], [1], Settings(), QUIET)
    with pytest.raises(InputError, match="Rename it"):
        add_predictions(evaluation, read(shop, written(tmp_path, "ann,popular,1,tea")), test.targets, [1])
