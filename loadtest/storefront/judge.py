"""What a test must keep to; what it does not keep to sets the exit code."""

from dataclasses import dataclass
from typing import Any

from loadtest.wrk import SATURATED

BROKEN, NOT_MEASURED = 1, 3
"""Exit codes: a threshold is broken; the generator was the limit, so latency says nothing of the service."""


@dataclass(frozen=True)
class Thresholds:
    """Limits.

    Attributes:
        failures: share of requests that may fail.
        fallbacks: share of lists that another retriever than the assigned one may give, new users not counted.
        p99_ms: 99th percentile of recommendations, in milliseconds.
        least_per_s: recommendations a second at least.
    """

    failures: float = 0.0
    fallbacks: float = 0.05
    p99_ms: float = 250.0
    least_per_s: float = 0.0


def broken(summary: dict[str, Any], limits: Thresholds) -> list[str]:
    """What is not kept, in words."""
    found = {
        f"failed requests {summary['failure_share']:.3%}, at most {limits.failures:.3%} allowed":
            summary["failure_share"] > limits.failures,
        f"fallbacks {summary['fallback_share']:.2%}, at most {limits.fallbacks:.2%} allowed":
            summary["fallback_share"] > limits.fallbacks,
        f"99th percentile {summary['recommend_p99_ms']:g} ms, at most {limits.p99_ms:g} ms allowed":
            summary["recommend_p99_ms"] > limits.p99_ms,
        f"{summary['recommend_per_s']:g} recommendations a second, at least {limits.least_per_s:g} wanted":
            summary["recommend_per_s"] < limits.least_per_s,
        "no recommendation was answered": summary["recommendations"] == 0,
    }  # fmt: skip
    return [sentence for sentence, is_broken in found.items() if is_broken]


def exit_code(summary: dict[str, Any], limits: Thresholds) -> int:
    """0 = all is kept."""
    if broken(summary, limits):
        return BROKEN
    return NOT_MEASURED if summary["generator_busiest"] > SATURATED else 0
