"""Metrics of several processes as one: each answers on a unix socket, the parent adds them up.

Counters and histograms of a process that died stay in the sum, so that no total goes back; its gauges leave. Gauges
of living processes are added, apart from those that say what is (a name ending in `_info` or `_seconds`, breakers),
of which the greatest counts.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

GATHER_TIMEOUT_S = 1.0
GREATEST = ("_info", "_seconds", "_open", "_items")

Key = tuple[str, tuple[tuple[str, str], ...]]
Samples = dict[Key, float]


def process_socket(run_dir: Path, pid: int) -> Path:
    """Where a process answers with its metrics."""
    return run_dir / f"process-{pid}.sock"


async def read_socket(path: Path, *, timeout_s: float = GATHER_TIMEOUT_S) -> bytes:
    """All that the process behind a unix socket has to say.

    Raises:
        OSError: nobody listens.
        TimeoutError: no answer in time.
    """
    async with asyncio.timeout(timeout_s):
        reader, writer = await asyncio.open_unix_connection(str(path))
        try:
            return await reader.read()
        finally:
            writer.close()


async def answer_on(path: Path, say: Callable[[], bytes | Awaitable[bytes]]) -> asyncio.Server:
    """Answer every connection to a unix socket with what `say` returns, then close it."""
    path.unlink(missing_ok=True)

    async def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        said = say()
        writer.write(said if isinstance(said, bytes) else await said)
        await writer.drain()
        writer.close()

    return await asyncio.start_unix_server(connected, str(path))


def parse(text: str) -> dict[str, Metric]:
    """Metric families by name."""
    return {family.name: family for family in text_string_to_metric_families(text)}


def _greatest(name: str) -> bool:
    return name.endswith(GREATEST)


class Totals(Collector):
    """Families of living processes over the totals of dead ones."""

    def __init__(self) -> None:
        self._living: dict[str, dict[str, Metric]] = {}
        self._dead: dict[str, Metric] = {}

    def heard(self, process: str, families: Mapping[str, Metric]) -> None:
        """What a living process says now."""
        self._living[process] = dict(families)

    def died(self, process: str) -> None:
        """Keep the totals of a process that is gone."""
        last = self._living.pop(process, {})
        lasting = [family for family in last.values() if family.type in ("counter", "histogram")]
        self._dead = _merged([*self._dead.values(), *lasting])

    def collect(self) -> Iterable[Metric]:
        """The sums."""
        living = [family for families in self._living.values() for family in families.values()]
        return list(_merged([*self._dead.values(), *living]).values())

    def exposition(self) -> bytes:
        """In the text format."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        return generate_latest(registry)


def _merged(families: Iterable[Metric]) -> dict[str, Metric]:
    heads: dict[str, Metric] = {}
    sums: dict[str, Samples] = {}
    for family in families:
        heads.setdefault(family.name, family)
        into = sums.setdefault(family.name, {})
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            greatest = family.type == "gauge" and _greatest(family.name)
            into[key] = max(into.get(key, sample.value), sample.value) if greatest else into.get(key, 0) + sample.value
    return {name: _family(heads[name], samples) for name, samples in sums.items()}


def _family(head: Metric, samples: Samples) -> Metric:
    family = Metric(head.name, head.documentation, head.type)
    for (name, labels), value in samples.items():
        family.add_sample(name, dict(labels), value)
    return family
