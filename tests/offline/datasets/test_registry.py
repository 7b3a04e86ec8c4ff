"""The data sets that are known."""

import re

import pytest

from models.errors import ConfigError
from offline.datasets.registry import DATASETS, find

PAPER = {
    "beauty": (22_363, 12_101, 114_582),
    "sports": (35_598, 18_357, 180_610),
    "toys": (19_412, 11_924, 102_268),
    "cds": (75_258, 64_443, 810_347),
    "delicious": (718, 1_200, 4_016),
    "lastfm": (1_090, 3_646, 30_372),
    "movielens-1m": (6_040, 3_416, 268_867),
    "yelp": (30_431, 20_033, 219_632),
    "mind": (48_577, 39_757, 824_397),
    "goodreads-comics": (89_186, 48_623, 1_282_693),
    "goodreads-children": (163_143, 55_221, 1_622_817),
    "steam": (334_728, 13_047, 1_524_022),
    "hm": (1_077_045, 104_468, 19_487_762),
    "amazon-m2-uk": (1_182_181, 494_409, 1_500_196),
}
"""Users, items, training edges of arXiv 2605.07125."""


def test_the_fourteen_of_the_paper_carry_its_figures() -> None:
    known = {d.name: (d.expected.users, d.expected.items, d.expected.edges) for d in DATASETS if d.expected}
    assert known == PAPER


def test_every_category_of_2023_is_there_once() -> None:
    names = [dataset.name for dataset in DATASETS]
    assert len(names) == len(set(names)) == 14 + 34
    assert find("Amazon-2023-Toys-and-Games").title == "Amazon 2023 Toys and Games"


def test_only_licence_free_sources_have_addresses() -> None:
    by_hand = {dataset.name for dataset in DATASETS if not dataset.downloadable}
    assert by_hand == {"yelp", "mind", "hm", "amazon-m2-uk"}
    for dataset in DATASETS:
        for file in dataset.files:
            url = file.url or (file.archive.url if file.archive else None)
            assert url is None or re.fullmatch(r"https://[^ ]+", url)


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"found 'movies'.*beauty.*amazon-2023-toys-and-games.*--list"):
        find("movies")
