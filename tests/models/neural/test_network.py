"""The network under both presets: what a position sees, what trains, and that decoding equals teaching."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from models.errors import ConfigError
from models.neural import layers
from models.neural.allowed import Allowed
from models.neural.beam import BeamRequest, search
from models.neural.config import NetworkConfig, Preset, changed, network_preset
from models.neural.cpu_encoder import RelativeBias
from models.neural.cpu_steps import CpuDecoder, CpuSteps
from models.neural.encoder import last
from models.neural.network import Network
from models.neural.query import QueryEncoder
from models.neural.semantic_ids import with_unique_code
from models.neural.steps import NetworkSteps
from models.neural.trie import Trie
from models.neural.weights import Weights
from offline.training.export import generator_tensors

N = 30


def tiny(preset: Preset, seed: int = 0) -> Network:
    generator = np.random.default_rng(seed)
    codes = with_unique_code(generator.integers(0, 4, (N, 3)).astype(np.int32))
    config = replace(
        network_preset(preset, text_width=6, codebooks=(4, 4, 4, int(codes[:, 3].max()) + 1)),
        width=16, tail_width=4 * (preset is Preset.COMPACT), heads=2,
        head_width=8, feed_forward=32, encoder_layers=2, decoder_layers=2,
    )  # fmt: skip
    torch.manual_seed(seed)
    texts = torch.randn(N, 6)
    network = Network(config, texts, torch.from_numpy(codes).long(), torch.arange(N) % 7 > 0)
    for bias in (network.encoder.bias, network.decoder.bias):
        torch.nn.init.normal_(bias.weight)
    return network


def encoded(network: Network, items: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Encoder input, padded with item 0, and lengths."""
    lengths = torch.tensor([len(row) for row in items])
    padded = torch.tensor([row + [0] * (int(lengths.max()) - len(row)) for row in items])
    return network.items.inputs()[padded], lengths


@pytest.mark.parametrize("preset", list(Preset))
def test_padding_changes_nothing(preset: Preset) -> None:
    network = tiny(preset).eval()
    with torch.inference_mode():
        alone = network.encoder(*encoded(network, [[3, 4]]))
        padded = network.encoder(*encoded(network, [[3, 4], [5, 6, 7, 8, 9]]))
    p = alone.queries.shape[1]
    torch.testing.assert_close(padded.queries[:1, :p], alone.queries, atol=1e-5, rtol=0)


def test_a_causal_position_sees_nothing_that_comes_later() -> None:
    network = tiny(Preset.COMPACT).eval()
    with torch.inference_mode():
        short = network.encoder(*encoded(network, [[3, 4]]))
        long = network.encoder(*encoded(network, [[3, 4, 9, 11]]))
    torch.testing.assert_close(long.queries[:, :2], short.queries, atol=1e-5, rtol=0)
    torch.testing.assert_close(long.states[:, :2], short.states, atol=1e-5, rtol=0)


@pytest.mark.parametrize("preset", list(Preset))
def test_step_by_step_decoding_gives_the_probabilities_of_teaching(preset: Preset) -> None:
    network = tiny(preset).eval()
    trie = Trie.build(network.items.plain_codes(torch.arange(N)).int().numpy(), network.config.codebooks)
    steps = NetworkSteps(network.encoder, network.decoder, network.items.served_inputs().detach(), history=20)
    histories = [np.array([3, 4, 5], np.int32), np.array([8], np.int32)]
    ranks = np.empty(N, np.int32)
    ranks[trie.items] = np.arange(N, dtype=np.int32)
    everything = Allowed.of(trie, None, np.empty(0, np.int32), ranks)
    results = search(steps, trie, [BeamRequest(history, N, N, everything) for history in histories])
    for history, result in zip(histories, results, strict=True):
        expected = taught(network, history)
        assert result.exact
        np.testing.assert_allclose(result.scores, expected[result.items], atol=1e-4)
        assert sorted(result.items.tolist()) == list(range(N))


@torch.inference_mode()
def taught(network: Network, history: np.ndarray) -> np.ndarray:
    """float [N]: log-probability of every item's ID after a history, all codes given."""
    inputs, lengths = encoded(network, [history.tolist()] * N)
    out = network.encoder(inputs, lengths)
    codes = network.items.plain_codes(torch.arange(N))
    positions = out.positions.shape[1]
    outputs = network.decoder.teach(out, lengths, codes[:, None].expand(N, positions, 4))[:, -1]
    total = torch.zeros(N)
    for level, head in enumerate(network.decoder.heads):
        total += head(outputs[:, level]).log_softmax(-1).gather(1, codes[:, level, None])[:, 0]
    return total.numpy()


def test_an_unseen_items_vector_is_its_text_alone() -> None:
    network = tiny(Preset.COMPACT).eval()
    before = network.items.vectors(network.items.texts())
    with torch.no_grad():
        network.items.own.weight.add_(1)
    after = network.items.vectors(network.items.texts())
    unseen = torch.arange(N) % 7 == 0
    torch.testing.assert_close(before[unseen], after[unseen])
    assert (before[~unseen] - after[~unseen]).abs().max() > 0.1


def test_presets_survive_a_round_trip_through_facts() -> None:
    config = network_preset(Preset.PAPER, text_width=6, codebooks=(4, 4, 2))
    assert NetworkConfig.of(config.facts()) == config


def test_the_paper_preset_is_the_published_one() -> None:
    config = network_preset(Preset.PAPER, text_width=384, codebooks=(256, 256, 256, 9))
    assert (config.encoder_layers, config.decoder_layers, config.width, config.feed_forward) == (6, 6, 128, 1024)
    assert (config.heads, config.head_width, config.tokens_per_item, config.causal) == (6, 64, 4, False)


@pytest.mark.parametrize(
    ("preset", "setting"),
    [(Preset.COMPACT, {"encoder_layers": 0}), (Preset.COMPACT, {"width": -1}), (Preset.PAPER, {"tail_width": 4})],
)
def test_a_network_that_cannot_be_is_refused_before_it_is_trained(preset: Preset, setting: dict[str, int]) -> None:
    config = network_preset(preset, text_width=8, codebooks=(4, 4, 2))
    with pytest.raises(ConfigError, match=next(iter(setting))):
        changed(config, setting)


@pytest.mark.parametrize("preset", list(Preset))
def test_decoding_without_torch_equals_torch(preset: Preset) -> None:
    network = tiny(preset).eval()
    for name, gain in (*network.encoder.named_parameters(), *network.decoder.named_parameters()):
        if "norm" in name or "recency" in name:
            torch.nn.init.uniform_(gain, 0.5, 2)
    inputs = network.items.served_inputs().detach()
    torch_steps = NetworkSteps(network.encoder, network.decoder, inputs, history=20)
    arrays = {name: value.detach().numpy() for name, value in generator_tensors(network).items()}
    weights = Weights(arrays, network.config, history=20)
    decoder = CpuDecoder(weights, inputs.numpy())
    trie = Trie.build(network.items.plain_codes(torch.arange(N)).int().numpy(), network.config.codebooks)
    ranks = np.empty(N, np.int32)
    ranks[trie.items] = np.arange(N, dtype=np.int32)
    everything = Allowed.of(trie, None, np.empty(0, np.int32), ranks)
    for histories, beam in (
        ([[3, 4, 5], [8]], 6),
        ([[1]], 1),
        ([[2, 2, 9, 1, 7]] * 3, 40),
        ([list(range(N)), [4] * 9], 20),
    ):
        asked = [BeamRequest(np.array(history, np.int32), beam, beam, everything) for history in histories]
        for left, right in zip(search(torch_steps, trie, asked), search(CpuSteps(decoder), trie, asked), strict=True):
            np.testing.assert_allclose(left.scores, right.scores, atol=1e-4)
            assert left.items.tolist() == right.items.tolist()


@pytest.mark.parametrize("two_sided", [False, True])
def test_distances_fall_into_the_buckets_of_training(two_sided: bool) -> None:
    ours = RelativeBias(np.zeros((32, 2), np.float32), two_sided=two_sided)
    distance = np.arange(-300, 3000)
    theirs = layers.RelativeBias(2, two_sided=two_sided).bucket(torch.from_numpy(distance))
    np.testing.assert_array_equal(ours.bucket(distance), theirs.numpy())


def test_the_tail_adds_the_likeness_of_texts_to_that_of_learnt_parts() -> None:
    network = tiny(Preset.COMPACT).eval()
    lengths = torch.tensor([3, 2])
    histories = torch.tensor([[1, 2, 3], [4, 5, 0]])
    with torch.inference_mode():
        vectors = network.items.served_vectors()
        query = QueryEncoder(network.encoder)(network.items.served_inputs()[histories], lengths)
        body = last(network.encoder(network.items.inputs()[histories], lengths).queries, lengths)
        tails, w = network.items.tails, network.config.tail_weight
        recent = torch.stack([(tails[1] + 2 * tails[2] + 4 * tails[3]) / 7, (tails[4] + 2 * tails[5]) / 3])
        plain = body @ network.items.vectors(network.items.texts()).T + w * w * recent @ tails.T
    scale = (1 + w * w) ** -0.5 * (1 + w * w * recent.square().sum(1, keepdim=True)) ** -0.5
    torch.testing.assert_close(query @ vectors.T, plain * scale, atol=1e-5, rtol=0)
