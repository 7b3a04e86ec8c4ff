"""One encoder-decoder with two readouts: a query vector (DR) and the codes of the next item (GR).

Trained jointly as in arXiv 2411.18814, so that both differ only in the readout.
"""

from torch import Tensor, nn

from models.neural.config import NetworkConfig
from models.neural.decoder import Decoder
from models.neural.encoder import Encoder
from models.neural.items import Items


class Network(nn.Module):
    """Items, encoder and decoder."""

    def __init__(self, config: NetworkConfig, embeddings: Tensor, codes: Tensor, seen: Tensor) -> None:
        super().__init__()
        self.config = config
        self.items = Items(config, embeddings, codes, seen)
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
