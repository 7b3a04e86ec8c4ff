"""Visitors of a storefront against a service that is started for the test.

    python -m loadtest.storefront --demo --users 50 --seconds 60 --shape ramp
    python -m loadtest.storefront --bundles DIR --experiments routes.toml --shape soak --seconds 600 --p99-ms 100

Writes CSV, HTML and JSON files into --out and prints what was found. The exit code is 1 where a threshold is broken,
3 where the generator was busy for more than 90 % of a core, so that its figures are its own, else 0.
"""

import sys
from contextlib import ExitStack
from pathlib import Path

try:
    import locust  # noqa: F401 - replaces sockets and threads by greenlets, so it has to come first
except ModuleNotFoundError:
    raise SystemExit("locust is not installed: pip install -e '.[load]'") from None

from loadtest.asking import Zipf, catalogue, fetch_json  # isort: skip
from loadtest.running import ADMIN_KEY, Service, demo_bundles, whole_service  # isort: skip
from loadtest.storefront.judge import Thresholds, broken, exit_code  # isort: skip
from loadtest.storefront.options import Options, parse  # isort: skip
from loadtest.storefront.plan import Plan  # isort: skip
from loadtest.storefront.run import run  # isort: skip
from loadtest.storefront.stages import stages  # isort: skip
from loadtest.wrk import SATURATED  # isort: skip

N_IDS, N_PEOPLE, SKEW = 5_000, 10_000, 1.0
EXPERIMENT = "storefront"


def plan_for(service: Service, options: Options) -> Plan:
    """Visitors of this catalogue."""
    ids = [item["item_id"] for item in catalogue(service.url, N_IDS)]
    people = [f"regular-{number}" for number in range(N_PEOPLE)]
    n_items = int(str(service.ready["n_items"]))
    return Plan(
        Zipf.over(ids, SKEW),
        Zipf.over(people, SKEW),
        tuple(service.retrievers),
        options.k,
        n_items,
        options.think_s,
        options.mix,
    )


def start_experiment(service: Service) -> None:
    """Let `auto` be decided by an A/B test, equal shares, of what the bundle can serve."""
    trained = [name for name in ("tgh-2", "dr-prior", "fused") if name in service.retrievers]
    arms = trained if len(trained) > 1 else ["tgh-1", "tgh-2"]
    variants = [{"name": name, "retriever": name, "weight": 1} for name in arms]
    body = {"name": EXPERIMENT, "salt": EXPERIMENT, "running": True, "variants": variants}
    fetch_json(f"{service.url}/admin/experiments/{EXPERIMENT}", body, "PUT", ADMIN_KEY)


def report(summary: dict[str, object], limits: Thresholds, out: Path) -> None:
    """For a person."""
    requests: dict[str, dict[str, float]] = summary["requests"]  # type: ignore[assignment]
    for name, one in requests.items():
        print(f"{name:28} {one['requests']:8,.0f}  {one['per_s']:8.1f}/s  failed {one['failures']:.0f}"
              f"  p50 {one['p50_ms']:.0f}  p95 {one['p95_ms']:.0f}  p99 {one['p99_ms']:.0f} ms")  # fmt: skip
    for row in summary["retrievers"]:  # type: ignore[attr-defined]
        route = f"assigned {row['assigned']:9} served {row['served']:9} {row['fallback_reason'] or '-':10}"
        print(f"{route} {row['lists']:8,}")
    print(f"generator: {summary['generator_mean']:.0%} of a core, at most {summary['generator_busiest']:.0%}; "
          f"service: {summary['service_cores']:.2f} cores, API memory of its own {summary['api_own_mib_first']} -> "
          f"{summary['api_own_mib_last']} MiB")  # fmt: skip
    if float(str(summary["generator_busiest"])) > SATURATED:
        print("SATURATED: the generator was the limit; rates and latencies are its own, not the service's")
    for sentence in broken(summary, limits):
        print(f"BROKEN: {sentence}")
    print(f"files: {out}")


def main() -> int:
    """Start, visit, judge."""
    options = parse()
    with ExitStack() as stack:
        bundles = options.bundles or demo_bundles(options.demo_dir, train=False)
        settings = {"workers": options.processes} | options.settings()
        service = stack.enter_context(whole_service(bundles, **settings))
        if options.experiments is None:
            start_experiment(service)
        summary = run(
            service, plan_for(service, options), stages(options.shape, options.users, options.seconds), options.out
        )
    report(summary, options.thresholds, options.out)
    return exit_code(summary, options.thresholds)


if __name__ == "__main__":
    sys.exit(main())
