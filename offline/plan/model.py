"""From a shop to machines: pure arithmetic over the constants."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from offline.plan.constants import Constants

MIB = 1 << 20
NEURAL = frozenset({"dr", "dr-prior", "fused", "gr"})
"""Retrievers that need a trained part."""


@dataclass(frozen=True, slots=True)
class Shop:
    """What a plan is for.

    Attributes:
        users, items, interactions: of the log that is built from; users also have histories in Redis.
        qps: requests for lists a second, mean of a day.
        mix: share of each retriever; sums to 1.
        peak_factor: busiest second against the mean.
        headroom: share of each processor and each memory that stays free at the peak.
        events_per_request: events that are written for each list.
        history: events kept a user.
    """

    users: int
    items: int
    interactions: int
    qps: float
    mix: Mapping[str, float]
    peak_factor: float = 3.0
    headroom: float = 0.3
    events_per_request: float = 0.2
    history: int = 200


@dataclass(frozen=True, slots=True)
class Means:
    """What machines there are.

    Attributes:
        build_cores: of the machine that builds, or of one Spark executor.
        window_h: hours that a build may take.
        api_cores: cores, so API processes, of one replica.
        redis_gib: memory of one Redis node.
    """

    build_cores: int = 8
    window_h: float = 4.0
    api_cores: int = 4
    redis_gib: float = 16.0


@dataclass(frozen=True, slots=True)
class Build:
    """A full build. Times are of processors, of one thread.

    Attributes:
        jobs_cpu_s, cpu_s: of each job, and of all.
        hours: on one machine, all cores at `scaling` of their sum.
        executors: of Spark, that meet the window.
        memory_mib: most at once, on one machine.
    """

    jobs_cpu_s: Mapping[str, float]
    cpu_s: float
    hours: float
    executors: int
    memory_mib: float


@dataclass(frozen=True, slots=True)
class Disk:
    """MiB: a version of the bundle, two of them on each replica, a day's logs of all hosts, the state of updates."""

    bundle_mib: float
    replica_mib: float
    logs_a_day_mib: float
    state_mib: float


@dataclass(frozen=True, slots=True)
class Api:
    """API processes; each has `own_mib`, those of a replica share the mapped bundle (two of them in a swap)."""

    request_us: Mapping[str, float]
    peak_qps: float
    processes: int
    replicas: int
    own_mib: float
    replica_mib: float


@dataclass(frozen=True, slots=True)
class Workers:
    """GR workers of one thread; none where `gr` has no share, else one more than the load needs."""

    count: int
    memory_mib: float


@dataclass(frozen=True, slots=True)
class Redis:
    """Nodes by what asks for most of them: memory, or processor time of commands."""

    memory_mib: float
    core_share: float
    nodes: int
    queue_core_share: float


@dataclass(frozen=True, slots=True)
class Plan:
    """All of it."""

    build: Build
    disk: Disk
    api: Api
    workers: Workers
    redis: Redis

    def plain(self) -> dict[str, Any]:
        """As JSON writes it."""
        return asdict(self)


def plan(shop: Shop, constants: Constants, means: Means) -> Plan:
    """What the shop needs."""
    bundle = bundle_mib(shop, constants)
    return Plan(
        _build(shop, constants, means),
        _disk(shop, constants, bundle),
        _api(shop, constants, means, bundle),
        _workers(shop, constants),
        _redis(shop, constants, means),
    )


def bundle_mib(shop: Shop, constants: Constants) -> float:
    """Size of one version: lists and vectors by item, edges by interaction; trained parts where the mix needs them."""
    of = constants.bundle
    size = shop.items * of["item_b"] + shop.interactions * of["row_b"]
    if NEURAL & shop.mix.keys():
        size += of["networks_b"] + shop.items * of["neural_item_b"]
    return size / MIB


def _build(shop: Shop, constants: Constants, means: Means) -> Build:
    jobs = {name: round(job.cpu_s(shop.items, shop.interactions), 2) for name, job in constants.jobs.items()}
    total, of = sum(jobs.values()), constants.memory
    cores_of_one = means.build_cores * of["scaling"]
    return Build(
        jobs,
        total,
        total / cores_of_one / 3600,
        max(1, math.ceil(total / cores_of_one / (means.window_h * 3600))),
        of["fixed_mib"] + (shop.items * of["item_b"] + shop.interactions * of["row_b"]) / MIB,
    )


def _disk(shop: Shop, constants: Constants, bundle: float) -> Disk:
    lists = shop.qps * 86_400
    of = constants.logs
    logs = lists * (of["exposure_b"] + shop.events_per_request * of["event_b"])
    return Disk(bundle, 3 * bundle, logs / MIB, shop.interactions * of["state_row_b"] / MIB)


def _api(shop: Shop, constants: Constants, means: Means, bundle: float) -> Api:
    of = constants.api
    peak = shop.qps * shop.peak_factor
    mean_us = sum(share * of["request_us"][name] for name, share in shop.mix.items())
    mean_us += shop.events_per_request * of["event_us"]
    processes = max(2, math.ceil(peak * mean_us / 1e6 / (1 - shop.headroom)))
    own = of["own_mib"] + shop.items * of["own_item_b"] / MIB
    replicas = max(2, math.ceil(processes / means.api_cores))
    replica = (means.api_cores * own + 2 * bundle) / (1 - shop.headroom)
    return Api(dict(of["request_us"]), peak, processes, replicas, own, replica)


def _workers(shop: Shop, constants: Constants) -> Workers:
    of = constants.worker
    asked = shop.qps * shop.peak_factor * shop.mix.get("gr", 0.0)
    memory = of["own_mib"] + shop.items * of["item_b"] / MIB
    if not asked:
        return Workers(0, memory)
    return Workers(1 + math.ceil(asked / of["rate_per_s"] / (1 - shop.headroom)), memory)


def _redis(shop: Shop, constants: Constants, means: Means) -> Redis:
    of, peak = constants.redis, shop.qps * shop.peak_factor
    events = min(shop.history, max(1.0, shop.interactions / shop.users))
    histories = shop.users * (of["user_b"] + events * of["history_event_b"]) / MIB
    memory = (histories + 2 * of["stream_mib"]) * of["rewrite_factor"] / (1 - shop.headroom)
    reading = of["read_us"] + events * of["read_event_us"]
    asked = peak * (reading + of["exposure_us"] + shop.events_per_request * of["append_us"]) / 1e6
    queue = peak * shop.mix.get("gr", 0.0) * of["queue_us"] / 1e6
    nodes = max(1, math.ceil(memory / (means.redis_gib * 1024)), math.ceil((asked + queue) / (1 - shop.headroom)))
    return Redis(memory, asked + queue, nodes, queue)
