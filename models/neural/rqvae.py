"""RQ-VAE: codebooks learnt together with an encoder and a decoder of the text embedding (arXiv 2305.05065 section 3.1).

Codebooks follow exponential moving averages of the vectors assigned to them instead of gradients (arXiv 1711.00937,
appendix A.1), and a code that nothing has used for a while is restarted at a random input of its level.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from models.neural.semantic_ids import IdConfig, SemanticIds, Vectors, finished


@dataclass(frozen=True, slots=True)
class RqvaeConfig:
    """Architecture and optimisation beyond `IdConfig`."""

    hidden: tuple[int, ...] = (256, 128)
    """Widths of the encoder's hidden layers, mirrored in the decoder."""
    latent: int = 32
    """Width of the quantised vector."""
    decay: float = 0.95
    """Decay of the moving averages, a step."""
    commitment: float = 0.25
    """Weight of the loss that keeps the encoder near its codes."""
    dead_below: float = 0.1
    """A code whose moving count falls below this is restarted."""
    batch: int = 1024
    learning_rate: float = 1e-3


class Codebook(nn.Module):
    """One level: float32 [codes, width] vectors kept as moving averages."""

    vectors: Tensor
    counts: Tensor
    sums: Tensor

    def __init__(self, initial: Tensor, config: RqvaeConfig) -> None:
        super().__init__()
        self.config = config
        self.register_buffer("vectors", initial.clone())
        self.register_buffer("counts", torch.ones(len(initial)))
        self.register_buffer("sums", initial.clone())

    def assign(self, x: Tensor) -> Tensor:
        """int64 [n]: nearest code of each row."""
        return torch.cdist(x, self.vectors).argmin(dim=1)

    @torch.no_grad()
    def follow(self, x: Tensor, assigned: Tensor, generator: torch.Generator) -> None:
        """Move the codes towards the rows assigned to them and restart those that died."""
        decay = self.config.decay
        self.counts.mul_(decay).add_(torch.bincount(assigned, minlength=len(self.counts)), alpha=1 - decay)
        self.sums.mul_(decay).add_(torch.zeros_like(self.sums).index_add_(0, assigned, x), alpha=1 - decay)
        dead = (self.counts < self.config.dead_below).nonzero().ravel()
        reborn = x[torch.randint(len(x), (len(dead),), generator=generator)]
        self.counts[dead], self.sums[dead] = 1.0, reborn
        self.vectors.copy_(self.sums / self.counts[:, None])


class Rqvae(nn.Module):
    """Encoder, residual codebooks, decoder."""

    def __init__(self, width: int, config: RqvaeConfig) -> None:
        super().__init__()
        widths = (width, *config.hidden, config.latent)
        self.encoder = _mlp(widths)
        self.decoder = _mlp(widths[::-1])
        self.books = nn.ModuleList()
        self.config = config

    def quantise(self, z: Tensor) -> tuple[Tensor, Tensor, list[Tensor]]:
        """Codes int64 [n, levels], their summed vectors [n, latent] and the residual that entered each level."""
        residual, codes, entered = z, [], []
        for book in self.books:
            assert isinstance(book, Codebook)
            entered.append(residual)
            codes.append(book.assign(residual))
            residual = residual - book.vectors[codes[-1]]
        return torch.stack(codes, 1), z - residual, entered


def rqvae_ids(
    embeddings: Vectors, learnt_from: npt.NDArray[np.bool_], config: IdConfig, model: RqvaeConfig | None = None
) -> SemanticIds:
    """IDs of all items from an RQ-VAE trained on some; arguments as in `semantic_ids.kmeans_ids`."""
    model = model or RqvaeConfig()
    generator = torch.Generator().manual_seed(config.seed)
    everything = torch.from_numpy(np.array(embeddings, np.float32))
    network = train_rqvae(everything[torch.from_numpy(learnt_from)], config, model, generator)
    with torch.no_grad():
        codes, quantised, _ = network.quantise(network.encoder(everything))
        reconstruction = network.decoder(quantised).numpy()
    return finished(codes.numpy().astype(np.int32), embeddings, reconstruction, config)


def train_rqvae(rows: Tensor, config: IdConfig, model: RqvaeConfig, generator: torch.Generator) -> Rqvae:
    """A trained network; float32 [n, d] rows."""
    with torch.random.fork_rng():
        torch.manual_seed(config.seed)
        network = Rqvae(rows.shape[1], model)
    _start_books(network, rows, config, generator)
    optimiser = torch.optim.AdamW(network.parameters(), lr=model.learning_rate)
    for _ in range(config.epochs):
        for batch in torch.randperm(len(rows), generator=generator).split(model.batch):  # type: ignore[no-untyped-call]
            loss = _step(network, rows[batch], generator)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    return network


@torch.no_grad()
def _start_books(network: Rqvae, rows: Tensor, config: IdConfig, generator: torch.Generator) -> None:
    """Start every level at residuals of random rows, so that no code begins dead."""
    residual = network.encoder(rows)
    for _ in range(config.levels):
        chosen = torch.randint(len(rows), (config.codebook,), generator=generator)
        book = Codebook(residual[chosen], network.config)
        network.books.append(book)
        residual = residual - book.vectors[book.assign(residual)]


def _step(network: Rqvae, x: Tensor, generator: torch.Generator) -> Tensor:
    """Loss of one batch; the codebooks follow as a side effect."""
    z = network.encoder(x)
    codes, quantised, entered = network.quantise(z)
    for level, book in enumerate(network.books):
        assert isinstance(book, Codebook)
        book.follow(entered[level].detach(), codes[:, level], generator)
    straight_through = z + (quantised - z).detach()
    reconstruction = functional.mse_loss(network.decoder(straight_through), x, reduction="none").sum(1).mean()
    commitment = functional.mse_loss(z, quantised.detach(), reduction="none").sum(1).mean()
    return reconstruction + network.config.commitment * commitment


def _mlp(widths: tuple[int, ...]) -> nn.Sequential:
    layers: list[nn.Module] = []
    for into, out in pairwise(widths):
        layers += [nn.Linear(into, out), nn.ReLU()]
    return nn.Sequential(*layers[:-1])
