"""Job `values`: popularity and the components of the static item value."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from models.bundle import layout
from models.value import SECTION, star_fraction, value_components, wilson_lower_bound
from models.words import Split
from offline.config import RatingScale
from offline.jobs.base import Context, Facts, Job

Doubles = npt.NDArray[np.float64]


class RatingSource(StrEnum):
    """Where an item's rating comes from."""

    CATALOGUE = "rating_avg and rating_count"
    INTERACTIONS = "ratings of training interactions"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Ratings:
    """Mean and number of ratings.

    Attributes:
        mean: float64 [n_items], meaningless where the number is 0.
        number: float64 [n_items].
        from_catalogue: items whose rating is the catalogue's.
    """

    mean: Doubles
    number: Doubles
    from_catalogue: int


def item_ratings(items: pa.Table, sums: Doubles, numbers: npt.NDArray[np.int64], *, use_catalogue: bool) -> Ratings:
    """The catalogue's average where it has one and may be used, else the mean of training ratings.

    Args:
        items: table `items`.
        sums: float64 [n_items], sum of training ratings.
        numbers: int64 [n_items], number of training ratings.
        use_catalogue: `rating_avg` + `rating_count` may be used.
    """
    mean = np.divide(sums, numbers, out=np.zeros(len(sums)), where=numbers > 0)
    if not use_catalogue:
        return Ratings(mean, numbers.astype(np.float64), 0)
    average, raters = _numbers(items, "rating_avg"), _numbers(items, "rating_count")
    better = np.isfinite(average) & (raters > 0)
    number = np.where(better, raters, numbers.astype(np.float64))
    return Ratings(np.where(better, average, mean), number, int(better.sum()))


def _numbers(items: pa.Table, column: str) -> Doubles:
    return np.asarray(items[column].cast(pa.float64()).to_numpy(), np.float64)


def leaks(split: Split, scale: RatingScale) -> bool:
    """Whether the catalogue's ratings must stay out: they cover the period that the split holds out."""
    return split is Split.LEAVE_LAST_OUT and not scale.allow_leak


def _rating_bound(context: Context) -> tuple[Doubles | None, Facts]:
    scale = context.config.ratings
    if scale is None:
        return None, {"rating_source": RatingSource.NONE, "why": "no [ratings] scale is stated in build.toml"}
    use_catalogue, items = not leaks(context.config.split, scale), context.items()
    ratings = item_ratings(items, *context.counts.ratings().totals(len(items)), use_catalogue=use_catalogue)
    facts: dict[str, Any] = {
        "rating_source": RatingSource.CATALOGUE if ratings.from_catalogue else RatingSource.INTERACTIONS,
        "rated_by_catalogue": ratings.from_catalogue,
        "rated": int((ratings.number > 0).sum()),
    }
    if not facts["rated"]:
        return None, {**facts, "rating_source": RatingSource.NONE}
    return wilson_lower_bound(star_fraction(ratings.mean, scale.low, scale.high), ratings.number), facts


def run(context: Context) -> Facts:
    """Write popularity, its order and the value components."""
    popularity = context.counts.popularity()
    bound, facts = _rating_bound(context)
    values = value_components(popularity, bound, np.asarray(context.writer.read_array(layout.BRAND_CODES)))
    order = np.lexsort((np.arange(len(popularity)), -popularity)).astype(np.int32)
    context.writer.add_array(layout.POPULARITY, popularity)
    context.writer.add_array(layout.POPULAR_ORDER, order)
    context.writer.add_array(layout.VALUE_COMPONENTS, values.components)
    rules = context.config.value
    total = rules.popularity + rules.rating + rules.brand
    weights = {name: weight / total for name, weight in rules.model_dump().items()}
    return {**values.facts(), **facts, "weights": weights}


JOB = Job(
    "values",
    "popularity, ratings, brands",
    run,
    writes=(layout.POPULARITY, layout.POPULAR_ORDER, layout.VALUE_COMPONENTS),
    after=("items", "filters"),
    reads_inputs=True,
    section=SECTION,
)
