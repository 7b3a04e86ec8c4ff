"""`evaluate --report`, `audit` and `compare` on a small shop: what the reports hold, and what they say is missing."""

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from models.bundle import layout
from models.bundle.reader import Bundle
from models.bundle.writer import BundleWriter
from models.cli import main
from models.words import Split
from offline.build import Request, build
from offline.config import BuildConfig
from offline.dataset import Inputs
from offline.progress import Reporter
from offline.report.bundle_facts import co_purchase_links, item_facts, training_curves
from offline.report.document.parts import Rule
from offline.report.files import read_report
from offline.training.curves import Curves, Epoch

USERS, ITEMS = 24, 30


class Shop(NamedTuple):
    """A built bundle and its files."""

    bundles: Path
    interactions: Path


class Outcome(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


def item(place: int) -> str:
    return f"i{place:02d}"


def write_files(folder: Path) -> Inputs:
    """Everybody walks the shelves in order from another start; neighbours on the shelf are bought together."""
    rows = [(f"u{user:02d}", item((user * 3 + step) % ITEMS), 100 + step) for user in range(USERS) for step in range(7)]
    lines = ["user_id,item_id,timestamp", *[",".join(map(str, row)) for row in rows]]
    (folder / "interactions.csv").write_text("\n".join(lines) + "\n")
    catalogue = [
        {
            "item_id": item(place),
            "title": f"Thing {place}",
            "brand": f"Maker {place % 4}",
            "categories": [["Shop", f"Shelf {place // 6}"]],
            "also_bought": [item((place + 1) % ITEMS), "gone"],
            "also_viewed": [item((place + 9) % ITEMS)],
            "bought_together": [item((place + 2) % ITEMS)],
        }
        for place in range(ITEMS)
    ]
    (folder / "items.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in catalogue))
    return Inputs((folder / "interactions.csv",), folder / "items.jsonl")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    folder = tmp_path_factory.mktemp("shop")
    inputs = write_files(folder)
    angle = 2 * np.pi * np.arange(ITEMS) / ITEMS
    vectors = np.stack([np.cos(angle), np.sin(angle)], axis=1).astype(np.float32)
    table = pa.table({"item_id": [item(place) for place in range(ITEMS)], "embedding": list(vectors)})
    pq.write_table(table, folder / "vectors.parquet")
    config = BuildConfig(split=Split.LEAVE_LAST_OUT)
    build(Request(folder / "bundles", config, inputs, folder / "vectors.parquet"), Reporter(quiet=True))
    return Shop(folder / "bundles", folder / "interactions.csv")


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    def run(*args: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["shortlist", *map(str, args)])
        with pytest.raises(SystemExit) as ended:
            main()
        return Outcome(ended.value.code or 0, *capsys.readouterr())

    return run


def evaluate(shell: Callable[..., Outcome], shop: Shop, folder: Path, *more: object) -> Outcome:
    where = ("--bundle", shop.bundles, "--interactions", shop.interactions, "--k", "1,10,20", "--report", folder)
    return shell("evaluate", *where, "--retrievers", "tgh-1,sem-nn,popular", "--name", "Shelves", *more)


def test_links_are_what_was_bought_not_what_was_viewed_and_not_what_is_gone(shop):
    links = co_purchase_links(Bundle.open(shop.bundles))
    mine = [links.indices[links.indptr[row] : links.indptr[row + 1]].tolist() for row in range(ITEMS)]
    assert mine == [sorted([(place + 1) % ITEMS, (place + 2) % ITEMS]) for place in range(ITEMS)]


def test_value_weights_are_rescaled_as_serving_rescales_them(shop):
    facts = item_facts(Bundle.open(shop.bundles))
    assert facts.weights.tolist() == pytest.approx([1 / 3, 0, 2 / 3])
    assert facts.components.shape == (3, ITEMS)


def test_training_curves_leave_out_epochs_that_were_not_validated(shop):
    base = Bundle.open(shop.bundles)
    epochs = [Epoch(1, 10, 3.0, 5.0, 0.02, 0.04, 0.1, 1.0), Epoch(2, 20, 2.0, 4.0, *[float("nan")] * 3, 1.0)]
    with BundleWriter.derive(shop.bundles, base) as writer:
        writer.add_table(layout.TRAINING_CURVES, Curves(epochs).table())
        trained = Bundle.open(shop.bundles, version=writer.publish(activate=False))
    curves = {curve.name: curve.points for curve in training_curves(trained)}
    assert curves["dense"] == ((1, 3.0), (2, 2.0))
    assert curves["NDCG@10"] == ((1, 0.02),)
    assert training_curves(base) == []


def test_evaluate_reports_every_measure_the_shop_allows(shell, shop, tmp_path):
    outcome = evaluate(shell, shop, tmp_path / "report")
    assert outcome.code == 0, outcome.err
    told = read_report(tmp_path / "report")
    assert told.title == told.provenance.data_set == "Shelves"
    assert told.provenance.command.startswith("shortlist evaluate --bundle")
    assert told.data.test_users == USERS
    assert [m.name for m in told.methods] == ["tgh-1", "sem-nn", "popular"]
    assert {row.rule for row in told.methods[0].credits} == {Rule.CATEGORY, Rule.CO_PURCHASE, Rule.RANDOM_CONTROL}
    assert told.value.k == 20
    assert len(told.comparisons[0].simplex) == 231
    assert any("does without rating: no [ratings] scale is stated in build.toml" in note for note in told.notes)


def test_the_table_and_the_report_agree(shell, shop, tmp_path):
    evaluate(shell, shop, tmp_path / "report", "--out", tmp_path / "results.json")
    table = json.loads((tmp_path / "results.json").read_text())["retrievers"]
    for method in read_report(tmp_path / "report").methods:
        for cut in method.cut_offs:
            assert cut.recall.value == pytest.approx(table[method.name][f"recall@{cut.k}"])
            assert cut.ndcg.value == pytest.approx(table[method.name][f"ndcg@{cut.k}"])


def test_supplied_judgments_earn_credit_and_unknown_ones_are_counted(shell, shop, tmp_path):
    rows = [f"u{user:02d},{item((user * 3 + 6) % ITEMS)},0.5" for user in range(USERS)]
    (tmp_path / "judged.csv").write_text("\n".join(["user_id,item_id,grade", *rows, "nobody,i00,1", "u01,gone,1"]))
    evaluate(shell, shop, tmp_path / "report", "--judgments", tmp_path / "judged.csv")
    told = read_report(tmp_path / "report")
    assert f"{USERS} graded judgments count; 2 name a user or an item that is not here." in told.notes
    for method in told.methods:
        recalls = {cut.k: cut.recall.value for cut in method.cut_offs}
        graded = {row.k: row.credit.value for row in method.credits if row.rule is Rule.GRADED}
        assert graded == pytest.approx({k: 0.5 * share for k, share in recalls.items()})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("user_id,item_id,grade\nu01,i01,0.5\nu02,i02,3\n", "row 2, field grade: found 3.0"),
        ("user,item_id,grade\nu01,i01,0.5\n", "the columns user_id, item_id, grade"),
        ("user_id,item_id,grade\nu01,i01,good\n", "write grades as numbers from 0 to 1"),
    ],
)
def test_judgments_that_cannot_be_right_are_refused_in_words(shell, shop, tmp_path, text, said):
    (tmp_path / "judged.csv").write_text(text)
    outcome = evaluate(shell, shop, tmp_path / "report", "--judgments", tmp_path / "judged.csv")
    assert outcome.code == 3
    assert said in outcome.err
    assert not (tmp_path / "report").exists()


def test_judgments_of_nobody_here_and_judgments_without_a_report_are_refused(shell, shop, tmp_path):
    (tmp_path / "judged.csv").write_text("user_id,item_id,grade\nnobody,i00,1\nu01,gone,1\n")
    outcome = evaluate(shell, shop, tmp_path / "report", "--judgments", tmp_path / "judged.csv")
    assert (outcome.code, "2 judgments, none of a test user" in outcome.err) == (3, True)
    where = ("--bundle", shop.bundles, "--interactions", shop.interactions, "--retrievers", "popular")
    outcome = shell("evaluate", *where, "--judgments", tmp_path / "judged.csv")
    assert (outcome.code, "Add --report FOLDER" in outcome.err) == (2, True)


def test_lists_of_another_data_set_are_refused_before_anything_is_asked(shell, shop, tmp_path):
    (tmp_path / "other.csv").write_text("user_id,retriever,rank,item_id\nstranger,sasrec,1,i01\n")
    outcome = evaluate(shell, shop, tmp_path / "report", "--predictions-from", tmp_path / "other.csv")
    assert outcome.code == 3
    assert f"{tmp_path}/other.csv: found no row with a test user and an item of this bundle" in outcome.err
    assert "tgh-1 k=" not in outcome.err


def test_two_files_with_one_method_are_refused(shell, shop, tmp_path):
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text("user_id,retriever,rank,item_id\nu01,sasrec,1,i01\n")
    files = ("--predictions-from", tmp_path / "one.csv", "--predictions-from", tmp_path / "two.csv")
    outcome = evaluate(shell, shop, tmp_path / "report", *files)
    assert (outcome.code, "two.csv, retriever sasrec: found the name of another" in outcome.err) == (3, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--retrievers", ""), "--retrievers: found no name"),
        (("--retrievers", "popular,,tgh-1"), "Remove the stray comma"),
        (("--retrievers", "popular", "--k", "0"), "expected whole numbers from 1 to 10,000"),
        (("--retrievers", "popular", "--k", "10001"), "expected whole numbers from 1 to 10,000"),
        (("--retrievers", "popular", "--k", "1.5"), "expected whole numbers between commas"),
        (("--retrievers", "popular", "--k", ""), "expected whole numbers from 1 to 10,000"),
        (("--retrievers", "popular", "--out", "."), "--out: found the folder ."),
        (("--retrievers", "popular", "--predictions", "."), "--predictions: found the folder ."),
        (("--retrievers", "popular", "--report", __file__), "which is a file"),
    ],
)
def test_settings_that_cannot_be_are_refused_before_anything_is_asked(shell, shop, arguments, said):
    outcome = shell("evaluate", "--bundle", shop.bundles, "--interactions", shop.interactions, *arguments)
    assert outcome.code == 2
    assert said in outcome.err
    assert "popular k=" not in outcome.err


def test_results_go_into_folders_that_are_made_and_a_method_is_asked_once(shell, shop, tmp_path):
    new = tmp_path / "not" / "here"
    files = ("--out", new / "results.json", "--predictions", new / "lists.parquet", "--report", new / "report")
    where = ("--bundle", shop.bundles, "--interactions", shop.interactions, "--retrievers", "popular,popular")
    outcome = shell("evaluate", *where, *files)
    assert outcome.code == 0, outcome.err
    assert outcome.err.count("popular k=") == 1
    assert {path.name for path in new.iterdir()} == {"results.json", "lists.parquet", "report"}


def test_one_user_has_a_report_and_an_audit(shell, shop, tmp_path):
    lines = shop.interactions.read_text().splitlines()
    (tmp_path / "one.csv").write_text("\n".join(line for line in lines if line.startswith(("user_id", "u01"))) + "\n")
    files = ("--bundle", shop.bundles, "--interactions", tmp_path / "one.csv")
    outcome = shell("evaluate", *files, "--retrievers", "tgh-1,popular", "--report", tmp_path / "report")
    assert outcome.code == 0, outcome.err
    assert shell("audit", *files, "--out", tmp_path / "audit").code == 0
    assert [read_report(tmp_path / name).data.test_users for name in ("report", "audit")] == [1, 1]


def test_the_audit_prints_its_verdict_and_writes_its_report(shell, shop, tmp_path):
    outcome = shell("audit", "--bundle", shop.bundles, "--interactions", shop.interactions, "--out", tmp_path / "audit")
    assert outcome.code == 0, outcome.err
    told = read_report(tmp_path / "audit")
    assert told.start_with == "tgh-1"
    assert outcome.out.splitlines()[:4] == [signal.sentence for signal in told.signals]
    assert {r.name for r in told.retrievers} == {"tgh-1", "tgh-2", "sem-nn", "popular"}
    assert told.data.coverage[0] == 1.0
    assert told.dependence is None
    assert any("History dependence needs a trained encoder" in note for note in told.notes)


def test_the_audit_builds_what_it_needs_from_the_files_and_leaves_nothing_behind(shell, shop, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    files = ("--interactions", shop.interactions, "--items", shop.interactions.parent / "items.jsonl")
    outcome = shell("audit", *files, "--text-encoder", "none", "--out", tmp_path / "audit")
    assert outcome.code == 0, outcome.err
    told = read_report(tmp_path / "audit")
    assert told.provenance.split is Split.LEAVE_LAST_OUT
    assert told.data.coverage[0] == 1.0
    assert {r.name for r in told.retrievers} == {"tgh-1", "tgh-2", "sem-nn", "popular"}
    assert "id-vectors" not in outcome.err
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_cut_history_and_lists_of_others_stand_in_the_report(shell, shop, tmp_path):
    where = ("evaluate", "--bundle", shop.bundles, "--interactions", shop.interactions, "--k", "1,10")
    shell(*where, "--retrievers", "tgh-2", "--predictions", tmp_path / "full.parquet")
    table = pq.read_table(tmp_path / "full.parquet")
    names = pa.array(["sasrec"] * table.num_rows)
    pq.write_table(table.set_column(1, "retriever", names), tmp_path / "sasrec.parquet")
    cut = ("--history-items", 1, "--predictions-from", tmp_path / "sasrec.parquet", "--report", tmp_path / "report")
    outcome = shell(*where, "--retrievers", "tgh-2,tgh-1", *cut)
    assert outcome.code == 0, outcome.err
    told = read_report(tmp_path / "report")
    assert [method.name for method in told.methods] == ["tgh-2", "tgh-1", "sasrec"]
    assert "Retrievers saw the newest 1 of each history only." in told.notes
    assert any(note.startswith("Lists of sasrec were read from sasrec.parquet") for note in told.notes)
    assert told.methods[2].took_s is None
    assert "sasrec" in outcome.out


def test_two_reports_compare_from_the_command_line(shell, shop, tmp_path):
    evaluate(shell, shop, tmp_path / "left")
    evaluate(shell, shop, tmp_path / "right", "--include-seen")
    outcome = shell("compare", tmp_path / "left", tmp_path / "right", "--out", tmp_path / "both")
    assert outcome.code == 0, outcome.err
    text = (tmp_path / "both" / "report.html").read_text()
    assert "--include-seen" in text
    assert (tmp_path / "both" / "report.csv").read_text().startswith("section,method,against,k,detail,measure,left,")
