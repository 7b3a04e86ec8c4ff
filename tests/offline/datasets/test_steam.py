"""Steam: Python 2 literals, SASRec's core, prices in words."""

from pathlib import Path

import pytest

from tests.offline.datasets.raw_files import Ingested, grid, write_literals

USERS = [f"gamer {number}" for number in range(5)]
GAMES = [str(10 + number) for number in range(5)]


def review(user: str, game: str, day: int = 1) -> str:
    return (
        f"{{u'username': u'{user}', u'hours': 0.1, u'products': 41, u'product_id': u'{game}', u'page_order': 0, "
        f"u'date': u'2017-12-{1 + day:02}', u'text': u'This would not be \"acceptable\"\\n\\u2620', "
        f"u'early_access': False, u'page': 1}}"
    )


def game(number: str, rest: str = "u'genres': [u'Action', u'Indie'], u'tags': [u'Action', u'RPG']") -> str:
    return f"{{u'publisher': u'P', u'app_name': u'Game {number}', u'id': u'{number}', u'developer': u'Dev', {rest}}}"


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    folder = tmp_path / "raw"
    write_literals(folder / "steam_reviews.json.gz", [review(*row) for row in grid(USERS, GAMES)])
    games = [
        game("10", "u'price': 4.99, u'genres': [u'Action', u'Indie'], u'tags': [u'RPG'], u'specs': [u'Co-op']"),
        game("11", "u'price': u'Free To Play'"),
        game("12", "u'price': u'Third-party'"),
        game("13"),
        "{u'title': u'Old name', u'id': u'14', u'price': 0.0}",
        "{u'app_name': u'nameless id'}",
    ]
    write_literals(folder / "steam_games.json.gz", games)
    return folder


def test_literals_become_sequences(raw: Path, tmp_path: Path) -> None:
    result = Ingested("steam", raw, tmp_path / "out")
    assert result.sequences == dict.fromkeys(USERS, GAMES)
    assert result.rows[0]["timestamp"] == 1_512_086_400
    assert result.rejected("steam_games.json.gz") == {"no item id": (1, [6])}


def test_games_keep_developer_labels_and_prices(raw: Path, tmp_path: Path) -> None:
    items = Ingested("steam", raw, tmp_path / "out").items
    assert items["10"] == {
        "item_id": "10",
        "title": "Game 10",
        "brand": "Dev",
        "price": 4.99,
        "categories": [["Action"], ["Indie"], ["RPG"], ["Co-op"]],
    }
    assert [items[number]["price"] for number in GAMES] == [4.99, 0.0, None, None, 0.0]
    assert items["14"]["title"] == "Old name"
    assert items["11"]["categories"] is None


def test_core_counts_users_and_games_at_the_same_moment(raw: Path, tmp_path: Path) -> None:
    """`14` loses its fifth review when `brief` leaves, and the others keep theirs of it: nothing is counted again."""
    rows = [review(*row) for row in grid(USERS, GAMES)]
    fewer = [row for row in rows if not ("gamer 4" in row and "u'14'" in row)]
    extra = [review("gamer 4", "10", 9), review("brief", "14"), *(review("brief", number) for number in GAMES[:3])]
    write_literals(raw / "steam_reviews.json.gz", [*fewer, *extra])
    result = Ingested("steam", raw, tmp_path / "out")
    assert result.sequences["gamer 0"] == GAMES
    assert result.sequences["gamer 4"] == [*GAMES[:4], "10"]
    assert "brief" not in result.sequences


def test_immediate_repeats_and_duplicates_stay(raw: Path, tmp_path: Path) -> None:
    rows = [review(*row) for row in grid(USERS, GAMES)]
    write_literals(raw / "steam_reviews.json.gz", [*rows, review(USERS[0], "14", 4), review(USERS[0], "14", 4)])
    assert Ingested("steam", raw, tmp_path / "out").sequences[USERS[0]] == [*GAMES, "14", "14"]


def test_reviews_of_unknown_games_do_not_count_towards_the_core(raw: Path, tmp_path: Path) -> None:
    rows = [review(*row) for row in grid(USERS, GAMES)]
    odd = [review("drifter", number) for number in [*GAMES[:4], "404"]]
    write_literals(raw / "steam_reviews.json.gz", [*rows, *odd])
    assert "drifter" not in Ingested("steam", raw, tmp_path / "out").sequences


def test_torn_lines_are_counted(raw: Path, tmp_path: Path) -> None:
    rows = [review(*row) for row in grid(USERS, GAMES)]
    write_literals(raw / "steam_reviews.json.gz", ["{u'username': u'x', ", "", *rows, "{u'username': u'y'"])
    result = Ingested("steam", raw, tmp_path / "out")
    assert result.rejected("steam_reviews.json.gz") == {"unparsable": (2, [1, 28])}
