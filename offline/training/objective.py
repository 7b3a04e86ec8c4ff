"""The joint loss of a batch: softmax over training items for DR plus cross-entropy of the codes for GR."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from models.neural.config import TrainingConfig
from models.neural.losses import code_loss, dense_loss
from models.neural.network import Network
from offline.training.histories import NO_TARGET


class Losses(NamedTuple):
    """Scalars: their weighted sum, and the two parts unweighted (without gradient)."""

    total: Tensor
    dense: Tensor
    generative: Tensor


class Objective(nn.Module):
    """The network and its loss as one module, so that data-parallel training can wrap it."""

    training_items: Tensor
    row_of: Tensor

    def __init__(self, network: Network, config: TrainingConfig) -> None:
        super().__init__()
        self.network, self.config = network, config
        training_items = network.items.seen[:, 0].nonzero().ravel()
        row_of = torch.full((len(network.items.seen),), NO_TARGET, device=training_items.device)
        row_of[training_items] = torch.arange(len(training_items), device=training_items.device)
        self.register_buffer("training_items", training_items, persistent=False)
        self.register_buffer("row_of", row_of, persistent=False)

    def forward(self, items: Tensor, lengths: Tensor, targets: Tensor) -> Losses:
        """Losses of int64 items [B, T], lengths [B] and targets [B, P]."""
        network, config = self.network, self.config
        texts = network.items.texts()
        encoded = network.encoder(network.items(texts, items), lengths)
        wanted = targets != NO_TARGET
        truth = targets[wanted]
        vectors = network.items.vectors(texts)[self.training_items]
        dense = dense_loss(
            encoded.queries[wanted].float(), vectors.float(), self.row_of[truth], config.temperature, config.smoothing
        )
        codes = network.items.plain_codes(targets.clamp(min=0))
        outputs = network.decoder.teach(encoded, lengths, codes)
        logits = [head(outputs[:, :, level])[wanted] for level, head in enumerate(network.decoder.heads)]
        generative = code_loss(logits, network.items.plain_codes(truth), config.code_smoothing)
        total = config.dense_weight * dense + config.generative_weight * generative
        return Losses(total, dense.detach(), generative.detach())
