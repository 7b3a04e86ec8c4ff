"""`shortlist ingest` from the command line, and what it writes as the input of `shortlist build`."""

import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from models.bundle.reader import Bundle
from models.cli import main
from models.words import Split
from tests.offline.datasets.raw_files import grid, write

DATA = Path(__file__).parents[4] / "shared" / "data" / "amazon-beauty-2014"

Shell = Callable[..., list[str]]


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    def run(*arguments: object) -> list[str]:
        monkeypatch.setattr(sys, "argv", ["shortlist", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert not ended.value.code, err
        return out.splitlines()

    return run


def build(shell: Shell, folder: Path, bundles: Path) -> Bundle:
    files = ("--interactions", folder / "interactions.parquet", "--items", folder / "items.parquet")
    version = shell("build", *files, "--bundles", bundles, "--config", folder / "build.toml")[-1]
    bundle = Bundle.open(bundles)
    assert bundle.version == version
    return bundle


def test_ingest_is_a_command_whose_result_builds(shell: Shell, tmp_path: Path) -> None:
    rows = grid([str(user) for user in range(6)], [str(film) for film in range(1, 7)])
    ratings = "".join(f"{user}::{film}::4::{time}\n" for user, film, time in rows)
    write(tmp_path / "raw" / "ratings.dat", ratings.encode())
    write(tmp_path / "raw" / "movies.dat", "".join(f"{n}::Film {n} (1999)::Drama\n" for n in range(1, 7)).encode())

    said = shell("ingest", "movielens-1m", "--raw", tmp_path / "raw", "--out", tmp_path / "ml")
    bundle = build(shell, tmp_path / "ml", tmp_path / "b")

    assert said[-1] == f"written to {tmp_path / 'ml'}"
    assert bundle.manifest.split.kind is Split.LEAVE_LAST_OUT
    assert (bundle.n_items, bundle.manifest.statistics["interactions"]) == (6, 36)
    assert bundle.manifest.config["text"]["template"] == json.loads(_template(tmp_path / "ml" / "build.toml"))


def _template(path: Path) -> str:
    return next(line.partition(" = ")[2] for line in path.read_text().splitlines() if line.startswith("template"))


@pytest.mark.real_data
@pytest.mark.skipif(not DATA.is_dir(), reason="the public data sets are not at ../shared/data")
def test_real_users_pass_from_raw_reviews_to_a_bundle(shell: Shell, tmp_path: Path) -> None:
    """Reviews of Beauty's first users, written in SNAP's raw form: what the filters keep is what the bundle holds."""
    (tmp_path / "raw").mkdir()
    with gzip.open(DATA / "interactions.csv.gz", "rt") as source:
        header = next(source).strip().split(",")
        rows = [dict(zip(header, line.strip().split(","), strict=True)) for line in source]
    users = dict.fromkeys(row["user_id"] for row in rows[:60_000])
    reviews = [
        {"reviewerID": row["user_id"], "asin": row["item_id"], "unixReviewTime": int(row["timestamp"]), "overall": 5.0}
        for row in rows
        if row["user_id"] in users
    ]
    reviewed = {review["asin"] for review in reviews}
    text = "".join(json.dumps(review) + "\n" for review in reviews)
    (tmp_path / "raw" / "reviews_Beauty_5.json.gz").write_bytes(gzip.compress(text.encode(), 1))
    with gzip.open(DATA / "items.jsonl.gz", "rt") as source:
        items = [json.loads(line) for line in source]
    meta = "".join(
        repr({"asin": item["item_id"], "title": item.get("title", ""), "categories": item["categories"]}) + "\n"
        for item in items
        if item["item_id"] in reviewed
    )
    (tmp_path / "raw" / "meta_Beauty.json.gz").write_bytes(gzip.compress(meta.encode(), 1))

    shell("ingest", "beauty", "--raw", tmp_path / "raw", "--out", tmp_path / "beauty")
    report = json.loads((tmp_path / "beauty" / "ingest.json").read_text())
    bundle = build(shell, tmp_path / "beauty", tmp_path / "b")

    last = report["steps"][-1]
    assert last["users"] > 100
    assert bundle.manifest.statistics["interactions"] == last["interactions"]
    assert bundle.n_items == last["items"]
    assert bundle.manifest.sections["graph"]["edges"] == next(
        figure["found"] for figure in report["figures"] if figure["figure"] == "edges"
    )
    assert set(bundle.ids.strings(np.arange(bundle.n_items, dtype=np.int32))) <= {item["item_id"] for item in items}
