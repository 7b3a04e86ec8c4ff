"""From ranked lists to a document: each figure is the measure's own, every difference has an interval."""

import numpy as np
import pytest

from models.errors import InputError
from models.words import RetrieverName
from offline.measures.cold import cold_targets
from offline.measures.ranking import hits_at, ndcg, recall, target_ranks
from offline.measures.relevance import same_leaf
from offline.measures.vndcg import vndcg
from offline.report.assemble.evaluation import evaluation_report
from offline.report.assemble.inputs import MethodLists, Plan, asked_ks
from offline.report.document.parts import Rule
from tests.offline.report import reports

HELD, FACTS = reports.held_out(), reports.item_facts()
LISTS = reports.methods(HELD)


@pytest.fixture(scope="module")
def report():
    return reports.evaluation()


def test_recall_and_ndcg_cut_the_list_that_was_asked_for_that_k(report):
    for lists, found in zip(LISTS, report.methods, strict=True):
        for cut in found.cut_offs:
            ranks = target_ranks(lists.at[50 if cut.k == 50 else 10], HELD.targets)
            assert cut.recall.value == pytest.approx(recall(ranks, [cut.k])[0])
            assert cut.ndcg.value == pytest.approx(ndcg(ranks, [cut.k])[0])


def test_vndcg_rests_on_the_pool_of_all_methods(report):
    stacked = np.stack([lists.at[50] for lists in LISTS])
    q = np.stack([same_leaf(one, HELD.targets, FACTS.leaves) for one in stacked])
    scores = vndcg(stacked, q * FACTS.values[stacked]).mean(1)
    assert [m.vndcg.value for m in report.methods] == pytest.approx(scores.tolist())


def test_every_difference_is_that_of_its_methods_and_carries_an_interval(report):
    found = {m.name: m for m in report.methods}
    assert [(c.x, c.a) for c in report.comparisons] == [("tgh-1", "gr"), ("dr", "gr")]
    for c in report.comparisons:
        assert c.vndcg_gap.value == pytest.approx(found[c.x].vndcg.value - found[c.a].vndcg.value)
        for cut, x, a in zip(c.cut_offs, found[c.x].cut_offs, found[c.a].cut_offs, strict=True):
            assert cut.recall.value == pytest.approx(x.recall.value - a.recall.value)
        gaps = [c.paired_gap, c.imputed_gap, c.vndcg_gap, *[cut.ndcg for cut in c.cut_offs]]
        assert all(gap.low <= gap.value <= gap.high for gap in gaps)
        assert sum(share.share.value for share in c.shares) == pytest.approx(1)
        assert len(c.simplex) == 231


def test_the_sweep_at_the_weights_in_use_is_the_vndcg_gap(report):
    for c in report.comparisons:
        mine = next(p for p in c.simplex if np.allclose(p.weights, report.value.weights))
        assert mine.gap.value == pytest.approx(c.vndcg_gap.value)


def test_the_median_of_alternatives_leaves_the_target_out(report):
    counts = [(FACTS.leaves == FACTS.leaves[t]).sum() - 1 if FACTS.leaves[t] >= 0 else 0 for t in HELD.targets]
    assert report.data.same_leaf_alternatives == np.median(counts)


def test_cold_finds_and_hops_add_up(report):
    cold = cold_targets(HELD.targets, HELD.training_items, n_items=reports.ITEMS)
    assert report.data.cold_targets == cold.sum() >= 1
    for lists, found in zip(LISTS, report.methods, strict=True):
        ranks = target_ranks(lists.at[10], HELD.targets)
        assert next(c.found for c in found.cold if c.k == 10) == hits_at(ranks, 10)[cold].sum()
        assert sum(row.users for row in found.by_hop) == reports.USERS
        hits = sum((row.recall or 0) * row.users for row in found.by_hop)
        assert hits == pytest.approx(hits_at(ranks, 10).sum())


def test_the_random_control_stands_beside_co_purchase(report):
    rules = [row.rule for row in report.methods[0].credits]
    assert set(rules) == {Rule.CATEGORY, Rule.CO_PURCHASE, Rule.RANDOM_CONTROL}


def test_equal_seeds_give_equal_reports(report):
    assert reports.evaluation() == report


def test_without_categories_or_links_the_report_holds_what_can_be_measured():
    bare = reports.item_facts(links=False)
    bare = type(bare)(graph=bare.graph)
    plan = Plan(ks=(10,), pairs=[("dr", "gr")], resamples=20)
    found = evaluation_report(LISTS, HELD, bare, plan, title="Bare", provenance=reports.provenance())
    assert found.value is None
    assert found.methods[0].vndcg is None
    assert found.methods[0].credits == ()
    assert found.comparisons[0].cut_offs[0].recall.value is not None
    assert found.comparisons[0].simplex == ()


def test_a_k_that_was_never_asked_is_refused_with_the_remedy():
    short = [MethodLists("dr", {10: LISTS[0].at[10]})]
    with pytest.raises(InputError, match="expected one asked with k = 50"):
        evaluation_report(short, HELD, FACTS, Plan(resamples=20), title="x", provenance=reports.provenance())


def test_a_comparison_with_an_unmeasured_method_is_refused():
    plan = Plan(pairs=[("dr", "sasrec")], resamples=20)
    with pytest.raises(InputError, match=r"found methods \['sasrec'\]"):
        evaluation_report(LISTS, HELD, FACTS, plan, title="x", provenance=reports.provenance())


def test_lists_narrower_than_their_k_are_refused():
    short = [MethodLists("dr", {10: LISTS[0].at[10][:, :9], 50: LISTS[0].at[50]})]
    with pytest.raises(InputError, match="lists of dr for k = 10: found 9 columns"):
        evaluation_report(short, HELD, FACTS, Plan(resamples=20), title="x", provenance=reports.provenance())


def test_cut_offs_up_to_ten_share_one_list():
    assert asked_ks(Plan(ks=(1, 3, 10, 20), value_k=50)) == [10, 20, 50]


def test_an_audit_reads_its_verdict_from_its_own_figures():
    told = reports.audit()
    first = told.data.coverage[0]
    assert f"{100 * first:.2f} %" in told.signals[0].sentence
    assert told.start_with in RetrieverName
    assert told.dependence.kept == pytest.approx(told.dependence.last.value / told.dependence.full.value)
    assert f"{100 * told.dependence.kept:.0f} % kept" in told.signals[2].sentence
