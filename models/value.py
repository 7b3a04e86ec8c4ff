"""The static value of an item and the prior that mixes it with similarity. Source: arXiv 2610.19065."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from models.errors import ConfigError
from models.kernels import compiled, read_only

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

Z_95 = 1.959964
"""Quantile of the normal distribution that leaves 2.5 % above it."""

SECTION = "value"
"""Section of the manifest that says which components the data has."""


class Component(StrEnum):
    """Parts of an item's value, in the order of columns and weights."""

    POPULARITY = "popularity"
    RATING = "rating"
    BRAND = "brand"


ABSENT: Mapping[Component, str] = {
    Component.POPULARITY: "no item occurs in the training interactions",
    Component.RATING: "no item has a rating",
    Component.BRAND: "no item has a brand",
}


def percentile_rank(values: npt.NDArray[Any]) -> Doubles:
    """Mean rank / n, in (0, 1]; ties share the mean rank.

    >>> percentile_rank(np.array([0, 5, 5, 9])).tolist()
    [0.25, 0.625, 0.625, 1.0]
    """
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    mean_rank = np.cumsum(sizes) - (sizes - 1) / 2
    ranks: Doubles = mean_rank[group] / max(1, len(values))
    return ranks


def star_fraction(mean: npt.NDArray[Any], low: float, high: float) -> Doubles:
    """Mean stars on a scale low..high as a fraction: (mean - low) / (high - low).

    >>> star_fraction(np.array([4.4545, 1.0]), 1, 5).round(6).tolist()
    [0.863625, 0.0]

    Raises:
        ConfigError: the scale is empty.
    """
    if not low < high:
        raise ConfigError(
            "rating scale", found=f"{low} to {high}", expected="low < high", remedy="Correct it in build.toml."
        )
    return (np.asarray(mean, np.float64) - low) / (high - low)


def wilson_lower_bound(fraction: npt.NDArray[Any], n: npt.NDArray[Any]) -> Doubles:
    """Lower end of the 95 % Wilson interval of a fraction seen in n trials; 0 where n = 0.

    >>> wilson_lower_bound(np.array([0.863625, 1.0, 0.75, 0.0, 0.5]), np.array([22, 1, 10, 5, 0])).round(6).tolist()
    [0.666637, 0.206549, 0.442181, 0.0, 0.0]
    """
    p = np.where(n > 0, fraction, 0.0).astype(np.float64)
    trials = np.maximum(n, 1).astype(np.float64)
    z2 = Z_95**2 / trials
    bound = (p + z2 / 2 - np.sqrt(z2 * (p * (1 - p) + z2 / 4))) / (1 + z2)
    return np.where(n > 0, np.maximum(bound, 0.0), 0.0)


def brand_rank(brand_codes: npt.NDArray[np.int32]) -> Doubles:
    """Percentile rank of brand footprint (items that carry the brand) among branded items; 0 without a brand (-1).

    >>> brand_rank(np.array([0, 0, 1, -1], np.int32)).round(4).tolist()
    [0.8333, 0.8333, 0.3333, 0.0]
    """
    ranks = np.zeros(len(brand_codes), np.float64)
    branded = brand_codes >= 0
    codes = brand_codes[branded]
    ranks[branded] = percentile_rank(np.bincount(codes)[codes]) if len(codes) else 0.0
    return ranks


@dataclass(frozen=True, slots=True)
class ItemValues:
    """Value components of a catalogue.

    Attributes:
        components: float32 [n, 3], columns as in `Component`; an absent component is 0.
        present: which components the data has.
    """

    components: Floats
    present: tuple[bool, bool, bool]

    def facts(self) -> dict[str, Any]:
        """What the manifest's section `value` says; `present_components` reads it back."""
        pairs = list(zip(Component, self.present, strict=True))
        dropped = {part.value: ABSENT[part] for part, there in pairs if not there}
        return {"present": {part.value: there for part, there in pairs}, "dropped": dropped}


def value_components(
    popularity: npt.NDArray[np.int64],
    rating_bound: Doubles | None,
    brand_codes: npt.NDArray[np.int32] | None,
) -> ItemValues:
    """Components from counts, Wilson lower bounds and brands; what no item has is dropped and reported.

    Args:
        popularity: int64 [n], training interactions. The rank of a count is the rank of its logarithm.
        rating_bound: float64 [n], from `wilson_lower_bound`; None where the data has no ratings.
        brand_codes: int32 [n], -1 = no brand; None where the data has no brands.
    """
    present = (
        bool(np.any(popularity > 0)),
        rating_bound is not None,
        brand_codes is not None and bool(np.any(brand_codes >= 0)),
    )
    components = np.zeros((len(popularity), len(Component)), np.float32)
    if present[0]:
        components[:, 0] = percentile_rank(popularity)
    if rating_bound is not None:
        components[:, 1] = percentile_rank(rating_bound)
    if brand_codes is not None and present[2]:
        components[:, 2] = brand_rank(brand_codes)
    return ItemValues(components, present)


def present_components(sections: Mapping[str, Mapping[str, Any]]) -> tuple[bool, bool, bool]:
    """Which components a bundle has, from the sections of its manifest; all, where they do not say."""
    said = sections.get(SECTION, {}).get("present", {})
    popularity, rating, brand = (bool(said.get(part.value, True)) for part in Component)
    return popularity, rating, brand


def effective_weights(weights: Sequence[float], present: Sequence[bool]) -> Doubles:
    """Weights without the absent components, rescaled to sum 1; all 0 where only absent ones had weight.

    >>> effective_weights((0.25, 0.25, 0.5), (True, False, True)).round(4).tolist()
    [0.3333, 0.0, 0.6667]
    """
    kept = np.where(present, weights, 0.0).astype(np.float64)
    total = kept.sum()
    return kept / total if total > 0 else kept


@lru_cache(maxsize=1024)
def kept_weights(weights: tuple[float, ...], present: tuple[bool, ...]) -> Doubles:
    """What `effective_weights` gives, read-only, kept for the next request that asks for the same."""
    return read_only(effective_weights(weights, present))


def item_values(components: Floats, weights: Sequence[float], present: Sequence[bool] = (True, True, True)) -> Floats:
    """`v_i = wp * pop_i + wr * rate_i + wb * brand_i`, float32 [n].

    >>> item_values(np.array([[1.0, 0.0, 0.5]], np.float32), (0.25, 0.25, 0.5)).tolist()
    [0.5]
    """
    return weighted(read_only(components), read_only(effective_weights(weights, present)))


@compiled
def weighted(components: Floats, weights: Doubles) -> Floats:
    """Weighted sums of components [n, 3], float32 [n]."""
    values = np.empty(len(components), np.float32)
    for place in range(len(components)):
        total = 0.0
        for part in range(len(weights)):
            total += np.float64(components[place, part]) * weights[part]
        values[place] = total
    return values


@compiled
def rescale_pool(similarities: npt.NDArray[Any]) -> Doubles:
    """Similarities of one pool scaled to [0, 1]; a pool of equal ones scales to 1.

    >>> rescale_pool(np.array([0.9, 0.8, 0.5])).round(6).tolist(), rescale_pool(np.array([0.2, 0.2])).tolist()
    ([1.0, 0.75, 0.0], [1.0, 1.0])
    """
    scaled = similarities.astype(np.float64)
    if not len(scaled):
        return scaled
    low, high = scaled.min(), scaled.max()
    for place in range(len(scaled)):
        scaled[place] = (scaled[place] - low) / (high - low) if high > low else 1.0
    return scaled


@compiled
def prior_scores(similarities: npt.NDArray[Any], values: npt.NDArray[Any], alpha: float) -> Floats:
    """`(1 - alpha) * scaled + alpha * v_i` over one pool, float32.

    >>> prior_scores(np.array([0.9, 0.8, 0.5]), np.array([0.2, 0.9, 0.6]), 0.5).round(4).tolist()
    [0.6000000238418579, 0.824999988079071, 0.30000001192092896]
    """
    scaled, mixed = rescale_pool(similarities), np.empty(len(similarities), np.float32)
    for place in range(len(mixed)):
        mixed[place] = (1 - alpha) * scaled[place] + alpha * values[place]
    return mixed
