"""Command line of the storefront test."""

import argparse
from dataclasses import dataclass, fields
from pathlib import Path

from loadtest.storefront.judge import Thresholds
from loadtest.storefront.plan import Mix
from loadtest.storefront.stages import ShapeName


@dataclass(frozen=True)
class Options:
    """How to test.

    Attributes:
        bundles: folder of bundles; None = the demo's, built in `demo_dir` unless they are there.
        demo_dir: folder of the demo.
        experiments: file of experiments; None = one with equal shares of what the bundle can serve.
        shape, users, seconds: how many visitors there are when.
        think_s: mean time between two steps of a visit.
        k: candidates a list.
        processes: API processes.
        out: folder of results.
        mix: shares of the traffic.
        thresholds: what must be kept.
    """

    bundles: Path | None
    demo_dir: Path
    experiments: Path | None
    shape: ShapeName
    users: int
    seconds: float
    think_s: float
    k: int
    processes: int
    out: Path
    mix: Mix
    thresholds: Thresholds

    def settings(self) -> dict[str, object]:
        """Settings of the service."""
        return {} if self.experiments is None else {"experiments": self.experiments.resolve()}


def parse(arguments: list[str] | None = None) -> Options:
    """Read the command line."""
    description = "Visitors of a storefront against a service that is started for the test."
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--bundles", type=Path, help="folder of bundles to serve")
    what.add_argument("--demo", action="store_true", help="serve the demo's bundle, built unless it is there")
    parser.add_argument("--demo-dir", type=Path, default=Path(".demo"), help="folder of the demo")
    parser.add_argument(
        "--experiments", type=Path, help="experiments that decide where `auto` goes, instead of equal shares"
    )
    parser.add_argument("--shape", type=ShapeName, choices=list(ShapeName), default=ShapeName.RAMP)
    parser.add_argument("--users", type=int, default=50, help="visitors at most")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--think-s", type=float, default=0.5, help="mean time between two steps of a visit")
    parser.add_argument("--k", type=int, default=50)
    parser.add_argument("--processes", type=int, default=1, help="API processes")
    parser.add_argument("--out", type=Path, default=Path("storefront-load"), help="folder of results")
    for name, value in _defaults(Mix) | _defaults(Thresholds):
        parser.add_argument(f"--{name.replace('_', '-')}", type=float, default=value)
    given = vars(parser.parse_args(arguments))
    del given["demo"]
    mix = Mix(**{name: given.pop(name) for name, _ in _defaults(Mix)})
    limits = Thresholds(**{name: given.pop(name) for name, _ in _defaults(Thresholds)})
    return Options(mix=mix, thresholds=limits, **given)


def _defaults(shares: type[Mix] | type[Thresholds]) -> set[tuple[str, float]]:
    return {(one.name, float(str(one.default))) for one in fields(shares)}
