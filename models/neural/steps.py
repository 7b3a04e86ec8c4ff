"""What beam search asks of the network: log-probabilities of the next code, with everything about a history kept."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from models.neural.decoder import Decoder
from models.neural.encoder import Encoder, last
from models.neural.layers import KeysValues

Float32s = npt.NDArray[np.float32]
Int32s = npt.NDArray[np.int32]


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
        items, lengths = self._batch(histories)
        encoded = self.encoder(self.inputs[items], lengths)
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

    def _batch(self, histories: Sequence[Int32s]) -> tuple[Tensor, Tensor]:
        newest = [history[-self.history :] for history in histories]
        lengths = [len(history) for history in newest]
        items = np.zeros((len(newest), max(lengths)), np.int64)
        for row, history in enumerate(newest):
            items[row, : len(history)] = history
        device = self.inputs.device
        return torch.from_numpy(items).to(device), torch.tensor(lengths, device=device)
