"""A folder with one data set: what `shortlist ingest` writes, or interactions and items by hand."""

import json
from dataclasses import dataclass
from pathlib import Path

import duckdb

from models.bundle.reader import sha256
from models.errors import InputError
from offline.config import BuildConfig, RatingScale, read_config
from offline.dataset import Inputs
from offline.datasets.output import BUILD, REPORT
from offline.datasets.registry import DATASETS
from offline.ingest.engine import literal
from offline.ingest.formats import ENDINGS, Format, format_of

STARS = RatingScale(low=1, high=5)
LIKED = RatingScale(low=0, high=1)


@dataclass(frozen=True, slots=True)
class DataFolder:
    """One data set.

    Attributes:
        name: of the folder.
        data_set: its name in `shortlist ingest --list`; None = not one of these.
        interactions: the file of interactions.
        items: the catalogue; None = there is none.
        config: from its build.toml, else the defaults with the rating scale that the ratings show.
        ratings: the distinct ratings, at most a dozen; empty = the interactions have none.
    """

    name: str
    data_set: str | None
    interactions: Path
    items: Path | None
    config: BuildConfig
    ratings: tuple[float, ...] = ()

    @property
    def inputs(self) -> Inputs:
        """What a build reads."""
        return Inputs((self.interactions,), self.items)

    def digests(self) -> set[str]:
        """SHA-256 of each file, as the manifest of a bundle holds them."""
        return {sha256(path) for path in (self.interactions, self.items) if path is not None}


def read_folder(folder: Path) -> DataFolder:
    """Find the files of a data set.

    Raises:
        InputError: there are no interactions, or several files of one kind.
        ConfigError: its build.toml is wrong.
    """
    interactions, items = _only(folder, "interactions"), _only(folder, "items")
    if interactions is None:
        raise InputError(
            str(folder),
            found="no interactions",
            expected=f"a file interactions with one of the endings {', '.join(ENDINGS)}",
            remedy="Pass a folder that `shortlist ingest` wrote, or put the file there.",
        )
    config, ratings = read_config(build if (build := folder / BUILD).is_file() else None), _ratings(interactions)
    if config.ratings is None:
        config = config.model_copy(update={"ratings": scale_of(ratings)})
    name = folder.resolve().name
    return DataFolder(name, _known_as(folder), interactions, items, config, ratings)


def scale_of(ratings: tuple[float, ...]) -> RatingScale | None:
    """The scale that ratings show: 0 and 1 alone, or stars from 1 to 5 in halves; None = neither.

    >>> scale_of((0.0, 1.0)).high, scale_of((1.0, 2.5, 5.0)).low, scale_of((0.3, 7.0)), scale_of(())
    (1.0, 1.0, None, None)
    """
    if ratings and set(ratings) <= {0.0, 1.0}:
        return LIKED
    stars = ratings and all(1 <= one <= 5 and (2 * one).is_integer() for one in ratings)
    return STARS if stars else None


def _only(folder: Path, stem: str) -> Path | None:
    found = [path for ending in ENDINGS if (path := folder / f"{stem}{ending}").is_file()]
    if len(found) > 1:
        raise InputError(
            str(folder),
            found=" and ".join(path.name for path in found),
            expected=f"one file of {stem}",
            remedy="Leave one of them.",
        )
    return found[0] if found else None


def _ratings(path: Path) -> tuple[float, ...]:
    readers = {
        Format.CSV: f"read_csv({literal(str(path))}, all_varchar = true)",
        Format.JSONL: f"read_json({literal(str(path))})",
        Format.PARQUET: f"read_parquet({literal(str(path))})",
    }
    source = readers[format_of(path)]
    with duckdb.connect() as con:
        try:
            columns = [name for name, *_ in con.execute(f"describe select * from {source}").fetchall()]
            if "rating" not in columns:
                return ()
            found = con.execute(
                f"select distinct try_cast(rating as double) as r from {source} where r is not null order by r limit 12"
            ).fetchall()
        except duckdb.Error:
            return ()
    return tuple(float(rating) for (rating,) in found)


def _known_as(folder: Path) -> str | None:
    """The data set of an ingest's report, else the one whose name stands in the folder's, 2014 unless it says 2023.

    >>> _known_as(Path("data/amazon-toys-2014")), _known_as(Path("data/my-shop"))
    ('toys', None)
    """
    report = folder / REPORT
    if report.is_file():
        return str(json.loads(report.read_text(encoding="utf-8"))["dataset"])
    name = folder.resolve().name.lower().replace("_", "-")
    parts = set(name.split("-"))
    return next((one.name for one in DATASETS if one.name == name or ("2023" not in parts and one.name in parts)), None)
