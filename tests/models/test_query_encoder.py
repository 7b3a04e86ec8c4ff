"""Query vectors without torch: those of the definition, and the same whatever is encoded together."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from models.neural.config import Preset
from models.neural.query import QueryEncoder as Definition
from models.query_encoder import MOST_POSITIONS, QueryEncoder
from offline.training.export import export_query_encoder
from offline.training.onnx import ITEMS, REQUESTS, to_onnx
from tests.models.neural.test_network import N, tiny

HISTORY = 7
histories = st.lists(st.lists(st.integers(0, N - 1), min_size=1, max_size=HISTORY + 3), min_size=1, max_size=60)


def as_items(asked: list[list[int]]) -> list[np.ndarray]:
    return [np.array(history, np.int32) for history in asked]


@pytest.fixture(scope="module", params=list(Preset))
def network(request: pytest.FixtureRequest) -> torch.nn.Module:
    return tiny(request.param).eval()


@pytest.fixture(scope="module")
def inputs(network: torch.nn.Module) -> np.ndarray:
    with torch.inference_mode():
        return network.items.served_inputs().numpy()


@pytest.fixture(scope="module")
def encoder(network: torch.nn.Module, inputs: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> QueryEncoder:
    path = tmp_path_factory.mktemp("encoder") / "query_encoder.onnx"
    assert export_query_encoder(network, HISTORY, path) < 1e-5
    return QueryEncoder(path, inputs, HISTORY, 1)


def defined(network: torch.nn.Module, inputs: np.ndarray, history: list[int]) -> np.ndarray:
    newest = torch.from_numpy(inputs[history[-HISTORY:]])[None]
    with torch.inference_mode():
        return Definition(network.encoder)(newest, torch.tensor([newest.shape[1]]))[0].numpy()


@given(histories)
@settings(max_examples=40, deadline=None)
def test_a_vector_is_the_same_bit_by_bit_alone_and_in_any_company(
    network: torch.nn.Module, inputs: np.ndarray, encoder: QueryEncoder, asked: list[list[int]]
) -> None:
    together = encoder.encode(as_items(asked))
    for vector, history in zip(together, asked, strict=True):
        np.testing.assert_array_equal(vector, encoder.encode(as_items([history]))[0])
    np.testing.assert_allclose(together[0], defined(network, inputs, asked[0]), atol=1e-5)


def test_more_histories_than_are_encoded_at_once_keep_their_order(inputs: np.ndarray, encoder: QueryEncoder) -> None:
    asked = [[n % N, (3 * n) % N] for n in range(MOST_POSITIONS)]
    together = encoder.encode(as_items(asked))
    assert len(together) == len(asked)
    for place in (0, 1, len(asked) // 2, len(asked) - 1):
        np.testing.assert_array_equal(together[place], encoder.encode(as_items([asked[place]]))[0])


def test_an_encoder_that_was_exported_for_padded_histories_still_serves(tmp_path: Path) -> None:
    network = tiny(Preset.COMPACT).eval()
    with torch.inference_mode():
        inputs = network.items.served_inputs().numpy()
    shape = (3, 5, *inputs.shape[1:])
    examples = {
        "items": (torch.randn(shape), {0: REQUESTS, 1: ITEMS}),
        "lengths": (torch.tensor([1, 2, 3]), {0: REQUESTS}),
    }
    to_onnx(Definition(network.encoder), tmp_path / "old.onnx", examples, ["queries"])
    asked = [[1, 2, 3], [4], [5, 6, 5, 6, 1, 2, 3, 4, 9]]
    found = QueryEncoder(tmp_path / "old.onnx", inputs, HISTORY, 1).encode(as_items(asked))
    for vector, history in zip(found, asked, strict=True):
        np.testing.assert_allclose(vector, defined(network, inputs, history), atol=1e-5)
