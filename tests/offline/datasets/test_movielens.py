"""MovieLens-1M: `::` between fields, Latin-1 titles, a catalogue fixed before sequences are cut."""

from pathlib import Path

import pytest

from tests.offline.datasets.raw_files import Ingested, grid, write

USERS = [str(number) for number in range(1, 6)]
FILMS = [str(number) for number in range(1190, 1195)]


def ratings(rows: list[tuple[str, str, int]]) -> bytes:
    return "".join(f"{user}::{film}::5::{978_300_760 + time}\n" for user, film, time in rows).encode()


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    folder = tmp_path / "raw"
    write(folder / "ml-1m" / "ratings.dat", ratings(grid(USERS, FILMS)))
    films = "1190::Misérables, Les (1995)::Drama|Musical\n1191::No Genre (1999)::\n1192::M::Crime|Film-Noir|\n"
    write(folder / "ml-1m" / "movies.dat", films.encode("latin-1"))
    return folder


def test_every_rating_counts_and_films_have_genres(raw: Path, tmp_path: Path) -> None:
    result = Ingested("movielens-1m", raw, tmp_path / "out")
    assert result.sequences == dict.fromkeys(USERS, FILMS)
    assert result.items["1190"] == {
        "item_id": "1190",
        "title": "Misérables, Les (1995)",
        "categories": [["Drama"], ["Musical"]],
    }
    assert result.items["1192"]["categories"] == [["Crime"], ["Film-Noir"]]


def test_films_below_five_ratings_leave(raw: Path, tmp_path: Path) -> None:
    rows = [*grid(USERS, FILMS), *((user, "77", 9) for user in USERS[:4])]
    write(raw / "ml-1m" / "ratings.dat", ratings(rows))
    assert "77" not in Ingested("movielens-1m", raw, tmp_path / "out").items


def test_catalogue_holds_films_that_cut_sequences_lost(raw: Path, tmp_path: Path) -> None:
    many = [str(number) for number in range(102)]
    write(raw / "ml-1m" / "ratings.dat", ratings(grid(USERS, many)))
    result = Ingested("movielens-1m", raw, tmp_path / "out")
    assert result.sequences["1"] == many[2:]
    assert len(result.items) == 102
    assert next(figure.found for figure in result.report.figures if figure.figure == "items") == 102


def test_equal_seconds_keep_the_order_of_the_file(raw: Path, tmp_path: Path) -> None:
    write(raw / "ml-1m" / "ratings.dat", ratings([(user, film, 0) for user in USERS for film in FILMS[::-1]]))
    assert Ingested("movielens-1m", raw, tmp_path / "out").sequences["1"] == FILMS[::-1]


def test_odd_rows_are_counted_with_their_lines(raw: Path, tmp_path: Path) -> None:
    odd = b"1::1190\n\n1::1190::5::978300760::7\n1::1190::5::never\n1::1190::11::978300000\n"
    write(raw / "ml-1m" / "ratings.dat", odd + ratings(grid(USERS, FILMS)))
    result = Ingested("movielens-1m", raw, tmp_path / "out")
    rejected = result.rejected("ratings.dat")
    assert rejected["unparsable"] == (2, [1, 3])
    assert rejected["no readable timestamp"] == (1, [4])
    assert rejected["rating outside the scale (row kept without it)"] == (1, [5])
    assert result.rows[0]["rating"] is None
