from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from models.bundle import layout
from models.bundle.reader import Bundle
from models.bundle.versions import current, list_versions
from models.bundle.writer import BundleWriter
from models.errors import BundleError, ConfigError, InputError
from models.value import wilson_lower_bound
from offline.build import Request, build, run_job
from offline.config import override
from offline.dataset import Inputs
from offline.jobs.catalog import JOBS
from offline.progress import Reporter
from tests.offline.shop import config, inputs

QUIET = Reporter(quiet=True)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """The shop, built on everything."""
    folder = tmp_path_factory.mktemp("shop")
    stated = override(config(), {"items.stock_as_of": "2026-11-30T10:00:00+01:00"})
    build(Request(folder / "bundles", stated, inputs(folder)), QUIET)
    return Bundle.open(folder / "bundles")


def edges(bundle: Bundle) -> dict[tuple[str, str], int]:
    sources = np.repeat(np.arange(bundle.n_items, dtype=np.int32), np.diff(bundle.array(layout.GRAPH_OFFSETS)))
    names = zip(bundle.ids.strings(sources), bundle.ids.strings(bundle.array(layout.GRAPH_TARGETS)), strict=True)
    return dict(zip(names, bundle.array(layout.GRAPH_COUNTS).tolist(), strict=True))


def test_every_artifact_of_every_job_is_there(shop: Bundle) -> None:
    assert all(shop.has(name) for job in JOBS for name in job.writes)
    assert shop.ids.strings(np.arange(5, dtype=np.int32)) == ["bread", "butter", "jam", "soap", "tea"]
    assert shop.table(layout.ITEMS)["title"].to_pylist() == [
        "Wheat bread", "Salted butter", "Strawberry jam", None, "Green tea",
    ]  # fmt: skip


def test_the_bundle_says_when_its_stock_was_true(shop: Bundle) -> None:
    assert shop.manifest.sections["stock"] == {"as_of": "2026-11-30T10:00:00+01:00"}


def test_the_graph_counts_what_directly_followed(shop: Bundle) -> None:
    assert edges(shop) == {
        ("bread", "butter"): 3, ("butter", "jam"): 3, ("jam", "tea"): 2,
        ("soap", "bread"): 1, ("tea", "bread"): 1, ("tea", "butter"): 1,
    }  # fmt: skip


def test_filters_hold_trimmed_brands_levels_and_prices(shop: Bundle) -> None:
    brands = [*shop.table(layout.BRANDS)["brand"].to_pylist(), None]
    names = shop.table(layout.CATEGORIES)["category"].to_pylist()
    offsets, codes = shop.array(layout.CATEGORY_OFFSETS), shop.array(layout.CATEGORY_CODES)

    assert [brands[code] for code in shop.array(layout.BRAND_CODES)] == ["Mill", "Dairy", "Mill", None, None]
    assert [{names[code] for code in codes[offsets[n] : offsets[n + 1]]} for n in range(5)] == [
        {"Food", "Bakery"}, {"Food", "Dairy"}, {"Food", "Spreads", "Sale"}, set(), set(),
    ]  # fmt: skip
    assert [names[code] if code >= 0 else None for code in shop.array(layout.LEAF_CODES)] == [
        "Bakery", "Dairy", "Spreads", None, None,
    ]  # fmt: skip
    np.testing.assert_array_equal(shop.array(layout.PRICES), [2.5, 3, np.nan, np.nan, 4])
    assert shop.array(layout.AVAILABLE).tolist() == [True, True, True, False, True]


def test_popularity_orders_ties_by_item(shop: Bundle) -> None:
    assert shop.array(layout.POPULARITY).tolist() == [4, 4, 3, 1, 3]
    assert shop.array(layout.POPULAR_ORDER).tolist() == [0, 1, 2, 4, 3]


def test_catalogue_ratings_win_over_interactions(shop: Bundle) -> None:
    ranks = shop.array(layout.VALUE_COMPONENTS)[:, 1]

    assert shop.manifest.sections["value"]["rated_by_catalogue"] == 2
    assert ranks[4] == 1.0
    assert ranks[3] == ranks.min()


def test_a_split_leaves_later_items_and_leaking_ratings_out(tmp_path: Path) -> None:
    files = inputs(tmp_path)
    build(Request(tmp_path / "b", config(split="leave-last-out"), files), QUIET)
    bundle = Bundle.open(tmp_path / "b")

    assert edges(bundle) == {
        ("bread", "butter"): 2, ("butter", "jam"): 1, ("soap", "bread"): 1, ("tea", "bread"): 1,
    }  # fmt: skip
    facts = bundle.manifest.sections["value"]
    assert (facts["rating_source"], facts["rated_by_catalogue"]) == ("ratings of training interactions", 0)
    bound = wilson_lower_bound(np.array([0.0, 0.25]), np.array([1, 2]))
    assert bound[0] == 0
    leaky = {"low": 1, "high": 5, "allow_leak": True}
    build(Request(tmp_path / "b", config(split="leave-last-out", ratings=leaky), files), QUIET)
    assert Bundle.open(tmp_path / "b").manifest.sections["value"]["rated_by_catalogue"] == 2


def test_without_a_stated_scale_ratings_are_dropped_and_the_manifest_says_so(tmp_path: Path) -> None:
    build(Request(tmp_path / "b", config(ratings=None), inputs(tmp_path)), QUIET)

    facts = Bundle.open(tmp_path / "b").manifest.sections["value"]
    assert facts["present"]["rating"] is False
    assert "build.toml" in facts["why"]


def test_the_manifest_tells_inputs_report_and_costs(shop: Bundle) -> None:
    manifest = shop.manifest

    assert manifest.statistics == {
        "users": 4, "items": 5, "interactions": 15, "repeats_under_another_event": 0,
    }  # fmt: skip
    assert {Path(name).name for name in manifest.sections["inputs"]} == {"interactions.csv", "items.jsonl"}
    assert manifest.sections["items"]["report"]["interactions"]["read"] == 15
    assert set(manifest.sections["jobs"]) == {job.name for job in JOBS}
    assert all(cost["seconds"] >= 0 and cost["peak_mib"] > 10 for cost in manifest.sections["jobs"].values())


def test_interactions_alone_make_a_bundle(tmp_path: Path) -> None:
    files = inputs(tmp_path)
    build(Request(tmp_path / "b", config(), Inputs(files.interactions)), QUIET)
    bundle = Bundle.open(tmp_path / "b")

    assert bundle.n_items == 5
    assert bundle.array(layout.EMBEDDINGS).tolist() == [[0.0]] * 5
    assert len(edges(bundle)) == 6


def test_own_vectors_replace_the_encoder(tmp_path: Path) -> None:
    table = pa.table({"item_id": ["bread", "jam"], "embedding": [[3.0, 4.0], [0.0, 1.0]]})
    pq.write_table(table, tmp_path / "v.parquet")

    build(Request(tmp_path / "b", config(), inputs(tmp_path), tmp_path / "v.parquet"), QUIET)
    bundle = Bundle.open(tmp_path / "b")

    np.testing.assert_allclose(bundle.array(layout.EMBEDDINGS)[[0, 1, 2]], [[0.6, 0.8], [0, 0], [0, 1]], rtol=1e-6)
    assert bundle.manifest.sections["embeddings"]["items_without_vector"] == 3


def test_a_failed_build_leaves_the_current_bundle_and_no_litter(tmp_path: Path) -> None:
    root, files = tmp_path / "b", inputs(tmp_path)
    build(Request(root, config(), files), QUIET)
    before = sorted(path.name for path in root.iterdir())

    (tmp_path / "bad.csv").write_text("user_id,item_id,timestamp\nu\n")
    with pytest.raises(InputError):
        build(Request(root, config(), Inputs((tmp_path / "bad.csv",))), QUIET)
    with pytest.raises(ConfigError):
        build(Request(root, config(text={"encoder": f"onnx:{tmp_path}"}), files), QUIET)

    assert sorted(path.name for path in root.iterdir()) == before
    Bundle.open(root)


def test_jobs_run_alone_build_the_same_bundle_step_by_step(tmp_path: Path, shop: Bundle) -> None:
    root, files = tmp_path / "b", inputs(tmp_path)
    for job in JOBS:
        run_job(Request(root, config(), files if job.reads_inputs else None), job.name, QUIET)
    bundle = Bundle.open(root)

    assert len(list_versions(root)) == len(JOBS)
    assert set(bundle.manifest.files) == set(shop.manifest.files)
    arrays = [name.removesuffix(".npy") for name in bundle.manifest.files if name.endswith(".npy")]
    for name in arrays:
        np.testing.assert_array_equal(bundle.array(name), shop.array(name), err_msg=name)


def test_a_job_refreshes_what_was_computed_from_its_artifacts(tmp_path: Path) -> None:
    root = tmp_path / "b"
    first = build(Request(root, config(), inputs(tmp_path)), QUIET)
    second = run_job(Request(root, config(text={"encoder": "none"})), "embeddings", QUIET)
    old, new = Bundle.open(root, version=first), Bundle.open(root, version=second)

    assert current(root) == second
    assert not new.array(layout.EMBEDDINGS).any()
    assert (new.array(layout.TEXT_NEIGHBOURS) == -1).all()
    assert new.manifest.config["text"]["encoder"] == "none"
    assert old.array(layout.EMBEDDINGS).any()
    assert not np.array_equal(old.array(layout.RING_SCORES), new.array(layout.RING_SCORES))
    np.testing.assert_array_equal(old.array(layout.GRAPH_COUNTS), new.array(layout.GRAPH_COUNTS))


def test_trained_artifacts_go_when_what_they_learnt_from_changes(tmp_path: Path) -> None:
    root = tmp_path / "b"
    build(Request(root, config(), inputs(tmp_path)), QUIET)
    with BundleWriter.derive(root, Bundle.open(root)) as writer:
        writer.add_array(layout.ITEM_VECTORS, np.zeros((5, 4), np.float32))
        writer.publish()

    run_job(Request(root, config(), inputs(tmp_path)), "graph", QUIET)
    assert Bundle.open(root).has(layout.ITEM_VECTORS)
    run_job(Request(root, config()), "embeddings", QUIET)
    assert not Bundle.open(root).has(layout.ITEM_VECTORS)


def test_jobs_say_what_they_lack(tmp_path: Path) -> None:
    root = tmp_path / "b"
    with pytest.raises(BundleError, match="no current version"):
        run_job(Request(root, config()), "rings", QUIET)
    with pytest.raises(ConfigError, match="--interactions FILE"):
        run_job(Request(root, config()), "items", QUIET)
    run_job(Request(root, config(), inputs(tmp_path)), "items", QUIET)
    with pytest.raises(BundleError, match="embeddings"):
        run_job(Request(root, config()), "text-neighbours", QUIET)
    with pytest.raises(ConfigError, match="found 'ring'"):
        run_job(Request(root, config()), "ring", QUIET)
    with pytest.raises(ConfigError, match="A bundle has one split"):
        run_job(Request(root, config(split="leave-last-out"), inputs(tmp_path)), "graph", QUIET)


def test_jobs_keep_the_catalogue_they_derive_from(tmp_path: Path) -> None:
    root, files = tmp_path / "b", inputs(tmp_path)
    build(Request(root, config(), files), QUIET)
    (tmp_path / "more.csv").write_text("user_id,item_id,timestamp\nu,bread,1\nu,jam,2\nu,new,3\n")

    run_job(Request(root, config(), Inputs((tmp_path / "more.csv",))), "graph", QUIET)

    assert edges(Bundle.open(root)) == {("bread", "jam"): 1}
