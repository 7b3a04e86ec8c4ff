"""The dense readout as serving calls it: the query vector at the end of each history."""

from torch import Tensor, nn

from models.neural.encoder import Encoder, last
from models.neural.tail import body_of, recent_tail, with_tail


class QueryEncoder(nn.Module):
    """Histories of item vectors to query vectors; the learnt part is the encoder's, the tail the history's own."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, items: Tensor, lengths: Tensor) -> Tensor:
        """Unit vectors [B, d + k] from float [B, T, tokens, d + k] and int64 [B] numbers of items."""
        config = self.encoder.config
        query = last(self.encoder(body_of(items, config), lengths).queries, lengths)
        if not config.tail_width:
            return query
        return with_tail(query, recent_tail(items[:, :, 0], lengths, config), config.tail_weight)
