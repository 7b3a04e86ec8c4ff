"""Beauty, written back into SNAP's raw form and ingested, gives the published figures and feeds a build."""

import gzip
import json
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from offline.config import read_config
from offline.datasets.ingest import ingest
from offline.datasets.registry import find
from offline.datasets.report import IngestReport
from offline.ingest.catalogue import read_catalogue
from offline.ingest.engine import Engine
from offline.ingest.interactions import read_interactions

DATA = Path(__file__).parents[4] / "shared" / "data" / "amazon-beauty-2014"

PUBLISHED = f"(select *, row_number() over () as n from read_csv('{DATA}/interactions.csv.gz', all_varchar = true))"

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"no real data at {DATA}")


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("raw")
    write_reviews(folder / "reviews_Beauty_5.json.gz")
    with gzip.open(DATA / "items.jsonl.gz", "rt") as source, gzip.open(folder / "meta_Beauty.json.gz", "wt", 1) as sink:
        for line in source:
            item = json.loads(line)
            related = {key: item[key][:5] for key in ("also_bought", "also_viewed", "bought_together") if key in item}
            kept = {key: item[key] for key in ("title", "brand", "categories") if key in item}
            sink.write(repr({"asin": item["item_id"], "related": related} | kept) + "\n")
    return folder


def write_reviews(path: Path) -> None:
    """Sorted by item, as the raw file is; within an item in the order of the sequences."""
    duckdb.sql(
        'copy (select user_id as "reviewerID", item_id as asin, try_cast(rating as double) as overall, '
        f'timestamp::bigint as "unixReviewTime" from {PUBLISHED} order by item_id, n) '
        f"to '{path}' (format json, compression gzip)"
    )


@pytest.fixture(scope="module")
def ingested(raw: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[IngestReport, Path]:
    out = tmp_path_factory.mktemp("beauty") / "out"
    return ingest(find("beauty"), raw=raw, out=out), out


def test_figures_are_as_published(ingested: tuple[IngestReport, Path]) -> None:
    report, _ = ingested
    assert report.agrees
    assert {figure.figure: figure.found for figure in report.figures if figure.agrees} == {
        "users": 22_363,
        "items": 12_101,
        "edges": 114_582,
    }
    assert report.rejected == []
    assert {field.field: field.items for field in report.coverage}["brand"] == 10_003


def test_sequences_are_those_of_the_published_split(ingested: tuple[IngestReport, Path]) -> None:
    _, out = ingested
    written = f"read_parquet('{out / 'interactions.parquet'}', file_row_number = true)"
    ours = f"(select *, file_row_number as n from {written})"
    sequences = "select user_id, list(item_id order by n) as items from {} group by user_id"
    differing = duckdb.sql(f"{sequences.format(ours)} except {sequences.format(PUBLISHED)}")
    assert differing.fetchall() == []


def test_a_build_reads_the_result_without_a_finding(ingested: tuple[IngestReport, Path]) -> None:
    _, out = ingested
    config = read_config(out / "build.toml")
    with Engine(config.engine) as engine:
        catalogue = read_catalogue(engine, out / "items.parquet", config)
        report = read_interactions(engine, [out / "interactions.parquet"], config, catalogue.table)
    assert (report.read, report.kept, report.findings) == (198_502, 198_502, ())
    assert report.units == ("seconds",)
    assert catalogue.table.num_rows == 12_101
    first = pq.read_table(out / "items.parquet").slice(0, 1).to_pylist()[0]
    assert catalogue.table.slice(0, 1).to_pylist()[0]["categories"] == first["categories"]
