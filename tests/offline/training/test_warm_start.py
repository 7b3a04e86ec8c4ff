"""The spectral start: counted neighbours are near, unseen items are their text."""

import numpy as np
import pytest
import torch

from models.neural.config import Preset
from models.neural.principal import principal_map
from offline.training.histories import Histories
from offline.training.validation import HeldOut, validate
from offline.training.warm_start import WarmStartConfig, applies, co_occurrence, own_vectors, warm_start
from tests.offline.training.conftest import small_network


def test_pairs_count_by_inverse_distance_and_are_normalised_by_degree() -> None:
    histories = Histories.of([np.array([0, 1, 2], np.int32), np.array([0, 0], np.int32)])
    matrix, counts = co_occurrence(histories, 4, reach=2)
    degree = np.array([1.5, 2.0, 1.5, 0.0]) + 5
    plain = np.array([[0, 1, 0.5, 0], [1, 0, 1, 0], [0.5, 1, 0, 0], [0, 0, 0, 0]])
    expected = plain / np.sqrt(degree[:, None] * degree)
    np.testing.assert_allclose(matrix.to_dense().numpy(), expected, rtol=1e-6)
    assert counts.tolist() == [3, 1, 1, 0]


def test_items_bought_together_point_the_same_way_and_unseen_ones_nowhere() -> None:
    rows = [np.array([0, 1, 2], np.int32)] * 20 + [np.array([3, 4, 5], np.int32)] * 20
    own = own_vectors(Histories.of(rows), 7, 4, WarmStartConfig(), seed=0)
    unit = torch.nn.functional.normalize(own, dim=1)
    assert unit[0] @ unit[2] > 0.9
    assert abs(float(unit[0] @ unit[4])) < 0.2
    assert own[6].abs().sum() == 0


def test_the_principal_map_keeps_the_angles_of_low_dimensional_texts() -> None:
    texts = torch.randn(50, 3, generator=torch.Generator().manual_seed(0)) @ torch.randn(3, 10)
    weight, bias = principal_map(texts, 3)
    mapped = texts @ weight.T + bias
    centred = texts - texts.mean(0)
    torch.testing.assert_close(mapped @ mapped.T, centred @ centred.T * (mapped.norm() / centred.norm()) ** 2,
                               atol=1e-3, rtol=1e-3)  # fmt: skip
    assert mapped.square().sum(1).mean().item() == pytest.approx(1, rel=1e-3)


def test_a_warm_network_beats_a_random_one_before_any_training(histories: Histories, held_out: HeldOut) -> None:
    network = small_network().eval()
    cold = validate(network, held_out, history=6)
    warm_start(network, histories, WarmStartConfig(), seed=0)
    warm = validate(network, held_out, history=6)
    assert warm.recall_10 > cold.recall_10 + 0.08


def test_only_networks_with_own_vectors_start_warm() -> None:
    assert applies(small_network(Preset.COMPACT).config)
    assert not applies(small_network(Preset.PAPER).config)
