import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from models.errors import InputError
from offline.config import BuildConfig
from offline.ingest.catalogue import Catalogue, read_catalogue
from offline.ingest.engine import Engine
from tests.offline.ingest.conftest import write

SCALE = BuildConfig.model_validate({"ratings": {"low": 1, "high": 5}})


def jsonl(path: Path, *items: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    return path


def by_id(catalogue: Catalogue) -> dict[str, dict[str, Any]]:
    return {row["item_id"]: row for row in catalogue.table.to_pylist()}


def counted(catalogue: Catalogue) -> dict[str, tuple[int, str]]:
    return {finding.what: (finding.rows, finding.first) for finding in catalogue.report.findings}


def test_missing_fields_are_normal(tmp_path: Path, engine: Engine) -> None:
    catalogue = read_catalogue(
        engine, jsonl(tmp_path / "i.jsonl", {"item_id": "a"}, {"item_id": "b", "title": ""}), SCALE
    )

    assert by_id(catalogue)["b"] == {
        "item_id": "b", "title": None, "brand": None, "price": None, "categories": None, "available": True,
        "rating_avg": None, "rating_count": None,
    }  # fmt: skip
    assert catalogue.report.findings == ()


def test_items_are_in_the_order_of_their_bytes(tmp_path: Path, engine: Engine) -> None:
    ids = ["b", "a", "é", "Z", "😀", "\uffff", "a\x00", "10", "9"]
    catalogue = read_catalogue(engine, jsonl(tmp_path / "i.jsonl", *({"item_id": one} for one in ids)), SCALE)

    assert catalogue.table["item_id"].to_pylist() == sorted(ids, key=str.encode)


CATEGORIES = {
    "list of paths": ([["Toys", "Games"], ["Sale"]], [["Toys", "Games"], ["Sale"]]),
    "one string": ("Toys > Games>Board", [["Toys", "Games", "Board"]]),
    "list of strings": (["Toys > Games", "Sale"], [["Toys", "Games"], ["Sale"]]),
    "empty levels": ([["Toys", "", " Games "], []], [["Toys", "Games"]]),
    "only separators": (" > > ", []),
    "bracket that is no list": ("[Sale] > Toys", [["[Sale]", "Toys"]]),
    "quotes": ([['12" Records', "A > B"]], [['12" Records', "A > B"]]),
    "number": ([[2024, "x"]], [["2024", "x"]]),
}


@pytest.mark.parametrize("case", CATEGORIES)
def test_categories_are_lists_of_paths_or_one_string(tmp_path: Path, engine: Engine, case: str) -> None:
    given, expected = CATEGORIES[case]
    text = given if isinstance(given, str) else json.dumps(given)
    paths = [
        jsonl(tmp_path / "i.jsonl", {"item_id": "a", "categories": given}),
        write(tmp_path / "i.csv", [{"item_id": "a", "categories": text}], ("item_id", "categories")),
    ]

    for path in paths:
        assert (read_catalogue(engine, path, SCALE).table["categories"].to_pylist()[0] or []) == expected


def test_parquet_lists_are_read(tmp_path: Path, engine: Engine) -> None:
    columns = {"item_id": ["a"], "categories": [[["Toys", "Games"]]], "also_bought": [["b", "7"]], "price": [1.5]}
    pq.write_table(pa.table(columns), tmp_path / "i.parquet")

    row = by_id(read_catalogue(engine, tmp_path / "i.parquet", SCALE))["a"]

    assert (row["categories"], row["also_bought"], row["price"]) == ([["Toys", "Games"]], ["b", "7"], 1.5)


def test_prices_that_are_no_prices_are_left_out_and_counted(tmp_path: Path, engine: Engine) -> None:
    prices = ["12.5", "", "-1", "nan", "inf", "$5", "0"]
    rows = [{"item_id": str(n), "price": price} for n, price in enumerate(prices)]
    catalogue = read_catalogue(engine, write(tmp_path / "i.csv", rows, ("item_id", "price")), SCALE)

    assert catalogue.table["price"].to_pylist() == [12.5, None, None, None, None, None, 0.0]
    assert counted(catalogue) == {
        "price that is not a number": (3, "i.csv row 4"),
        "negative price": (1, "i.csv row 3"),
    }


RATINGS = {
    "good": ("4.5", "10", (4.5, 10), None),
    "count as a float": ("4.5", "10.0", (4.5, 10), None),
    "nobody rated": ("", "0", (None, 0), None),
    "average of nobody": ("0", "0", (None, 0), None),
    "negative count": ("4.5", "-3", (None, None), "negative rating_count"),
    "part of a rater": ("4.5", "2.5", (None, None), "rating_count that is not a whole number"),
    "NaN count": ("4.5", "nan", (None, None), "rating_count that is not a whole number"),
    "NaN average": ("nan", "3", (None, None), "rating_avg that is not a number"),
    "above the scale": ("5.5", "3", (None, None), "rating_avg outside the stated scale"),
    "below the scale": ("0.5", "3", (None, None), "rating_avg outside the stated scale"),
    "no count": ("4.5", "", (None, None), "rating_avg without rating_count"),
    "no average": ("", "3", (None, None), "rating_count without rating_avg"),
}


@pytest.mark.parametrize("case", RATINGS)
def test_odd_ratings_are_left_out_and_counted(tmp_path: Path, engine: Engine, case: str) -> None:
    average, raters, expected, what = RATINGS[case]
    rows = [{"item_id": "a", "rating_avg": average, "rating_count": raters}]
    catalogue = read_catalogue(engine, write(tmp_path / "i.csv", rows, tuple(rows[0])), SCALE)

    row = by_id(catalogue)["a"]
    assert (row["rating_avg"], row["rating_count"]) == expected
    assert counted(catalogue) == ({} if what is None else {what: (1, "i.csv row 1")})


def test_stock_is_read_in_many_spellings(tmp_path: Path, engine: Engine) -> None:
    spellings = ["true", "False", "0", "1", "", "NO", "perhaps"]
    rows = [{"item_id": str(n), "available": text} for n, text in enumerate(spellings)]
    catalogue = read_catalogue(engine, write(tmp_path / "i.csv", rows, ("item_id", "available")), SCALE)

    assert catalogue.table["available"].to_pylist() == [True, False, False, True, True, False, True]
    assert counted(catalogue) == {"available that is neither true nor false": (1, "i.csv row 7")}


def test_of_repeated_ids_the_first_row_stays(tmp_path: Path, engine: Engine) -> None:
    items = [{"item_id": "a", "title": "first"}, {"item_id": "b"}, {"item_id": "a", "title": "second"}, {"item_id": ""}]
    catalogue = read_catalogue(engine, jsonl(tmp_path / "i.jsonl", *items), SCALE)

    assert by_id(catalogue)["a"]["title"] == "first"
    assert counted(catalogue) == {"repeated item_id": (1, "i.jsonl row 3"), "empty item_id": (1, "i.jsonl row 4")}
    assert (catalogue.report.read, catalogue.report.kept) == (4, 2)


def test_titles_keep_odd_characters(tmp_path: Path, engine: Engine) -> None:
    title = ' "Ünï\x00çødé"\n\t\u2028' + "x" * 100_000
    catalogue = read_catalogue(engine, jsonl(tmp_path / "i.jsonl", {"item_id": "a", "title": title}), SCALE)

    assert catalogue.table["title"].to_pylist() == [title]


def test_an_empty_catalogue_is_refused(tmp_path: Path, engine: Engine) -> None:
    with pytest.raises(InputError, match="0 rows of which none can be used"):
        read_catalogue(engine, write(tmp_path / "i.csv", [], ("item_id",)), SCALE)
