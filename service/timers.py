"""Histograms that cost a fraction of a microsecond to fill, because every request fills two; the client library's own
lock each bucket and look their labels up. They are read by the library like any other metric."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate

from prometheus_client.core import HistogramMetricFamily
from prometheus_client.registry import Collector


class Timers(Collector):
    """A Prometheus histogram of seconds, for one thread.

    >>> timers = Timers("wait_seconds", "Waiting.", ["queue"], [0.1, 1.0])
    >>> timers.observe(("a",), 0.1); timers.observe(("a",), 5.0)
    >>> [(sample.labels.get("le"), sample.value) for sample in next(timers.collect()).samples]
    [('0.1', 1), ('1.0', 1), ('+Inf', 2), (None, 2), (None, 5.1)]

    Args:
        name: of the metric.
        documentation: what it measures.
        labels: names of its labels.
        bounds: upper bounds of the buckets, rising, in seconds.
    """

    def __init__(self, name: str, documentation: str, labels: Sequence[str], bounds: Sequence[float]) -> None:
        self._name, self._documentation, self._labels, self._bounds = name, documentation, labels, bounds
        self._counts: dict[tuple[str | int, ...], list[int]] = {}
        self._sums: dict[tuple[str | int, ...], float] = {}

    def observe(self, labels: tuple[str | int, ...], seconds: float) -> None:
        """Count one."""
        counts = self._counts.get(labels)
        if counts is None:
            counts = self._counts[labels] = [0] * (len(self._bounds) + 1)
            self._sums[labels] = 0.0
        counts[bisect_left(self._bounds, seconds)] += 1
        self._sums[labels] += seconds

    def collect(self) -> Iterator[HistogramMetricFamily]:
        """The metric as the registry reads it."""
        family = HistogramMetricFamily(self._name, self._documentation, labels=self._labels)
        names = [*map(str, self._bounds), "+Inf"]
        for labels, counts in self._counts.items():
            buckets = list(zip(names, accumulate(counts), strict=True))
            family.add_metric([str(label) for label in labels], buckets=buckets, sum_value=self._sums[labels])
        yield family
