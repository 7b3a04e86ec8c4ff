"""What the network knows of an item: its text, its semantic ID and, if it was seen in training, itself."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from models.neural.config import ItemTokens, ItemVector, NetworkConfig
from models.neural.principal import principal_map


class Items(nn.Module):
    """Items as encoder inputs and as vectors that a query is compared with.

    A vector is a learnt part of `config.width` features and a tail of unlearnt ones, the leading components of the
    text: what co-occurrence teaches about training histories wears off with time, resemblance of texts less so. With
    one token an item both are the same vector, so one table serves history and candidates. With a token a code, each
    token is a learnt vector of the code plus the projected text.

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
        self.register_buffer("tails", _tails(config, embeddings, seen), persistent=False)
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
        """float [n, d + tail], L2-normalised."""
        return self._with_tail(self._plain(texts, None), self.tails)

    def inputs(self) -> Tensor:
        """float [n, tokens, d + tail], L2-normalised: all items as the encoder takes them in."""
        everything = torch.arange(len(self.embeddings), device=self.embeddings.device)
        return self(self.texts(), everything)  # type: ignore[no-any-return]

    def forward(self, texts: Tensor, items: Tensor) -> Tensor:
        """float [..., tokens, d + tail], L2-normalised, from int64 [...] item indices."""
        text = texts[items]
        if self.config.tokens is ItemTokens.CODES:
            tails = self.tails[items].unsqueeze(-2).expand(*items.shape, self.codes.shape[1], -1)
            return self._with_tail(text.unsqueeze(-2) + self.code(self.codes[items]), tails)
        return self._with_tail(self._plain(text, items), self.tails[items]).unsqueeze(-2)

    def _with_tail(self, body: Tensor, tails: Tensor) -> Tensor:
        """Both parts in one unit vector, their lengths as 1 to `tail_weight`."""
        if not self.config.tail_width:
            return functional.normalize(body, dim=-1)
        unit = functional.normalize(body, dim=-1)
        return functional.normalize(torch.cat((unit, tails.to(unit.dtype)), dim=-1), dim=-1)

    def _plain(self, text: Tensor, items: Tensor | None) -> Tensor:
        """Projected text plus the items' own vectors, some of which training leaves out."""
        if self.config.item_vector is ItemVector.TEXT:
            return text
        known = self.seen if items is None else self.seen[items]
        own = self.own.weight if items is None else self.own(items)
        if self.training and self.config.id_dropout:
            known = known * (torch.rand_like(known) >= self.config.id_dropout)
        return text + known * own


def _tails(config: NetworkConfig, embeddings: Tensor, seen: Tensor) -> Tensor:
    """float [n, tail_width]: leading components of each text, of length `tail_weight`; 0 without text."""
    tails = embeddings.new_zeros(len(embeddings), config.tail_width)
    known = embeddings.any(1)
    if config.tail_width and bool((known & seen).any()):
        weight, bias = principal_map(embeddings[known & seen], config.tail_width)
        components = functional.normalize(embeddings[known] @ weight.T + bias, dim=-1)
        tails[known, : len(weight)] = config.tail_weight * components
    return tails


def _text_head(config: NetworkConfig) -> nn.Module:
    if config.text_layers == 1:
        return nn.Linear(config.text_width, config.width)
    return nn.Sequential(
        nn.Linear(config.text_width, 2 * config.width),
        nn.GELU(),
        nn.Linear(2 * config.width, config.width),
    )
