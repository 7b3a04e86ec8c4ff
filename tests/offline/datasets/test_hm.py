"""H&M: purchases by day, ids with leading zeros, quoted descriptions."""

from pathlib import Path

import pytest

from tests.offline.datasets.raw_files import Ingested, write

ARTICLES = ["0108775015", "0108775044", "0110065001"]
NAMES = "product_type_name,product_group_name,colour_group_name,department_name"
HEADER = f"article_id,product_code,prod_name,{NAMES},detail_desc"


def transactions(rows: list[tuple[str, str, str]]) -> bytes:
    lines = [f"{day},{customer},{article},0.0508,2" for day, customer, article in rows]
    return "\n".join(["t_dat,customer_id,article_id,price,sales_channel_id", *lines, ""]).encode()


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    folder = tmp_path / "raw"
    lines = [
        HEADER,
        "0108775015,0108775,Strap top,Vest top,Garment Upper body,Black,Jersey Basic,"
        '"Jersey top, with ""narrow"" straps.\nSoft."',
        "0108775044,0108775,Strap top,Vest top,Garment Upper body,,Jersey Basic,",
        "0110065001,0110065,OP T-shirt,Bra,Underwear,White,Clean Lingerie,Microfibre",
    ]
    write(folder / "articles.csv", "\n".join(lines).encode())
    rows = [("2018-09-21", "c1", ARTICLES[2]), ("2018-09-20", "c1", ARTICLES[1]), ("2018-09-20", "c1", ARTICLES[0])]
    write(folder / "transactions_train.csv", transactions(rows))
    return folder


def test_days_order_and_the_file_breaks_ties(raw: Path, tmp_path: Path) -> None:
    result = Ingested("hm", raw, tmp_path / "out")
    assert result.sequences == {"c1": [ARTICLES[1], ARTICLES[0], ARTICLES[2]]}
    assert result.rows[0] == {"user_id": "c1", "item_id": ARTICLES[1], "timestamp": 1_537_401_600, "event": "purchase"}


def test_articles_have_paths_and_descriptions(raw: Path, tmp_path: Path) -> None:
    items = Ingested("hm", raw, tmp_path / "out").items
    assert items[ARTICLES[0]] == {
        "item_id": ARTICLES[0],
        "title": "Strap top",
        "categories": [["Garment Upper body", "Vest top"], ["Black"], ["Jersey Basic"]],
        "description": 'Jersey top, with "narrow" straps. Soft.',
    }
    assert items[ARTICLES[1]]["categories"] == [["Garment Upper body", "Vest top"], ["Jersey Basic"]]
    assert items[ARTICLES[1]]["description"] is None


def test_immediate_repeats_collapse_and_unknown_articles_leave_first(raw: Path, tmp_path: Path) -> None:
    bought = [ARTICLES[0], ARTICLES[0], "0999999999", ARTICLES[0], ARTICLES[1], ARTICLES[0]]
    write(raw / "transactions_train.csv", transactions([("2018-09-20", "c2", article) for article in bought]))
    assert Ingested("hm", raw, tmp_path / "out").sequences == {"c2": [ARTICLES[0], ARTICLES[1], ARTICLES[0]]}


def test_sequences_below_three_leave(raw: Path, tmp_path: Path) -> None:
    rows = [("2018-09-20", "c2", article) for article in ARTICLES[:2]] + [("2018-09-20", "c1", a) for a in ARTICLES]
    write(raw / "transactions_train.csv", transactions(rows))
    assert list(Ingested("hm", raw, tmp_path / "out").sequences) == ["c1"]
