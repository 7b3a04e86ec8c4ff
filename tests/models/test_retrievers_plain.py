"""Lists of `sem-nn` and `popular` that can be read off by eye, and what the registry offers."""

from pathlib import Path

import numpy as np
import pytest

from models.bundle.manifest import SplitInfo
from models.bundle.reader import Bundle
from models.bundle.writer import BundleWriter
from models.errors import BundleError
from models.filters import eligible
from models.ids import ItemIds
from models.registry import available, open_retriever
from models.retrieval import Candidates, Query
from models.words import RetrieverName, Source
from tests.shop import add_ids


def ask(bundle: Bundle, name: RetrieverName, history: str, k: int, *, excluded: str = "") -> Candidates:
    blocked = bundle.ids.indices(list(excluded))
    return open_retriever(bundle, name).retrieve(
        Query(bundle.ids.indices(list(history)), k, eligible(bundle.n_items, None, blocked))
    )


def letters(bundle: Bundle, found: Candidates) -> str:
    return "".join(bundle.ids.strings(found.items))


def test_sem_nn_ranks_by_cosine_with_the_last_item(plain_bundle: Bundle) -> None:
    found = ask(plain_bundle, RetrieverName.SEM_NN, "ie", 4)
    assert letters(plain_bundle, found) == "dfcb"
    assert found.scores == pytest.approx(np.cos(np.deg2rad([4, 5, 7, 9])), abs=1e-6)
    assert set(found.source_names()) == {Source.TEXT}


def test_sem_nn_never_returns_its_anchor_as_a_neighbour_even_where_seen_items_are_included(
    plain_bundle: Bundle,
) -> None:
    found = ask(plain_bundle, RetrieverName.SEM_NN, "ie", 10)
    assert letters(plain_bundle, found)[:8] == "dfcbagh" + "i"
    assert found.source_names()[:8] == [Source.TEXT] * 8
    assert letters(plain_bundle, found)[8:] == "je"
    assert found.source_names()[8:] == [Source.BACKFILL] * 2


def test_sem_nn_of_an_item_without_text_falls_back_to_popular_items(plain_bundle: Bundle) -> None:
    found = ask(plain_bundle, RetrieverName.SEM_NN, "j", 3, excluded="j")
    assert letters(plain_bundle, found) == "ihg"
    assert set(found.source_names()) == {Source.BACKFILL}


def test_popular_ranks_by_interactions_and_scores_by_percentile(plain_bundle: Bundle) -> None:
    found = ask(plain_bundle, RetrieverName.POPULAR, "a", 3, excluded="j")
    assert letters(plain_bundle, found) == "ihg"
    assert found.scores == pytest.approx([0.9, 0.8, 0.7])
    assert set(found.source_names()) == {Source.POPULAR}


def test_the_registry_offers_what_the_bundle_holds(plain_bundle: Bundle) -> None:
    training_free = {RetrieverName.TGH_1, RetrieverName.TGH_2, RetrieverName.SEM_NN, RetrieverName.POPULAR}
    assert training_free <= set(available(plain_bundle))


def test_a_retriever_whose_artifacts_are_missing_is_refused_by_their_names(tmp_path: Path) -> None:
    with BundleWriter.create(tmp_path, split=SplitInfo(), config={}) as writer:
        add_ids(writer, ItemIds.from_strings(["a"]))
        writer.publish()
    bundle = Bundle.open(tmp_path)
    assert available(bundle) == ()
    with pytest.raises(BundleError, match="popular_order"):
        open_retriever(bundle, RetrieverName.POPULAR)
