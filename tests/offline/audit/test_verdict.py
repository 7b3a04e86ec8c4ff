"""The verdict: each rule decides where it should, and every sentence carries its figures."""

import re
from dataclasses import replace

import pytest

from models.words import RetrieverName
from offline.audit.signals import Evidence, Recalls, SignalName, Strength, last_item
from offline.audit.verdict import verdict
from offline.measures.graph_statistics import Smoothness

TOYS = Evidence(
    n_items=11_924,
    mean_out_degree=8.58,
    coverage=(0.0806, 0.2016, 0.4716),
    cold=0.0144,
    recalls=Recalls(10, tgh_1=0.0903, tgh_2=0.0939, sem_nn=0.05, popular=0.0098),
    smoothness=Smoothness(0.45, 0.20, 1.4),
)
SPARSE = replace(
    TOYS, coverage=(0.004, 0.02, 0.06), recalls=Recalls(10, tgh_1=0.02, tgh_2=0.02, sem_nn=0.02, popular=0.001)
)


def test_a_data_set_of_strong_transitions_starts_with_the_better_heuristic():
    assert verdict(TOYS).start_with is RetrieverName.TGH_2
    swapped = replace(TOYS, recalls=replace(TOYS.recalls, tgh_1=0.0939, tgh_2=0.0903))
    assert verdict(swapped).start_with is RetrieverName.TGH_1


def test_popularity_that_nothing_beats_is_where_to_start():
    told = verdict(replace(TOYS, recalls=Recalls(10, tgh_1=0.05, tgh_2=0.05, popular=0.049)))
    assert told.start_with is RetrieverName.POPULAR
    assert told.strength(SignalName.POPULARITY) is Strength.STRONG


def test_full_histories_that_pay_call_for_a_trained_encoder():
    told = verdict(replace(TOYS, full_recall=0.20, last_recall=0.09))
    assert told.strength(SignalName.LAST_ITEM) is Strength.WEAK
    assert told.start_with is RetrieverName.DR


def test_texts_lead_where_the_graph_has_little():
    assert verdict(SPARSE).start_with is RetrieverName.SEM_NN


def test_without_any_strong_signal_training_is_the_start():
    told = verdict(replace(SPARSE, smoothness=Smoothness(0.21, 0.20, 0.1)))
    assert told.strength(SignalName.TEXT) is Strength.WEAK
    assert told.start_with is RetrieverName.DR


def test_frequent_transitions_that_chance_explains_are_not_strong():
    crowded = replace(TOYS, n_items=40, mean_out_degree=4.0)
    assert verdict(crowded).strength(SignalName.TRANSITIONS) is Strength.WEAK


def test_a_trained_encoder_overrules_the_untrained_stand_in():
    told = verdict(replace(TOYS, full_recall=0.10, last_recall=0.08))
    assert told.strength(SignalName.LAST_ITEM) is Strength.MODERATE
    assert "8.00 % on the last item only against 10.00 % on full histories" in told.signals[2].sentence


@pytest.mark.parametrize("evidence", [TOYS, SPARSE, replace(TOYS, full_recall=0.2, last_recall=0.1)])
def test_every_sentence_on_what_was_measured_carries_a_figure(evidence):
    told = verdict(evidence)
    for sentence in (*[signal.sentence for signal in told.signals], *told.reasons):
        assert re.search(r"\d", sentence), sentence


def test_what_was_not_measured_is_said_not_guessed():
    told = verdict(replace(TOYS, smoothness=None, recalls=Recalls(10)))
    unknown = [s.name for s in told.signals if s.strength is Strength.UNKNOWN]
    assert unknown == [SignalName.TEXT, SignalName.LAST_ITEM, SignalName.POPULARITY]
    assert all("not measured" in s.sentence for s in told.signals if s.name in unknown)
    assert told.start_with is RetrieverName.TGH_2


def test_a_data_set_without_edges_has_weak_transitions_and_no_division_by_zero():
    told = verdict(replace(TOYS, mean_out_degree=0.0, coverage=(0.0, 0.0, 0.0), n_items=0))
    assert told.strength(SignalName.TRANSITIONS) is Strength.WEAK


def test_an_encoder_that_finds_nothing_is_not_called_absent():
    recalls = Recalls(10, tgh_1=0.09, tgh_2=0.1)
    evidence = Evidence(10, 1.0, (0.1, 0.2, 0.3), 0.0, recalls, full_recall=0.0, last_recall=0.0)
    assert last_item(evidence).sentence.endswith("The trained encoder finds no target.")
