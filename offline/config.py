"""The build configuration: read from build.toml, completed by command-line options, kept whole in the manifest."""

import tomllib
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, model_validator

from models.errors import ConfigError
from models.words import Split

ORDER_HINT = "Correct the entry, or remove it for the default."


class UnknownItems(StrEnum):
    """What becomes of an interaction with an item that the catalogue lacks."""

    DROP = "drop"
    KEEP = "keep"


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class InteractionColumns(_Section):
    """Names of the columns in the interaction files."""

    user_id: str = "user_id"
    item_id: str = "item_id"
    timestamp: str = "timestamp"
    rating: str = "rating"
    event: str = "event"


class ItemColumns(_Section):
    """Names of the columns in the catalogue."""

    item_id: str = "item_id"
    title: str = "title"
    brand: str = "brand"
    price: str = "price"
    categories: str = "categories"
    description: str = "description"
    available: str = "available"
    rating_avg: str = "rating_avg"
    rating_count: str = "rating_count"
    also_bought: str = "also_bought"
    also_viewed: str = "also_viewed"
    bought_together: str = "bought_together"


class InteractionRules(_Section):
    """How interactions are read."""

    events: tuple[str, ...] = ()
    """Events that count, as written in column `event`; empty = all, also rows without an event."""
    unknown_items: UnknownItems = UnknownItems.DROP
    """Interactions with items that the catalogue lacks: `drop` them, or `keep` them as items without metadata."""
    columns: InteractionColumns = InteractionColumns()


class ItemRules(_Section):
    """How the catalogue is read."""

    columns: ItemColumns = ItemColumns()
    stock_as_of: AwareDatetime | None = None
    """When the catalogue's `available` was true, ISO 8601 with offset: what operators said of an item before then
    yields to it. Absent = what operators said always wins."""


class RatingScale(_Section):
    """The scale of `rating` and `rating_avg`; without it ratings are reported and not used."""

    low: float = Field(allow_inf_nan=False)
    """Worst rating, in stars (or whatever the data's unit is)."""
    high: float = Field(allow_inf_nan=False)
    """Best rating, same unit; greater than `low`."""
    allow_leak: bool = False
    """Use `rating_avg` + `rating_count` also under a leave-last-out split, though they cover the test period."""

    @model_validator(mode="after")
    def _rising(self) -> Self:
        if self.low >= self.high:
            raise ValueError(f"low = {self.low} must be less than high = {self.high}")
        return self


class TextRules(_Section):
    """How items become embeddings."""

    encoder: str = Field("wordllama", pattern=r"^(wordllama|minilm|none|hf:.+|onnx:.+)$")
    """wordllama, minilm, hf:NAME, onnx:DIR, or none: then every item counts as one without text."""
    template: str = "Title: {title}; Brand: {brand}; Categories: {paths}"
    """Text of an item; fields title, brand, description, paths (category paths joined by `; `, levels by ` > `)."""
    batch_size: int = Field(256, ge=1, le=65536)
    """Texts encoded at once."""
    neighbours: int = Field(100, ge=1, le=2000)
    """Text neighbours kept an item: they fill short lists."""

    @model_validator(mode="after")
    def _known_fields(self) -> Self:
        try:
            self.template.format(title="", brand="", description="", paths="")
        except (KeyError, IndexError, ValueError) as error:
            raise ValueError(f"template {self.template!r} has an unknown field or a stray brace: {error}") from error
        return self


Depth = Annotated[int, Field(ge=1)]
Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ValueRules(_Section):
    """The static item value; weights are normalised to sum 1."""

    popularity: Weight = 0.25
    """Weight of the percentile rank of log popularity."""
    rating: Weight = 0.25
    """Weight of the percentile rank of the Wilson lower bound of the rating."""
    brand: Weight = 0.50
    """Weight of the percentile rank of the brand's footprint."""

    @model_validator(mode="after")
    def _some_weight(self) -> Self:
        if self.popularity + self.rating + self.brand == 0:
            raise ValueError("all three weights are 0")
        return self


class RingRules(_Section):
    """The ring lists of TGH, computed for every item."""

    alpha: float = Field(0.5, ge=0, allow_inf_nan=False)
    """Weight of the edge weight against the cosine in ring 1."""
    depth: tuple[Depth, Depth, Depth] = (256, 256, 128)
    """Items stored of rings 1, 2 and 3 of an anchor; a query that needs more computes its rings anew."""
    max_walks: int = Field(131_072, ge=1)
    """Edges followed from one anchor, which bounds the summed size of its rings; beyond it a ring is probed."""
    block: int = Field(4096, ge=1)
    """Anchors computed together; memory is one block."""
    sample: int = Field(100, ge=1)
    """Probed anchors whose recall is measured against the exact rings."""


class EngineKind(StrEnum):
    """What reads and counts interactions."""

    DUCKDB = "duckdb"
    SPARK = "spark"


class EngineRules(_Section):
    """Engine and resources of a build."""

    kind: EngineKind = EngineKind.DUCKDB
    """`duckdb`: on this machine; `spark`: the same expressions on a cluster."""
    master: str | None = None
    """Spark's master URL, such as `local[4]` or `yarn`; absent = that of spark-submit, else `local[*]`."""
    work: str | None = None
    """Folder or URI for Spark's tables, which are gone after the build; on a cluster one that all nodes reach."""
    processes: int = Field(1, ge=1, le=256)
    """Processes that work on blocks of items side by side, each with `threads`; Spark uses its own instead."""
    threads: int = Field(1, ge=1, le=256)
    """Threads of the query engine, the text encoder and the ring kernels."""
    memory_limit: str = Field("1GB", pattern=r"^\d+(\.\d+)? ?(MB|GB|MiB|GiB)$")
    """Memory of the query engine; beyond it tables go to a temporary folder."""


class BuildConfig(_Section):
    """Everything a build may be told. Sections of build.toml are the fields below."""

    split: Split = Split.NONE
    """none (for serving) or leave-last-out (for evaluation)."""
    truncate_history: int | None = Field(None, ge=1)
    """Keep a user's last N interactions, before the split."""
    interactions: InteractionRules = InteractionRules()
    items: ItemRules = ItemRules()
    ratings: RatingScale | None = None
    text: TextRules = TextRules()
    value: ValueRules = ValueRules()
    rings: RingRules = RingRules()
    engine: EngineRules = EngineRules()


def _refuse(where: str, error: ValidationError) -> ConfigError:
    first = error.errors()[0]
    key = ".".join(map(str, first["loc"])) or "(top)"
    found = "an unknown key" if first["type"] == "extra_forbidden" else repr(first["input"])
    expected = "a key of this configuration" if first["type"] == "extra_forbidden" else first["msg"]
    return ConfigError(f"{where}, key {key}", found=found, expected=expected, remedy=ORDER_HINT)


def config_from(values: dict[str, Any], *, where: str) -> BuildConfig:
    """A configuration from plain values, for instance out of a manifest.

    Args:
        values: as `BuildConfig.model_dump(mode="json")` gives them.
        where: named in errors.

    Raises:
        ConfigError: a key is unknown or a value is out of range.
    """
    try:
        return BuildConfig.model_validate(values)
    except ValidationError as error:
        raise _refuse(where, error) from error


def read_config(path: Path | None) -> BuildConfig:
    """The configuration of a build.toml; all defaults without one.

    Raises:
        ConfigError: the file cannot be read, is not TOML, or a key or value is wrong.
    """
    if path is None:
        return BuildConfig()
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(str(path), found=str(error), expected="a TOML file", remedy=ORDER_HINT) from error
    return config_from(values, where=str(path))


def override(config: BuildConfig, changes: dict[str, Any], *, where: str = "command line") -> BuildConfig:
    """The configuration with some entries replaced, checked anew.

    Args:
        changes: dotted key -> value; None leaves the entry alone.
        where: named in errors.

    Raises:
        ConfigError: a value is out of range.

    >>> override(BuildConfig(), {"text.encoder": "none", "split": None}).text.encoder
    'none'
    """
    values = config.model_dump(mode="json")
    for key, value in changes.items():
        if value is not None:
            *sections, name = key.split(".")
            target = values
            for section in sections:
                target = target[section]
            target[name] = value
    return config_from(values, where=where)
