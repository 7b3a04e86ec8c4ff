"""The constants of a plan: numbers of `constants.toml`, each beside the command that measured it."""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("constants.toml")


@dataclass(frozen=True, slots=True)
class Job:
    """Processor time of one build job on one thread: fixed + rows + items, the latter to a power.

    Attributes:
        fixed_s: whatever the size, in seconds.
        row_us: an interaction, in microseconds.
        item_us: an item of a catalogue of 10,000, in microseconds.
        power: 1 = time grows with the catalogue, 2 = with its square.
        power_until: items from which on time grows with the catalogue all the same.
    """

    fixed_s: float = 0.0
    row_us: float = 0.0
    item_us: float = 0.0
    power: float = 1.0
    power_until: int | None = None

    def cpu_s(self, items: int, rows: int) -> float:
        """Processor seconds.

        >>> Job(fixed_s=1, row_us=2, item_us=100, power=2).cpu_s(20_000, 1_000_000)
        7.0
        """
        bent = min(items, self.power_until or items)
        each_us = self.item_us * math.pow(bent / 10_000, self.power - 1)
        return self.fixed_s + (rows * self.row_us + items * each_us) / 1e6


@dataclass(frozen=True, slots=True)
class Constants:
    """Everything measured. Units stand in the names.

    Attributes:
        machine: what they were measured on, and the loop that compares it with another.
        jobs: by name, in the order in which a build runs them.
        memory, bundle, api, worker, redis, logs: tables of the file without the commands.
        sources: command by table.
    """

    machine: Mapping[str, Any]
    jobs: Mapping[str, Job]
    memory: Mapping[str, float]
    bundle: Mapping[str, float]
    api: Mapping[str, Any]
    worker: Mapping[str, float]
    redis: Mapping[str, float]
    logs: Mapping[str, float]
    sources: Mapping[str, str]


def read_constants(path: Path = FILE) -> Constants:
    """Those of the file."""
    found = tomllib.loads(path.read_text())
    sources = {name: table.pop("measured_by") for name, table in found.items() if "measured_by" in table}
    jobs = {name: Job(**table) for name, table in found.pop("jobs").items()}
    return Constants(jobs=jobs, sources=sources, **found)
