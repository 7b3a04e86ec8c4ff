"""Reports on disk: JSON that reads back, CSV that says the same, HTML that needs nothing and trusts nobody."""

import csv
import json
import re
from html.parser import HTMLParser
from io import StringIO

import pytest

from models.errors import ConfigError, InputError
from offline.report.compare import Apart, compare_runs
from offline.report.document.evaluation import EvaluationReport
from offline.report.files import read_report, write_comparison, write_report
from offline.report.rows import document_rows
from tests.offline.report import reports

VOID = {"meta", "br", "hr", "img", "input", "link"}


class Tags(HTMLParser):
    """Which elements a page holds, whether they nest, and which addresses they name."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.scripts = 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        held = dict(attrs)
        self.scripts += tag == "script"
        self.ids += [held["id"]] if "id" in held else []
        self.addresses += [held[name] for name in ("src", "href", "xlink:href") if name in held]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def report():
    return reports.evaluation()


@pytest.fixture(scope="module")
def folder(report, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    write_report(report, folder)
    return folder


def test_what_was_written_reads_back_equal(report, folder):
    assert read_report(folder) == report
    assert read_report(folder / "report.json") == report


def test_an_audit_reads_back_as_an_audit(tmp_path):
    told = reports.audit()
    write_report(told, tmp_path)
    assert read_report(tmp_path) == told


def test_json_is_strict_json_without_nan(folder):
    json.loads((folder / "report.json").read_text(), parse_constant=pytest.fail)


def test_csv_holds_every_figure_of_the_document(report, folder):
    lines = list(csv.DictReader(StringIO((folder / "report.csv").read_text())))
    rows = list(document_rows(report))
    assert len(lines) == len(rows) == len({row.key for row in rows})
    found = next(
        line for line in lines if line["method"] == "dr" and line["measure"] == "vndcg" and not line["against"]
    )
    assert float(found["value"]) == report.methods[1].vndcg.value
    assert float(found["low"]) == report.methods[1].vndcg.low
    assert sum(line["section"] == "simplex" for line in lines) == 231 * 2


def test_the_page_is_one_file_that_asks_the_network_for_nothing(folder):
    text = (folder / "report.html").read_text()
    tags = Tags(text)
    assert tags.open == []
    assert tags.scripts == 0
    assert all(address.startswith("#") for address in tags.addresses)
    assert "default-src 'none'" in text
    assert not re.search(r"url\((?!#)|@import", text)


def test_ids_are_unique_and_every_link_has_its_goal(folder):
    tags = Tags((folder / "report.html").read_text())
    assert len(tags.ids) == len(set(tags.ids))
    assert {address.removeprefix("#") for address in tags.addresses} <= set(tags.ids)


def test_every_figure_has_a_title_and_words_for_those_who_do_not_see_it(folder):
    text = (folder / "report.html").read_text()
    figures = re.findall(r"<figure>.*?</figure>", text, re.DOTALL)
    assert len(figures) >= 10
    for figure in figures:
        assert re.search(r'<svg viewBox="[^"]+" role="img" aria-labelledby="(\S+) (\S+)"', figure)
        assert re.search(r"<title [^>]*>[^<]+</title><desc [^>]*>[^<]+</desc>", figure)
        assert not re.search(r"(fill|stroke): #", figure), "a colour that the style sheet does not know"


def test_the_page_shows_the_figures_it_was_made_from(report, folder):
    text = (folder / "report.html").read_text()
    best = report.methods[1]
    assert f"{100 * best.cut_offs[2].recall.value:.2f}" in text
    assert f"{best.vndcg.value:.4f}" in text
    assert "The data holds no star ratings." in text
    for heading in (
        "Value-weighted NDCG",
        "Best-item value",
        "The weights swept",
        "Recall by hop distance",
        "Training",
    ):
        assert f">{heading}</h2>" in text


def test_names_from_outside_are_text_never_markup(tmp_path):
    nasty = '<script>alert("$x_1$")</script>'
    told = reports.evaluation(names=(nasty, "gr"), title=f"{nasty} & sons")
    write_report(told, tmp_path)
    text = (tmp_path / "report.html").read_text()
    assert Tags(text).scripts == 0
    assert "&lt;script&gt;" in text
    assert read_report(tmp_path).methods[0].name == nasty


def test_one_method_alone_makes_a_page(tmp_path):
    write_report(reports.evaluation(names=("popular",)), tmp_path)
    text = (tmp_path / "report.html").read_text()
    assert Tags(text).open == []
    assert "Best-item value" not in text


def test_two_runs_stand_side_by_side_with_differences(report, tmp_path):
    other = reports.evaluation(title="Another shop", seed=2)
    runs = compare_runs(report, other)
    pair = next(p for p in runs.pairs if p.left.key == ("value", "dr", "", "50", "", "vndcg"))
    assert pair.difference == pytest.approx(other.methods[1].vndcg.value - report.methods[1].vndcg.value)
    write_comparison(runs, tmp_path)
    lines = list(csv.DictReader(StringIO((tmp_path / "report.csv").read_text())))
    assert len(lines) == len(runs.pairs)
    text = (tmp_path / "report.html").read_text()
    assert Tags(text).open == []
    assert "A shop and Another shop" in text


def test_a_run_against_itself_differs_nowhere(report):
    runs = compare_runs(report, report)
    assert {pair.difference for pair in runs.pairs} <= {0, None}
    assert Apart.YES not in {pair.apart for pair in runs.pairs}
    assert runs.settings_that_differ == ()


def test_figures_of_one_run_only_are_named(report):
    runs = compare_runs(report, reports.evaluation(names=("tgh-1", "gr", "fused")))
    assert {row.method for row in runs.only_left} == {"dr"}
    assert {row.method for row in runs.only_right} >= {"fused"}


def test_an_evaluation_and_an_audit_are_not_comparable(report):
    with pytest.raises(InputError, match="Compare two evaluations or two audits"):
        compare_runs(report, reports.audit())


def test_a_folder_without_a_report_is_named(tmp_path):
    with pytest.raises(InputError, match=r"report\.json: found No such file"):
        read_report(tmp_path)


def test_a_report_of_another_version_names_the_field(report, tmp_path):
    changed = json.loads(report.model_dump_json()) | {"schema_version": 99}
    (tmp_path / "report.json").write_text(json.dumps(changed))
    with pytest.raises(InputError, match="schema_version"):
        read_report(tmp_path)


def test_a_file_that_is_not_a_report_is_refused(tmp_path):
    (tmp_path / "report.json").write_text("[]")
    with pytest.raises(InputError, match="expected a report of schema version 1"):
        read_report(tmp_path)


def test_a_second_run_replaces_the_first_and_leaves_nothing_beside(report, tmp_path):
    write_report(reports.evaluation(names=("popular",)), tmp_path)
    write_report(report, tmp_path)
    assert read_report(tmp_path) == report
    assert sorted(file.name for file in tmp_path.iterdir()) == ["report.csv", "report.html", "report.json"]


def test_a_folder_that_cannot_be_made_is_an_error_for_people(report, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="Pass another path"):
        write_report(report, tmp_path / "file" / "report")


def test_comparing_a_method_that_the_document_lacks_is_refused(report):
    with pytest.raises(InputError, match="evaluation report, field methods"):
        EvaluationReport.model_validate(report.model_dump() | {"methods": report.model_dump()["methods"][:1]})
