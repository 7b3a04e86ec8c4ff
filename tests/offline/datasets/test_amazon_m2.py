"""Amazon-M2: sessions printed as NumPy arrays, products of several shops in one file."""

from pathlib import Path

import pytest

from tests.offline.datasets.raw_files import Ingested, write

HEADER = "id,locale,title,price,brand,color,size,model,material,author,desc"


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    folder = tmp_path / "raw"
    products = [
        HEADER,
        'B01,UK,"Lamp, small",12.99,Lumo,Black,S,M1,Wood,,"Warm light.\nDimmable ""LED"""',
        "B02,UK,Chair,40000000.07,,,,,,,",
        "B03,UK,Desk,80.0,Lumo,White,,,,,",
        "B01,DE,Lampe,13.99,Lumo,Schwarz,,,Holz,,",
        "B04,UK,,5.0,Lumo,,,,,,",
        "B05,DE,Nur hier,5.0,,,,,,,",
    ]
    write(folder / "products_train.csv", "\n".join(products).encode())
    sessions = [
        "prev_items,next_item,locale",
        "\"['B01' 'B02'\n 'B01']\",B03,UK",
        "['B05' 'B01'],B05,DE",
        "['B01' 'B04'],B02,UK",
        "\"['B03', 'B03']\",B03,UK",
    ]
    write(folder / "sessions_train.csv", "\n".join(sessions).encode())
    return folder


def test_session_is_its_items_and_then_the_next(raw: Path, tmp_path: Path) -> None:
    result = Ingested("amazon-m2-uk", raw, tmp_path / "out")
    assert result.sequences == {"uk-1": ["B01", "B02", "B01", "B03"], "uk-4": ["B03", "B03", "B03"]}
    assert [row["timestamp"] for row in result.rows[:4]] == [1, 2, 3, 4]


def test_untitled_and_foreign_products_leave(raw: Path, tmp_path: Path) -> None:
    assert sorted(Ingested("amazon-m2-uk", raw, tmp_path / "out").items) == ["B01", "B02", "B03"]


def test_products_are_the_british_ones(raw: Path, tmp_path: Path) -> None:
    items = Ingested("amazon-m2-uk", raw, tmp_path / "out").items
    assert items["B01"] == {
        "item_id": "B01",
        "title": "Lamp, small",
        "brand": "Lumo",
        "price": 12.99,
        "description": 'Color: Black; Material: Wood; Warm light. Dimmable "LED"',
    }
    assert items["B02"]["price"] is None
    assert items["B02"]["description"] is None


def test_session_without_next_item_is_counted(raw: Path, tmp_path: Path) -> None:
    with (raw / "sessions_train.csv").open("a") as file:
        file.write("\n\"['B01' 'B02' 'B03']\",,UK")
    result = Ingested("amazon-m2-uk", raw, tmp_path / "out")
    assert result.rejected("sessions_train.csv")["no item id"][0] == 1
    assert result.sequences["uk-5"] == ["B01", "B02", "B03"]
