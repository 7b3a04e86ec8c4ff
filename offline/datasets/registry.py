"""The data sets that `shortlist ingest` knows: the 14 of the heuristic paper and the categories of Amazon 2023."""

from models.errors import ConfigError
from offline.datasets.amazon import AMAZON_2014, AMAZON_2023
from offline.datasets.others import OTHERS
from offline.datasets.spec import Dataset

DATASETS: tuple[Dataset, ...] = (*AMAZON_2014, *OTHERS, *AMAZON_2023)
"""In the order of the heuristic paper's table, then Amazon 2023."""


def find(name: str) -> Dataset:
    """The data set of that name, whatever its case.

    Raises:
        ConfigError: there is none; the message lists those whose names are near.
    """
    for dataset in DATASETS:
        if dataset.name == name.lower():
            return dataset
    known = ", ".join(dataset.name for dataset in DATASETS if not dataset.name.startswith("amazon-2023"))
    raise ConfigError(
        "data set",
        found=repr(name),
        expected=f"{known}, or amazon-2023-CATEGORY such as amazon-2023-toys-and-games",
        remedy="`shortlist ingest --list` shows them all.",
    )
