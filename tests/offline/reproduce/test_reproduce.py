"""`shortlist reproduce` on a small shop by the name of Toys: built, trained and asked as the real one would be."""

import csv
import json
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from models.bundle.reader import Bundle
from models.cli import main
from models.errors import InputError
from models.filters import eligible
from models.registry import available, open_retriever
from models.retrieval import Query
from models.words import RetrieverName
from offline.audit.run import PAPER, audit
from offline.audit.signals import SignalName
from offline.evaluate import ONE_LIST_UP_TO, Settings, TargetUsers, ask, evaluate, read_target_users
from offline.progress import Reporter
from offline.report.document.evaluation import EvaluationReport
from offline.report.document.reproduction import ReproductionReport
from offline.report.files import read_report
from offline.split import Part

QUIET = Reporter(quiet=True)
ITEMS, USERS = 60, 40
KINDS = ("wooden train", "paper kite", "rubber duck", "card game", "doll house", "toy piano")


def write_shop(folder: Path) -> Path:
    """Everybody walks around a circle of items; ten neighbours are of one kind, in text and in category."""
    folder.mkdir()
    lines = ["user_id,item_id,timestamp,rating"]
    for user in range(USERS):
        lines += [f"u{user:02d},i{(user * 7 + step) % ITEMS:02d},{step},{(user + step) % 3 > 0:d}" for step in range(6)]
    (folder / "interactions.csv").write_text("\n".join(lines) + "\n")
    items = [
        {"item_id": f"i{n:02d}", "title": f"{KINDS[n // 10]} {n}", "categories": [["Toys", KINDS[n // 10]]]}
        | ({"brand": f"brand-{n % 5}"} if n % 2 else {})
        for n in range(ITEMS)
    ]
    (folder / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    return folder


def shortlist(*arguments: object) -> str:
    said = StringIO()
    argv = ["shortlist", *map(str, arguments)]
    with mock.patch.object(sys, "argv", argv), redirect_stdout(said), pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    return said.getvalue()


def told(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "report.json").read_text())


def only(folder: Path) -> EvaluationReport:
    (report,) = told(folder)["data_sets"]
    return EvaluationReport.model_validate(report)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_shop(tmp_path_factory.mktemp("data") / "tiny-toys")


@pytest.fixture(scope="module")
def value_prior(shop: Path) -> Path:
    """The second paper redone from nothing, with one epoch of training."""
    out = shop.parent / "value-prior"
    shortlist("reproduce", "value-prior", "--data", shop, "--out", out, "--epochs", 1, "--threads", 1)
    return out


@pytest.fixture(scope="module")
def trained(value_prior: Path, shop: Path) -> tuple[Bundle, TargetUsers]:
    bundle = Bundle.open(value_prior / "bundles" / "tiny-toys-last-20-wordllama")
    return bundle, read_target_users(bundle, [shop / "interactions.csv"], Part.TEST, QUIET)


def test_the_value_prior_is_redone_from_nothing_in_the_papers_setting(value_prior: Path, trained) -> None:
    report = only(value_prior)
    assert [method.name for method in report.methods] == ["gr", "dr", "dr-prior"]
    assert report.provenance.truncate_history == 20
    assert [(c.x, c.a) for c in report.comparisons] == [
        ("dr", "gr"), ("dr-prior", "gr"), ("gr", "dr"), ("dr-prior", "dr"),
    ]  # fmt: skip
    assert len(report.comparisons[0].simplex) == 231
    assert [cut.k for cut in report.methods[0].cut_offs] == [50]
    assert report.misses[0].method == "dr"
    assert {RetrieverName.GR, RetrieverName.DR} <= set(available(trained[0]))
    assert not (value_prior / "bundles" / "tiny-toys-last-20-wordllama" / ".training").exists()


def test_published_figures_stand_beside_ours_with_their_difference_and_source(value_prior: Path) -> None:
    report = only(value_prior)
    rows = {(row.method, row.measure): row for row in report.published}
    recall = rows["dr", "Recall@50"]
    dr = next(method for method in report.methods if method.name == "dr")
    assert (recall.published, recall.ours) == (0.228, dr.cut_offs[0].recall)
    assert recall.difference == pytest.approx(recall.ours.value - 0.228)
    assert recall.remark == "arXiv 2610.19065, Toys 2014"
    assert rows["dr-prior", "Delta-BV@50 against gr"].ours == report.comparisons[1].paired_gap
    assert rows["gr", "vNDCG@50"].published == 0.215
    page = (value_prior / "report.html").read_text()
    assert "22.80" in page
    assert not any(mark in page for mark in ("https://", "src=", "<link", "<script"))


def test_reasons_are_true_of_the_data(value_prior: Path) -> None:
    notes = " ".join(only(value_prior).notes)
    assert "Brands are codes such as 'brand-" in notes
    assert "(30 of 60 items have one)" in notes
    assert "Ratings here are 0 or 1, not stars" in notes
    assert "no such judgments are supplied" in notes
    assert "trained for 1 epochs on cpu" in notes
    assert "gr < dr < dr-prior" in notes
    assert "paired over the same users: dr - gr " in notes
    assert "; dr-prior - dr " in notes
    assert "keeps the last 20" not in notes


def test_two_reproductions_on_one_data_set_compare(value_prior: Path, tmp_path: Path) -> None:
    shortlist("compare", value_prior, value_prior, "--out", tmp_path)
    assert "vNDCG@50" in (tmp_path / "report.html").read_text()
    document = ReproductionReport.model_validate(told(value_prior))
    double = document.model_copy(update={"data_sets": document.data_sets * 2})
    (tmp_path / "double.json").write_text(double.model_dump_json())
    with pytest.raises(InputError, match="a reproduction on 2 data sets"):
        read_report(tmp_path / "double.json")


def test_csv_names_the_data_set_of_each_figure(value_prior: Path) -> None:
    rows = list(csv.DictReader((value_prior / "report.csv").read_text().splitlines()))
    assert {row["data_set"] for row in rows} == {"tiny-toys"}
    published = [row for row in rows if row["section"] == "published" and row["detail"] == "published"]
    assert len(published) == len(only(value_prior).published)


def test_nobody_trains_twice(value_prior: Path, shop: Path, tmp_path: Path) -> None:
    before = sorted(path.name for path in (value_prior / "bundles").rglob("manifest.json"))
    with mock.patch("offline.training.train.train", side_effect=AssertionError("trained again")):
        shortlist("reproduce", "value-prior", "--data", shop, "--out", tmp_path, "--bundles", value_prior / "bundles")
    assert only(tmp_path).methods[1].cut_offs == only(value_prior).methods[1].cut_offs
    assert sorted(path.name for path in (value_prior / "bundles").rglob("manifest.json")) == before


def test_the_heuristic_table_holds_both_orders_the_baselines_and_lists_of_others(
    value_prior: Path, shop: Path, trained, tmp_path: Path
) -> None:
    bundle, test = trained
    rows = [(user, "sasrec", 1, bundle.ids.id(int(test.targets[row]))) for row, user in enumerate(test.user_ids())]
    (tmp_path / "sasrec.csv").write_text(
        "user_id,retriever,rank,item_id\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)
    )
    other = write_shop(tmp_path / "other")
    said = shortlist(
        "reproduce", "heuristic", "--data", shop, "--data", other, "--out", tmp_path / "out",
        "--bundles", tmp_path / "bundles", "--predictions-from", tmp_path / "sasrec.csv",
    )  # fmt: skip
    first, second = (EvaluationReport.model_validate(one) for one in told(tmp_path / "out")["data_sets"])
    names = [method.name for method in first.methods]
    assert names == [
        "tgh-1 ring", "tgh-1 score", "tgh-2 ring", "tgh-2 score", "sem-nn", "id-last", "id+sem", "popular", "sasrec",
    ]  # fmt: skip
    assert first.methods[-1].cut_offs[0].recall.value == 1.0
    assert any("The bundle cannot serve dr, dr-prior, gr, fused" in note for note in first.notes)
    assert {row.measure for row in first.published if not row.method} >= {"users", "edges (training)", "Cov@1"}
    users = next(row for row in first.published if row.measure == "users")
    assert (users.published, users.ours.value) == (19_412, USERS)
    assert second.published == ()
    assert "ours stand alone" in " ".join(second.notes)
    assert "tgh-1 ring, Recall@10\t0.0903" in said
    page = (tmp_path / "out" / "report.html").read_text()
    ids = [piece.split('"')[0] for piece in page.split(' id="')[1:]]
    assert len(ids) == len(set(ids))


def test_a_trained_bundle_adds_last_one_ablations_to_the_table(shop: Path, trained, tmp_path: Path) -> None:
    bundle, test = trained
    with mock.patch("offline.reproduce.bundles._fitting", return_value=iter([bundle])):
        shortlist("reproduce", "heuristic", "--data", shop, "--out", tmp_path / "out", "--without", "gr")
    report = only(tmp_path / "out")
    found = {method.name: method for method in report.methods}
    last = evaluate(bundle, test, [RetrieverName.DR], [10], replace(PAPER, history_items=1), QUIET)
    at_10 = next(cut for cut in found["dr (last item)"].cut_offs if cut.k == 10)
    assert at_10.recall.value == pytest.approx(last.measures["dr"]["recall@10"])
    assert "gr" not in found
    assert "gr was left out on request." in report.notes
    assert ("dr", "dr (last item)") in [(c.x, c.a) for c in report.comparisons]


def test_the_audit_measures_a_trained_encoder_on_full_and_on_cut_histories(trained) -> None:
    bundle, test = trained
    found = audit(bundle, test, QUIET, data_set="circle")
    full, last = (
        evaluate(bundle, test, [RetrieverName.DR], [10], replace(PAPER, history_items=n), QUIET) for n in (None, 1)
    )
    assert found.dependence.encoder == "dr"
    assert found.dependence.full.value == pytest.approx(full.measures["dr"]["recall@10"])
    assert found.dependence.last.value == pytest.approx(last.measures["dr"]["recall@10"])
    assert found.dependence.full.value > 0
    sentence = next(signal.sentence for signal in found.signals if signal.name is SignalName.LAST_ITEM)
    assert "the encoder has Recall@10" in sentence
    assert not any("needs a trained encoder" in note for note in found.notes)


@pytest.mark.parametrize("name", list(ONE_LIST_UP_TO))
def test_a_list_that_is_asked_once_begins_with_the_shorter_one(trained, name: RetrieverName) -> None:
    bundle, test = trained
    retriever = open_retriever(bundle, name)
    for settings in (PAPER, Settings()):
        short, long = (ask(bundle, retriever, test, k, settings, QUIET).items for k in (10, 50))
        np.testing.assert_array_equal(short, long[:, :10])


def test_a_cut_history_is_what_the_retriever_would_see_of_it(trained) -> None:
    bundle, test = trained
    settings = replace(PAPER, exclude_seen=True, history_items=1)
    cut = evaluate(bundle, test, [RetrieverName.DR], [10], settings, QUIET).longest["dr"].items
    dr = open_retriever(bundle, RetrieverName.DR)
    for row in (0, 7, 39):
        history = test.history(row)
        alone = dr.retrieve(Query(history[-1:], 10, eligible(bundle.n_items, None, history), fill=False))
        assert cut[row].tolist() == alone.items.tolist()
        assert not np.isin(cut[row], history).any()
