"""`shortlist plan`: an example by hand, growth in the right direction, and wrong input."""

import dataclasses
import json
from collections.abc import Callable

import pytest
from typer.testing import CliRunner

from models.cli import app
from models.errors import ConfigError
from offline.commands.plan import mix
from offline.plan.constants import Constants, Job, read_constants
from offline.plan.model import Means, Plan, Shop, plan

MIB = 1 << 20
SHOP = Shop(users=1000, items=MIB, interactions=2 * MIB, qps=100, mix={"tgh-2": 0.5, "gr": 0.5}, peak_factor=2)
ROUND = Constants(
    machine={"what": "paper", "loop_ms": 1.0, "largest_items": 10},
    jobs={"all": Job(fixed_s=3600, row_us=0, item_us=0)},
    memory={"fixed_mib": 10, "item_b": 1, "row_b": 2, "scaling": 0.5},
    bundle={"item_b": 100, "row_b": 10, "neural_item_b": 20, "networks_b": 5 * MIB},
    api={"own_mib": 50, "own_item_b": 2, "event_us": 0, "request_us": {"tgh-2": 1000, "gr": 3000}},
    worker={"own_mib": 30, "item_b": 1, "rate_per_s": 10},
    redis={
        "user_b": MIB, "history_event_b": 0, "stream_mib": 100, "rewrite_factor": 1, "read_us": 1000,
        "read_event_us": 0, "exposure_us": 0, "append_us": 0, "queue_us": 1000,
    },
    logs={"exposure_b": MIB, "event_b": 0, "state_row_b": 1},
    sources={},
)  # fmt: skip


def test_an_example_by_hand() -> None:
    found = plan(dataclasses.replace(SHOP, headroom=0.5), ROUND, Means(build_cores=2, api_cores=2, redis_gib=1))
    assert found.build.cpu_s == 3600
    assert found.build.hours == 1  # 2 cores at half their sum
    assert found.build.memory_mib == 10 + 1 + 4
    assert found.disk.bundle_mib == 100 + 20 + 20 + 5
    assert found.disk.logs_a_day_mib == 100 * 86_400
    assert found.api.peak_qps == 200
    assert found.api.processes == 200 * 0.002 / 0.5 + 1.2  # 0.8 of a process, and never fewer than two
    assert found.api.replica_mib == (2 * (50 + 2) + 2 * 145) / 0.5
    assert found.workers.count == 1 + 100 / 10 / 0.5
    assert found.redis.memory_mib == (1000 + 200) / 0.5
    assert found.redis.core_share == pytest.approx(0.2 + 0.1)
    assert found.redis.nodes == 3  # 2,400 MiB in nodes of 1,024


SIZES: dict[str, Callable[[Plan], float]] = {
    "build": lambda found: found.build.cpu_s,
    "memory": lambda found: found.build.memory_mib,
    "bundle": lambda found: found.disk.bundle_mib,
    "processes": lambda found: found.api.processes,
    "own": lambda found: found.api.own_mib,
    "workers": lambda found: found.workers.count,
    "redis": lambda found: found.redis.memory_mib,
}


@pytest.mark.parametrize("grown", ["users", "items", "interactions", "qps"])
def test_a_larger_shop_never_needs_less(grown: str) -> None:
    constants = read_constants()
    larger = dataclasses.replace(SHOP, **{grown: getattr(SHOP, grown) * 3})
    before, after = plan(SHOP, constants, Means()), plan(larger, constants, Means())
    shrunk = {name for name, of in SIZES.items() if of(after) < of(before)}
    assert shrunk <= ({"redis"} if grown == "users" else set())  # the same log among more users: shorter histories


def test_twice_the_requests_take_twice_the_processes() -> None:
    constants = read_constants()
    busy = dataclasses.replace(SHOP, qps=10_000, mix={"tgh-2": 1.0})
    one = plan(busy, constants, Means())
    two = plan(dataclasses.replace(busy, qps=20_000), constants, Means())
    assert abs(two.api.processes - 2 * one.api.processes) <= 1
    assert two.build == one.build
    assert one.workers.count == 0


@pytest.mark.parametrize(
    "wrong", ["tgh-2", "tgh-2=x", "tgh-9=1", "tgh-2=0.5", "tgh-2=1.5,gr=-0.5", "tgh-2=nan", "gr=0.5,gr=0.5,dr=0.5"]
)
def test_a_wrong_mix_is_refused(wrong: str) -> None:
    with pytest.raises(ConfigError, match="--retriever-mix"):
        mix(wrong, read_constants())


def test_the_command_prints_sizes_and_assumptions() -> None:
    shop = ("plan", "--users", "1000", "--items", "100", "--interactions", "5000", "--qps", "5")
    shown = CliRunner().invoke(app, shop)
    assert shown.exit_code == 0, shown.output
    assert "API replicas" in shown.output
    assert "busiest second" in shown.output
    told = json.loads(CliRunner().invoke(app, [*shop, "--json"]).output)
    assert told["build"]["jobs_cpu_s"].keys() == read_constants().jobs.keys()
    assert told["assumptions"]
    assert CliRunner().invoke(app, ["plan", "--users", "0", *shop[3:]]).exit_code == 2
    endless = CliRunner().invoke(app, [*shop[:-1], "inf"])
    assert isinstance(endless.exception, ConfigError)


def test_every_table_of_constants_says_what_measured_it() -> None:
    constants = read_constants()
    tables = {field.name for field in dataclasses.fields(constants)} - {"sources", "jobs"}
    assert constants.sources.keys() == tables
