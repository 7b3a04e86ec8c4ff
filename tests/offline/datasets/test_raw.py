"""Finding raw files, and saying what is missing."""

import gzip
import zipfile
from pathlib import Path

import pytest

from models.errors import InputError
from offline.datasets.ingest import ingest
from offline.datasets.registry import find
from tests.offline.datasets.raw_files import write, write_json


def test_missing_file_is_named_with_its_source_and_the_remedy(tmp_path: Path) -> None:
    write_json(tmp_path / "raw" / "reviews_Beauty_5.json.gz", [])
    with pytest.raises(InputError) as caught:
        ingest(find("beauty"), raw=tmp_path / "raw", out=tmp_path / "out")
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'raw'}: found no meta_Beauty.json.gz;")
    assert "--download" in message
    assert "https://snap.stanford.edu/data/amazon/productGraph/categoryFiles/meta_Beauty.json.gz" in message
    assert "reviews_Beauty_5" not in message


def test_all_missing_files_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"transactions_train\.csv, articles\.csv.*kaggle\.com.*by hand"):
        ingest(find("hm"), raw=tmp_path, out=tmp_path / "out")


def test_missing_member_names_its_archive(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"ratings\.dat \(in ml-1m\.zip\).*fetch \S*ml-1m\.zip and put"):
        ingest(find("movielens-1m"), raw=tmp_path, out=tmp_path / "out")


def test_either_form_of_2023_reviews_will_do_but_one_is_needed(tmp_path: Path) -> None:
    write_json(tmp_path / "raw" / "meta_Software.jsonl", [])
    with pytest.raises(InputError, match=r"no Software\.csv\.gz, Software\.jsonl\.gz;"):
        ingest(find("amazon-2023-software"), raw=tmp_path / "raw", out=tmp_path / "out")


def test_cut_off_gzip_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    whole = gzip.compress(b'{"reviewerID": "a"}\n' * 50_000)
    write_json(tmp_path / "raw" / "meta_Beauty.json.gz", [])
    (tmp_path / "raw" / "reviews_Beauty_5.json.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"reviews_Beauty_5\.json\.gz: found a file that cannot be read to its end"):
        ingest(find("beauty"), raw=tmp_path / "raw", out=tmp_path / "out")


def test_cut_off_gzip_of_literals_is_an_error_too(tmp_path: Path) -> None:
    whole = gzip.compress(b"{'id': '1', 'app_name': 'x'}\n" * 50_000)
    write(tmp_path / "raw" / "steam_games.json.gz", b"")
    (tmp_path / "raw" / "steam_reviews.json.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"steam_reviews\.json\.gz: found a file that cannot be read"):
        ingest(find("steam"), raw=tmp_path / "raw", out=tmp_path / "out")


def test_broken_archive_is_an_error_that_names_it(tmp_path: Path) -> None:
    write(tmp_path / "raw" / "ml-1m.zip", b"PK but no zip")
    with pytest.raises(InputError, match=r"ml-1m\.zip: found a broken archive"):
        ingest(find("movielens-1m"), raw=tmp_path / "raw", out=tmp_path / "out")


def test_member_paths_never_leave_the_scratch_folder(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "ml-1m.zip", "w") as members:
        members.writestr("../../ratings.dat", "1::1::5::1\n")
        members.writestr("/etc/movies.dat", "1::A::B\n")
    with pytest.raises(InputError, match="no sequence"):
        ingest(find("movielens-1m"), raw=tmp_path, out=tmp_path / "deep" / "out")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["deep", "ml-1m.zip"]


def test_csv_without_a_needed_column_is_an_error(tmp_path: Path) -> None:
    write(tmp_path / "raw" / "transactions_train.csv", b"t_dat,customer_id\n2018-09-20,c1\n")
    write(tmp_path / "raw" / "articles.csv", b"article_id\n1\n")
    with pytest.raises(InputError, match=r"transactions_train\.csv, line 1: found the columns.*also article_id"):
        ingest(find("hm"), raw=tmp_path / "raw", out=tmp_path / "out")
