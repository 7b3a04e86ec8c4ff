"""What is measured, how, and how it is written down."""

import json
import os
import platform
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from loadtest.wrk import Load

SERVER_CORE, CLIENT_CORE = 0, 1


@dataclass(frozen=True)
class Options:
    """How to measure.

    Attributes:
        bundles: folder of bundles; its current one is measured.
        out: folder of results.
        k: candidates a request.
        rounds: how often what is compared is asked in turn.
        seconds: length of one measurement.
        connections: open at once.
        retrievers: those that are asked over HTTP; none named = all that the bundle holds.
        interactions, items: logs and catalogue that the build jobs read and that growth starts from.
        growth: factors of growth.
        log_rows: sizes of synthetic logs for the graph.
        ring_items: sizes of synthetic shops for ring lists.
        ring_walks: edges followed from one of their items, beyond which rings are probed; None = the usual number.
    """

    bundles: Path
    out: Path
    k: int = 50
    rounds: int = 3
    seconds: float = 3
    connections: int = 16
    retrievers: tuple[str, ...] = ()
    interactions: Path | None = None
    items: Path | None = None
    growth: tuple[int, ...] = (1, 10, 100)
    log_rows: tuple[int, ...] = (1_000_000, 10_000_000)
    ring_items: tuple[int, ...] = (10_000, 100_000)
    ring_walks: tuple[int | None, ...] = (None, 300)

    def chosen(self, served: Sequence[str]) -> list[str]:
        """Which of the served retrievers are asked; gr is measured by itself."""
        return [name for name in served if name != "gr" and name in (self.retrievers or served)]

    def load(self, *, pause_ms: float = 0) -> Load:
        """How wrk asks."""
        return Load(self.connections, self.seconds, pause_ms, CLIENT_CORE)


@dataclass(frozen=True)
class Row:
    """One line of a table.

    Attributes:
        part: which table.
        what: what was measured.
        figures: name with unit -> number, or a word where there is none.
    """

    part: str
    what: str
    figures: dict[str, float | str] = field(default_factory=dict)


def _cell(value: float | str | None) -> str:
    if isinstance(value, float):
        return f"{value:,.3f}" if abs(value) < 10 else f"{value:,.1f}"
    return "" if value is None else f"{value:,}" if isinstance(value, int) else value


def table(rows: Iterable[Row]) -> str:
    """Markdown, a table a part."""
    parts: dict[str, list[Row]] = {}
    for row in rows:
        parts.setdefault(row.part, []).append(row)
    return "\n".join(_one_table(part, mine) for part, mine in parts.items())


def _one_table(part: str, rows: list[Row]) -> str:
    columns = list(dict.fromkeys(name for row in rows for name in row.figures))
    lines = [f"## {part}", "", "| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    lines += [f"| {row.what} | " + " | ".join(_cell(row.figures.get(name)) for name in columns) + " |" for row in rows]
    return "\n".join([*lines, ""])


def write(rows: list[Row], out: Path, took_s: float) -> None:
    """`bench.json` and `bench.md`."""
    facts = {
        "finished": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "took_s": round(took_s, 1),
        "machine": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "load_average": os.getloadavg(),
    }
    out.mkdir(parents=True, exist_ok=True)
    (out / "bench.json").write_text(json.dumps(facts | {"rows": [asdict(row) for row in rows]}, indent=2))
    (out / "bench.md").write_text(table(rows))
