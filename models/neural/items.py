"""What the network knows of an item: its text, its semantic ID and, if it was seen in training, itself."""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from models.neural.config import ItemTokens, ItemVector, NetworkConfig
from models.neural.tail import item_tails, with_tail


class ItemRows(NamedTuple):
    """What the vectors of some items are made of.

    Attributes:
        embeddings: float32 [n, text_width].
        seen: float32 [n, 1]: 1 for items of the training histories, else 0.
        tails: float32 [n, tail_width].
        own: float32 [n, d]; None = items have no vectors of their own.
    """

    embeddings: Tensor
    seen: Tensor
    tails: Tensor
    own: Tensor | None = None


def served_vectors(config: NetworkConfig, text: nn.Module, rows: ItemRows) -> Tensor:
    """float [n, d + tail], L2-normalised: what DR compares a query with, and what histories are made of.

    `text` projects embeddings to float [n, d].
    """
    body = text(rows.embeddings)
    if rows.own is not None:
        body = body + rows.seen * rows.own
    return with_tail(functional.normalize(body, dim=-1), rows.tails, config.tail_weight)


class Items(nn.Module):
    """Items as encoder inputs and as vectors that a query is compared with.

    With one token an item both are the same vector, so one table serves history and candidates. With a token a code,
    each token is a learnt vector of the code plus the projected text.

    Args:
        config: shape.
        embeddings: float32 [n, text_width]: text embeddings.
        codes: int64 [n, L]: semantic IDs.
        seen: bool [n]: items of the training histories; the others have no vector of their own.
    """

    embeddings: Tensor
    codes: Tensor
    offsets: Tensor
    seen: Tensor
    tails: Tensor

    def __init__(self, config: NetworkConfig, embeddings: Tensor, codes: Tensor, seen: Tensor) -> None:
        super().__init__()
        self.config = config
        offsets = torch.tensor((0, *config.codebooks[:-1])).cumsum(0)
        self.register_buffer("embeddings", embeddings, persistent=False)
        self.register_buffer("offsets", offsets, persistent=False)
        self.register_buffer("codes", codes + offsets, persistent=False)
        self.register_buffer("seen", seen.float()[:, None], persistent=False)
        self.register_buffer("tails", item_tails(config, embeddings, seen), persistent=False)
        self.text = _text_head(config)
        if config.item_vector is ItemVector.TEXT_AND_ID:
            self.own = nn.Embedding(len(embeddings), config.width)
            nn.init.normal_(self.own.weight, std=0.02)
        if config.tokens is ItemTokens.CODES:
            self.code = nn.Embedding(sum(config.codebooks), config.width)
            nn.init.normal_(self.code.weight, std=0.02)

    def plain_codes(self, items: Tensor) -> Tensor:
        """int64 [..., L]: semantic IDs of int64 [...] items."""
        return self.codes[items] - self.offsets

    def texts(self) -> Tensor:
        """float [n, d]: projected texts; made once a step for `vectors` and `forward`."""
        return self.text(self.embeddings)  # type: ignore[no-any-return]

    def vectors(self, texts: Tensor) -> Tensor:
        """float [n, d], L2-normalised."""
        return functional.normalize(self._plain(texts, None), dim=-1)

    def inputs(self) -> Tensor:
        """float [n, tokens, d], L2-normalised: all items as the encoder takes them in."""
        everything = torch.arange(len(self.embeddings), device=self.embeddings.device)
        return self(self.texts(), everything)  # type: ignore[no-any-return]

    def served_vectors(self) -> Tensor:
        """float [n, d + tail] of all items: see the function of that name."""
        return served_vectors(self.config, self.text, self.rows())

    def rows(self) -> ItemRows:
        """What the vectors of all items are made of."""
        own = self.own.weight if self.config.item_vector is ItemVector.TEXT_AND_ID else None
        return ItemRows(self.embeddings, self.seen, self.tails, own)

    def served_inputs(self) -> Tensor:
        """float [n, tokens, d + tail]: all items as the exported encoder takes them in."""
        return self.served_vectors().unsqueeze(1) if self.config.tokens is ItemTokens.ONE else self.inputs()

    def forward(self, texts: Tensor, items: Tensor) -> Tensor:
        """float [..., tokens, d], L2-normalised, from int64 [...] item indices."""
        text = texts[items]
        if self.config.tokens is ItemTokens.CODES:
            return functional.normalize(text.unsqueeze(-2) + self.code(self.codes[items]), dim=-1)
        return functional.normalize(self._plain(text, items), dim=-1).unsqueeze(-2)

    def _plain(self, text: Tensor, items: Tensor | None) -> Tensor:
        """Projected text plus the items' own vectors, some of which training leaves out."""
        if self.config.item_vector is ItemVector.TEXT:
            return text
        known = self.seen if items is None else self.seen[items]
        own = self.own.weight if items is None else self.own(items)
        if self.training and self.config.id_dropout:
            known = known * (torch.rand_like(known) >= self.config.id_dropout)
        return text + known * own


def _text_head(config: NetworkConfig) -> nn.Module:
    if config.text_layers == 1:
        return nn.Linear(config.text_width, config.width)
    return nn.Sequential(
        nn.Linear(config.text_width, 2 * config.width),
        nn.GELU(),
        nn.Linear(2 * config.width, config.width),
    )
