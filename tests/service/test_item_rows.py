"""Lists written by the kernel read the same as lists written by a JSON library."""

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.ids import ItemIds
from models.kernels import read_only
from models.retrieval import Candidates
from models.words import SOURCES
from service.item_rows import ItemRows
from tests.strategies import id_lists


def _candidates(items: list[int], scores: list[float], sources: list[int]) -> Candidates:
    return Candidates(np.array(items, np.int32), np.array(scores, np.float32), np.array(sources, np.uint8))


def _expected(ids: ItemIds, found: Candidates) -> list[dict[str, object]]:
    columns = zip(found.items.tolist(), found.scores.astype(np.float64).round(6).tolist(), found.sources, strict=True)
    return [
        {"item_id": ids.id(item), "rank": rank, "score": score, "source": SOURCES[source].value}
        for rank, (item, score, source) in enumerate(columns, 1)
    ]


@given(id_lists, st.data())
def test_any_id_any_source_and_any_score_are_written_as_a_json_library_would(names: list[str], data: st.DataObject):
    ids = ItemIds.from_strings(names)
    n = len(names)
    scores = data.draw(st.lists(st.floats(-1e6, 1e6, width=32), min_size=n, max_size=n))
    sources = data.draw(st.lists(st.integers(0, len(SOURCES) - 1), min_size=n, max_size=n))
    found = _candidates(list(range(n)), scores, sources)
    assert orjson.loads(ItemRows(ids).json(found)) == _expected(ids, found)


def test_ids_that_json_has_to_escape_are_told_apart():
    ids = ItemIds.from_strings(['"', "\\", "\n", "\x00", "\x1f", "\x7f", "né 🧴", "</script>"])
    found = _candidates(list(range(8)), [0.1] * 8, [0] * 8)
    assert [row["item_id"] for row in orjson.loads(ItemRows(ids).json(found))] == [ids.id(i) for i in range(8)]
    assert orjson.loads(ItemRows(ids).ids_json(found)) == [ids.id(i) for i in range(8)]


@pytest.mark.parametrize("score", [0.0, -0.5, 1e-6, 4e-7, 0.9999996, 123456.789, -33.25])
def test_scores_keep_six_decimals(score: float):
    found = _candidates([0], [score], [0])
    written = orjson.loads(ItemRows(ItemIds.from_strings(["a"])).json(found))[0]["score"]
    assert written == round(float(np.float32(score)), 6)


@pytest.mark.parametrize("score", [np.nan, np.inf, -np.inf, 2e9])
def test_a_score_that_cannot_be_is_refused_rather_than_written(score: float):
    with pytest.raises(ValueError, match="not finite"):
        ItemRows(ItemIds.from_strings(["a"])).json(_candidates([0], [score], [0]))


def test_a_list_of_500_longest_ids_and_an_empty_one():
    ids = ItemIds.from_strings(["\x01" * 250 + f"{n:06d}" for n in range(500)])
    found = _candidates(list(range(500)), [-999.999999] * 500, [SOURCES.index(max(SOURCES, key=len))] * 500)
    assert orjson.loads(ItemRows(ids).json(found)) == _expected(ids, found)
    assert ItemRows(ids).json(_candidates([], [], [])) == ItemRows(ids).ids_json(_candidates([], [], [])) == b"[]"


def test_arrays_of_a_worker_are_read_only_or_strided_and_written_all_the_same():
    rows = ItemRows(ItemIds.from_strings(["a", "b"]))
    items, scores, sources = np.array([1, 9, 0], np.int32)[::2], np.ones(2, np.float32), np.zeros(2, np.uint8)
    plain = Candidates(items.copy(), scores, sources)
    assert rows.json(Candidates(items, read_only(scores), read_only(sources))) == rows.json(plain)
