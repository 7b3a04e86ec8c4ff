"""MIND-small: histories without times, then clicks of the dev part."""

from pathlib import Path

import pytest

from tests.offline.datasets.raw_files import Ingested, write

NEWS = [f"N{number}" for number in range(1, 9)]


def news(ids: list[str], title: str = "Title of") -> bytes:
    lines = [
        f'{i}\tlifestyle\tlifestyleroyals\t"{title} {i}\tAbstract\thttps://m/{i}.html\t[{{"L": 1}}]\t[]' for i in ids
    ]
    return "\n".join([*lines, "N99\tnews\t\t\tNo title\thttps://m/99\t[]\t[]", ""]).encode()


def behaviours(rows: list[tuple[str, str, str, str]]) -> bytes:
    return "".join(f"{number}\t" + "\t".join(row) + "\n" for number, row in enumerate(rows, start=1)).encode()


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    folder = tmp_path / "raw"
    write(folder / "MINDsmall_train" / "news.tsv", news(NEWS[:5]))
    write(folder / "MINDsmall_dev" / "news.tsv", news(NEWS[3:], "Later title of"))
    return folder


def ingested(raw: Path, out: Path, rows: list[tuple[str, str, str, str]]) -> Ingested:
    write(raw / "MINDsmall_dev" / "behaviors.tsv", behaviours(rows))
    return Ingested("mind", raw, out)


def test_history_of_the_latest_impression_comes_before_all_clicks(raw: Path, tmp_path: Path) -> None:
    result = ingested(
        raw,
        tmp_path / "out",
        [
            ("U1", "11/15/2019 9:05:00 PM", "N1 N2 N3", "N7-1 N8-0"),
            ("U1", "11/15/2019 8:55:22 AM", "N1 N2", "N5-0 N6-1 N4-1"),
        ],
    )
    assert result.sequences == {"U1": ["N1", "N2", "N3", "N6", "N4", "N7"]}
    assert [row["timestamp"] for row in result.rows] == [1_573_808_122] * 5 + [1_573_851_900]
    assert {row["event"] for row in result.rows} == {"click"}


def test_article_counts_the_first_time_only(raw: Path, tmp_path: Path) -> None:
    row = ("U1", "11/15/2019 8:55:22 AM", "N1 N2 N1 N3", "N2-1 N4-1 N4-1")
    assert ingested(raw, tmp_path / "out", [row]).sequences == {"U1": ["N1", "N2", "N3", "N4"]}


def test_user_without_history_is_made_of_clicks(raw: Path, tmp_path: Path) -> None:
    row = ("U2", "11/15/2019 8:55:22 AM", "", "N2-1 N4-1 N5-1 N1-0")
    assert ingested(raw, tmp_path / "out", [row]).sequences == {"U2": ["N2", "N4", "N5"]}


def test_articles_without_title_and_short_sequences_leave(raw: Path, tmp_path: Path) -> None:
    rows = [("U1", "11/15/2019 8:55:22 AM", "N1 N2 N3", "N99-1"), ("U2", "11/15/2019 8:55:22 AM", "N1 N99", "N2-1")]
    assert ingested(raw, tmp_path / "out", rows).sequences == {"U1": ["N1", "N2", "N3"]}


def test_titles_keep_their_quotation_marks_and_the_training_part_wins(raw: Path, tmp_path: Path) -> None:
    row = ("U1", "11/15/2019 8:55:22 AM", "N4 N7", "N8-1")
    items = ingested(raw, tmp_path / "out", [row]).items
    assert items["N4"]["title"] == '"Title of N4'
    assert items["N7"]["title"] == '"Later title of N7'
    assert items["N4"]["categories"] == [["lifestyle", "lifestyleroyals"]]


def test_impressions_with_unreadable_time_are_counted(raw: Path, tmp_path: Path) -> None:
    rows = [("U1", "15.11.2019", "N1 N2 N3", "N4-1"), ("U1", "11/15/2019 8:55:22 AM", "N1 N2 N3", "N5-1")]
    result = ingested(raw, tmp_path / "out", rows)
    assert result.rejected("behaviors.tsv") == {"no readable timestamp": (1, [1])}
    assert result.sequences == {"U1": ["N1", "N2", "N3", "N5"]}
