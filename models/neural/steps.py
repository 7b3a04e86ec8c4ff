"""What beam search asks of the network: log-probabilities of the next code, with everything about a history kept."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from models.bundle import layout
from models.bundle.reader import Bundle
from models.neural.cpu_steps import padded
from models.neural.decoder import Decoder
from models.neural.encoder import Encoder, last
from models.neural.layers import KeysValues
from models.neural.tail import body_of
from models.neural.weights import encoder_inputs, read_weights

Float32s = npt.NDArray[np.float32]
Int32s = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class OpenNetwork:
    """Encoder and decoder of a bundle on a device, shared by searches."""

    encoder: Encoder
    decoder: Decoder
    inputs: Tensor
    history: int

    def steps(self) -> "NetworkSteps":
        """For one search."""
        return NetworkSteps(self.encoder, self.decoder, self.inputs, self.history)


def open_network(bundle: Bundle, device: str) -> OpenNetwork:
    """The network of a bundle, on a device of torch."""
    weights = read_weights(bundle.file(layout.GENERATOR))
    parts: dict[str, nn.Module] = {"encoder": Encoder(weights.config), "decoder": Decoder(weights.config)}
    for name, module in parts.items():
        mine = {key: value for key, value in weights.arrays.items() if key.startswith(f"{name}.")}
        module.load_state_dict({key.removeprefix(f"{name}."): torch.from_numpy(value) for key, value in mine.items()})
        module.eval().to(device)
    encoder, decoder = parts["encoder"], parts["decoder"]
    assert isinstance(encoder, Encoder)
    assert isinstance(decoder, Decoder)
    inputs = torch.from_numpy(np.array(encoder_inputs(bundle))).to(device)
    return OpenNetwork(encoder, decoder, inputs, weights.history)


class NetworkSteps:
    """The steps of a trained encoder and decoder, on any device.

    Args:
        encoder: histories to states.
        decoder: states and codes to the next code.
        inputs: float32 [n, tokens, d]: all items as the encoder takes them in.
        history: newest items of a history that count.
    """

    def __init__(self, encoder: Encoder, decoder: Decoder, inputs: Tensor, history: int) -> None:
        self.encoder, self.decoder, self.inputs, self.history = encoder, decoder, inputs, history
        self.memory: list[KeysValues] = []
        self.past: list[KeysValues] = []
        self.bias = inputs.new_empty(0)

    @torch.inference_mode()
    def start(self, histories: Sequence[Int32s]) -> Float32s:
        """As in `Steps`."""
        items, lengths = (torch.from_numpy(part).to(self.inputs.device) for part in self._batch(histories))
        encoded = self.encoder(body_of(self.inputs[items], self.encoder.config), lengths)
        self.memory = self.decoder.memory(encoded.states)
        self.bias = self.decoder.history_bias(lengths, encoded.states.shape[1])
        x = self.decoder.first(last(encoded.positions, lengths), last(encoded.queries, lengths))[
            :, None, None
        ]  # [R, 1, 1, d]
        return self._outcome(x, None, 0)

    @torch.inference_mode()
    def step(self, parents: Int32s, codes: Int32s, level: int) -> Float32s:
        """As in `Steps`."""
        requests = len(parents)
        before = self.past[0][0].shape[0] // requests
        rows = torch.from_numpy((parents + np.arange(requests)[:, None] * before).ravel().astype(np.int64))
        rows = rows.to(self.inputs.device)
        past = [(keys[rows], values[rows]) for keys, values in self.past]
        following = self.decoder.following(torch.from_numpy(codes).long().to(self.inputs.device), level - 1)
        return self._outcome(following[:, :, None], past, level)

    def _outcome(self, x: Tensor, past: list[KeysValues] | None, level: int) -> Float32s:
        y, self.past = self.decoder(x, self.memory, self.bias, past)
        logits = self.decoder.heads[level](y[:, :, 0]).float()
        return logits.log_softmax(-1).cpu().numpy()  # type: ignore[no-any-return]

    def _batch(self, histories: Sequence[Int32s]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        return padded([history[-self.history :] for history in histories])
