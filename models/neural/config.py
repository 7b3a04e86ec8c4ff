"""Configuration of the network and its training, and the two presets over the same code."""

from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, Self, TypeVar

from models.errors import ConfigError


class Preset(StrEnum):
    """`paper`: the published configuration, for a GPU. `compact`: trains on two CPU cores in minutes."""

    PAPER = "paper"
    COMPACT = "compact"


class ItemTokens(StrEnum):
    """How an item enters the encoder."""

    ONE = "one"
    """One token: the item's vector."""
    CODES = "codes"
    """One token a code of its semantic ID, each with the projected text added."""


class ItemVector(StrEnum):
    """What the vector is made of that DR compares a query with."""

    TEXT = "text"
    TEXT_AND_ID = "text+id"
    """Projected text plus a learnt vector of the item; unseen items keep the text alone."""


class Norm(StrEnum):
    """How a block's input is normalised: by its root mean square, as T5 does, or also centred, which CPUs do faster."""

    RMS = "rms"
    LAYER = "layer"


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkConfig:
    """Shape of the encoder-decoder. Widths are numbers of features, dropouts are probabilities."""

    text_width: int
    """Width of the text embeddings, from the bundle."""
    codebooks: tuple[int, ...]
    """Codes at each level of the semantic IDs, the unique-making level last; from the bundle."""
    width: int = 256
    heads: int = 4
    head_width: int = 64
    feed_forward: int = 512
    encoder_layers: int = 1
    decoder_layers: int = 1
    tokens: ItemTokens = ItemTokens.ONE
    item_vector: ItemVector = ItemVector.TEXT_AND_ID
    norm: Norm = Norm.LAYER
    causal: bool = True
    """Every position predicts its next item from what lies before it; otherwise a history, read both ways, has one."""
    tail_width: int = 128
    """Principal components of the text that stand unlearnt at the end of item and query vectors; 0 with code tokens."""
    tail_weight: float = 0.62
    """Length of that tail relative to the learnt part."""
    text_layers: int = 1
    """Linear maps between text embedding and network: 1, or 2 with a nonlinearity between."""
    input_dropout: float = 0.3
    block_dropout: float = 0.2
    attention_dropout: float = 0.0
    """Of attention weights."""
    decoder_dropout: float = 0.2
    """In the decoder's blocks and on its inputs."""
    id_dropout: float = 0.3
    """How often a training step takes away an item's own vector, so that text alone has to do."""

    @property
    def vector_width(self) -> int:
        """Features of item and query vectors."""
        return self.width + self.tail_width

    @property
    def tokens_per_item(self) -> int:
        """Encoder positions an item."""
        return 1 if self.tokens is ItemTokens.ONE else len(self.codebooks)

    def facts(self) -> dict[str, Any]:
        """For the manifest and the weights' metadata."""
        return asdict(self)

    @classmethod
    def of(cls, facts: dict[str, Any]) -> Self:
        """From `facts`, also after a round trip through JSON."""
        return cls(
            **facts
            | {
                "codebooks": tuple(facts["codebooks"]),
                "tokens": ItemTokens(facts["tokens"]),
                "item_vector": ItemVector(facts["item_vector"]),
                "norm": Norm(facts["norm"]),
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingConfig:
    """How the network is trained."""

    history: int = 20
    """Newest items of a history that count."""
    batch: int = 128
    """Histories a step, over all processes."""
    epochs: int = 12
    steps: int | None = None
    """Steps in place of epochs."""
    learning_rate: float = 1e-3
    id_rate: float = 0.3
    """Learning rate of what describes items, as a share of the others'."""
    decoder_rate: float = 2.0
    """Learning rate of the decoder, as a share of the encoder's."""
    warmup_steps: int = 100
    weight_decay: float = 0.05
    id_weight_decay: float = 0.01
    """Weight decay of what is learnt for single items."""
    clip: float = 1.0
    """Largest norm of the gradient."""
    temperature: float = 0.07
    """Divisor of the cosine in the softmax over items."""
    dense_weight: float = 1.0
    generative_weight: float = 1.0
    smoothing: float = 0.0
    """Label smoothing of the softmax over items."""
    code_smoothing: float = 0.0
    """Label smoothing of the softmax over codes."""
    drop_history: float = 0.0
    """Largest share of a history's items that a training step leaves out."""
    averaging: float = 0.99
    """Decay a step of the moving average of the weights, which is what is evaluated and exported; 0 = none."""
    patience: int = 5
    """Validations without a better NDCG@10 before training ends."""
    validate_every: int = 1
    """Epochs between validations."""
    seed: int = 20260101

    def facts(self) -> dict[str, Any]:
        """For the manifest."""
        return asdict(self)


AnyConfig = TypeVar("AnyConfig", NetworkConfig, TrainingConfig)


def network_preset(preset: Preset, *, text_width: int, codebooks: tuple[int, ...]) -> NetworkConfig:
    """The network of a preset for a bundle's text embeddings and semantic IDs."""
    compact = NetworkConfig(text_width=text_width, codebooks=codebooks)
    return compact if preset is Preset.COMPACT else replace(compact, **PAPER_NETWORK)


def training_preset(preset: Preset) -> TrainingConfig:
    """The training of a preset."""
    return TrainingConfig() if preset is Preset.COMPACT else replace(TrainingConfig(), **PAPER_TRAINING)


def changed(config: AnyConfig, settings: dict[str, Any]) -> AnyConfig:
    """The configuration with some fields set.

    Raises:
        ConfigError: a field that does not exist.
    """
    unknown = sorted(set(settings) - set(config.facts()))
    if unknown:
        raise ConfigError(
            f"setting {unknown[0]!r}",
            found="an unknown name",
            expected="one of " + ", ".join(config.facts()),
            remedy="Correct the name.",
        )
    found = replace(config, **settings)
    if isinstance(found, NetworkConfig):
        _check(found)
    return found


def _check(network: NetworkConfig) -> None:
    """Refuse a shape that cannot be built.

    Raises:
        ConfigError: what does not go together.
    """
    least = min(network.encoder_layers, network.decoder_layers, network.heads, network.head_width, network.width)
    if least < 1:
        raise ConfigError(
            "settings of the network", found=str(least), expected="layers, heads and widths of at least 1",
            remedy="Correct encoder_layers, decoder_layers, heads, head_width or width.",
        )  # fmt: skip
    if network.tail_width and network.tokens is ItemTokens.CODES:
        raise ConfigError(
            "setting 'tail_width'", found=f"{network.tail_width} with a token for each code",
            expected="0, for only items of one token have a tail", remedy="Leave it out, or use the preset compact.",
        )  # fmt: skip


PAPER_NETWORK: dict[str, Any] = {
    "width": 128,
    "heads": 6,
    "head_width": 64,
    "feed_forward": 1024,
    "encoder_layers": 6,
    "decoder_layers": 6,
    "tokens": ItemTokens.CODES,
    "item_vector": ItemVector.TEXT,
    "norm": Norm.RMS,
    "causal": False,
    "tail_width": 0,
    "text_layers": 2,
    "input_dropout": 0.1,
    "block_dropout": 0.1,
    "attention_dropout": 0.1,
    "decoder_dropout": 0.1,
    "id_dropout": 0.0,
}
"""LIGER (arXiv 2411.18814): T5 with 6 + 6 layers, four tokens an item, item vector = projected text."""

PAPER_TRAINING: dict[str, Any] = {
    "batch": 256,
    "steps": 200_000,
    "learning_rate": 3e-4,
    "warmup_steps": 10_000,
    "weight_decay": 0.035,
    "id_weight_decay": 0.035,
    "id_rate": 1.0,
    "decoder_rate": 1.0,
    "averaging": 0.0,
    "validate_every": 5,
}
"""AdamW, cosine decay after the warm-up, clip 1, both losses weighted 1, histories of 20 items."""
