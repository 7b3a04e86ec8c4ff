"""Delicious and Last.fm of HetRec 2011: tab-separated tagging events, names in two encodings."""

import io
import zipfile
from pathlib import Path

import pytest

from tests.offline.datasets.raw_files import Ingested, grid, write

TIME = 1_238_536_800_000
USERS = [str(number) for number in range(2, 7)]
ITEMS = [str(number) for number in (51, 52, 9, 10, 89)]


def taggings(rows: list[tuple[str, str, str, int]], item: str) -> bytes:
    lines = [f"userID\t{item}\ttagID\ttimestamp"]
    lines += [f"{user}\t{thing}\t{tag}\t{TIME + day * 86_400_000}" for user, thing, tag, day in rows]
    return ("\r\n".join(lines) + "\r\n").encode()


def tagged(tag: str = "13") -> list[tuple[str, str, str, int]]:
    return [(user, item, tag, day) for user, item, day in grid(USERS, ITEMS)]


def lastfm(folder: Path, rows: list[tuple[str, str, str, int]]) -> Path:
    write(folder / "user_taggedartists-timestamps.dat", taggings(rows, "artistID"))
    artists = (
        "id\tname\turl\tpictureURL\r\n51\tDuran Duran\thttp://l/51\thttp://p/51\r\n52\tSigur Rós\thttp://l/52\t\r\n"
    )
    write(folder / "artists.dat", artists.encode() + "9\tMotörhead\turl\tpic\r\n".encode("latin-1"))
    tags = "tagID\ttagValue\r\n13\tchillout\r\n14\tfran\xe7ais\r\n15\t?????\r\n16\t"
    tags += "seen live in 1999 by everyone I know, twice\r\n"
    write(folder / "tags.dat", (tags + "17\tmine only\r\n").encode("latin-1"))
    return folder


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    return lastfm(tmp_path / "raw", tagged())


def test_pair_counts_once_at_its_earliest_tagging(raw: Path, tmp_path: Path) -> None:
    lastfm(raw, [(USERS[0], "89", "14", -1), *tagged(), (USERS[0], "51", "14", 9)])
    result = Ingested("lastfm", raw, tmp_path / "out")
    assert result.sequences[USERS[0]] == ["89", *ITEMS[:4]]
    assert result.rows[0]["timestamp"] == TIME // 1000 - 86_400


def test_times_before_1970_are_kept(raw: Path, tmp_path: Path) -> None:
    lastfm(raw, [(USERS[0], "89", "14", -20_000), *tagged()])
    assert Ingested("lastfm", raw, tmp_path / "out").rows[0]["timestamp"] == TIME // 1000 - 20_000 * 86_400


def test_names_in_either_encoding_are_read_and_counted(raw: Path, tmp_path: Path) -> None:
    result = Ingested("lastfm", raw, tmp_path / "out")
    assert [result.items[item]["title"] for item in ITEMS] == ["Duran Duran", "Sigur Rós", "Motörhead", None, None]
    assert result.rejected("artists.dat") == {"not UTF-8 (read as Latin-1)": (1, [4])}
    assert result.rejected("tags.dat") == {"not UTF-8 (read as Latin-1)": (1, [3])}


def test_categories_are_the_tags_of_five_people_most_applied_first(raw: Path, tmp_path: Path) -> None:
    often = [(user, "51", "14", day) for user in USERS for day in (1, 2)]
    noise = [(user, "51", tag, 1) for user in USERS for tag in ("15", "16")]
    lastfm(raw, [*tagged(), *often, *noise, (USERS[0], "51", "17", 1)])
    items = Ingested("lastfm", raw, tmp_path / "out").items
    assert items["51"]["categories"] == [["français"], ["chillout"]]
    assert items["52"]["categories"] == [["chillout"]]


def test_lastfm_core_is_repeated_until_it_holds(raw: Path, tmp_path: Path) -> None:
    more = [("99", item, "13", day) for day, item in enumerate([*ITEMS[:4], "rare"])]
    rare = [(user, "rare", "13", 3) for user in USERS[:3]]
    result = Ingested("lastfm", lastfm(raw, [*tagged(), *more, *rare]), tmp_path / "out")
    assert sorted(result.sequences) == USERS
    assert sorted(result.items) == sorted(ITEMS)


def test_lastfm_keeps_the_newest_hundred_and_the_whole_catalogue(raw: Path, tmp_path: Path) -> None:
    many = [f"a{number:03}" for number in range(105)]
    rows = [(user, item, "13", day) for user, item, day in grid(USERS, many)]
    result = Ingested("lastfm", lastfm(raw, rows), tmp_path / "out")
    assert result.sequences[USERS[0]] == many[5:]
    assert len(result.items) == 105


def test_malformed_tagging_is_counted_with_its_line(raw: Path, tmp_path: Path) -> None:
    good = taggings(tagged(), "artistID")
    lines = good.split(b"\r\n")
    lines[2:2] = [b"2\t51", b"2\t51\t13\tyesterday"]
    write(raw / "user_taggedartists-timestamps.dat", b"\r\n".join(lines))
    rejected = Ingested("lastfm", raw, tmp_path / "out").rejected("user_taggedartists-timestamps.dat")
    assert rejected == {"unparsable": (1, [3]), "no readable timestamp": (1, [4])}


def delicious(rows: list[tuple[str, str, str, int]]) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as members:
        members.writestr("user_taggedbookmarks-timestamps.dat", taggings(rows, "bookmarkID"))
        header = "id\tmd5\ttitle\turl\tmd5Principal\turlPrincipal\r\n"
        members.writestr("bookmarks.dat", header + '51\tab12\tIFLA - The "official" site\thttp://i/\tff\thttp://i\r\n')
        members.writestr("tags.dat", "id\tvalue\r\n13\tcollection_development\r\n")
    return archive.getvalue()


def test_delicious_is_read_out_of_its_archive(tmp_path: Path) -> None:
    write(tmp_path / "raw" / "hetrec2011-delicious-2k.zip", delicious(tagged()))
    result = Ingested("delicious", tmp_path / "raw", tmp_path / "out")
    assert result.sequences == dict.fromkeys(USERS, ITEMS)
    assert result.items["51"]["title"] == 'IFLA - The "official" site'
    assert result.items["51"]["categories"] == [["collection_development"]]
    assert [path.name for path in (tmp_path / "raw").iterdir()] == ["hetrec2011-delicious-2k.zip"]


def test_delicious_core_is_taken_once(tmp_path: Path) -> None:
    """User 99 leaves for want of a fifth item; `rare`, which then has four users, stays."""
    more = [("99", item, "13", day) for day, item in enumerate([*ITEMS[:3], "rare"])]
    rare = [(user, "rare", "13", 7) for user in USERS[:4]]
    write(tmp_path / "raw" / "hetrec2011-delicious-2k.zip", delicious([*tagged(), *more, *rare]))
    result = Ingested("delicious", tmp_path / "raw", tmp_path / "out")
    assert sorted(result.sequences) == USERS
    assert "rare" in result.items
