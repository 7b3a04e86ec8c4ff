"""Benchmarks side by side in one run; prints tables and writes `bench.json` and `bench.md`.

    python -m loadtest.bench --bundles DIR [--only retrievers,history] [--out bench]
    python -m loadtest.bench --bundles DIR --interactions LOG.csv.gz --items ITEMS.jsonl.gz --only jobs --growth 1,10

The server runs on core 0 and the generator, wrk, on core 1. What is compared is asked in turn in each of the rounds;
figures are those of the best round, ratios the medians of the rounds' ratios.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from loadtest.bench.generative import generative
from loadtest.bench.in_process import in_process, opening
from loadtest.bench.jobs import jobs
from loadtest.bench.libraries import libraries
from loadtest.bench.memory import memory_of_processes
from loadtest.bench.over_http import history, narrow, retrievers
from loadtest.bench.row import Options, Row, table, write
from loadtest.bench.scale import graph, rings
from loadtest.bench.swap import swap

PARTS: dict[str, Callable[[Options], Iterator[Row]]] = {
    "in-process": in_process,
    "open": opening,
    "libraries": libraries,
    "retrievers": retrievers,
    "history": history,
    "narrow": narrow,
    "gr": generative,
    "swap": swap,
    "memory": memory_of_processes,
    "jobs": jobs,
    "graph": graph,
    "rings": rings,
}
"""What can be measured, in the order in which it is."""


def parts_of(text: str) -> list[str]:
    """Names of parts.

    Raises:
        argparse.ArgumentTypeError: there is no such part.
    """
    chosen = text.split(",")
    unknown = [name for name in chosen if name not in PARTS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    return [name for name in PARTS if name in chosen]


def names(text: str) -> tuple[str, ...]:
    """`tgh-2,dr`."""
    return tuple(text.split(","))


def numbers(text: str) -> tuple[int, ...]:
    """`1,10,100`."""
    return tuple(map(int, text.split(",")))


def parse() -> tuple[Options, list[str]]:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundles", type=Path, required=True, help="folder of bundles; its current one is measured")
    parser.add_argument("--only", type=parts_of, default=list(PARTS), help=", ".join(PARTS))
    parser.add_argument("--out", type=Path, default=Path("bench"), help="folder of results")
    parser.add_argument("--k", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0, help="length of one measurement")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--retrievers", type=names, default=(), help="those asked over HTTP, all unless named")
    parser.add_argument("--interactions", type=Path, help="CSV that `jobs` grows from")
    parser.add_argument("--items", type=Path, help="JSONL catalogue that `jobs` grows from")
    parser.add_argument("--growth", type=numbers, default=Options.growth, help="factors of growth")
    parser.add_argument("--log-rows", type=numbers, default=Options.log_rows, help="sizes of logs for `graph`")
    parser.add_argument("--ring-items", type=numbers, default=Options.ring_items, help="catalogue sizes for `rings`")
    parser.add_argument("--ring-walks", type=numbers, default=Options.ring_walks, help="limits beyond which are probed")
    chosen = vars(parser.parse_args())
    only = chosen.pop("only")
    return Options(**chosen), only


def main() -> None:
    """Measure, print, write."""
    options, only = parse()
    options.out.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    rows: list[Row] = []
    for name in only:
        print(f"measuring {name} ...", flush=True)
        first = len(rows)
        for row in PARTS[name](options):
            rows.append(row)
            write(rows, options.out, time.perf_counter() - started)
        print(table(rows[first:]), flush=True)


if __name__ == "__main__":
    main()
