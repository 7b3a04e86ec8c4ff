"""Assignment is stable, uniform and sticky; changes that would move units are refused."""

import asyncio
import os
import re
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from pydantic import ValidationError
from scipy.stats import chisquare

from models.errors import ConfigError
from models.words import RetrieverName
from service.experiments.book import ExperimentBook, ExperimentConflictError, read_file
from service.experiments.buckets import BUCKETS, Purpose, admitted, arm, bucket
from service.experiments.model import Experiment, Variant, utc_now
from service.experiments.routing import Decision, Unit, UnknownVariantError, decide, route, unit_of
from service.redis.link import LinkConfig, RedisLink
from service.redis.replica import Replica
from service.redis.server import EmbeddedRedis

from .conftest import until

pytestmark = pytest.mark.anyio
UNITS = [Unit("user", f"u{number}") for number in range(20_000)]


def experiment(name: str = "one", **changes: object) -> Experiment:
    plain: dict[str, object] = {
        "name": name,
        "salt": f"salt-{name}",
        "running": True,
        "variants": [
            {"name": "a", "weight": 1, "retriever": "tgh-2"},
            {"name": "b", "weight": 3, "retriever": "dr-prior", "alpha": 0.3},
        ],
    }
    return Experiment.model_validate(plain | changes)


def test_buckets_are_uniform_and_gate_and_variant_are_independent() -> None:
    gate = [bucket("s", Purpose.GATE, unit.name) for unit in UNITS]
    variant = [bucket("s", Purpose.VARIANT, unit.name) for unit in UNITS]
    assert min(gate) >= 0
    assert max(gate) < BUCKETS
    for drawn in (gate, variant, [a for a, b in zip(gate, variant, strict=True) if b < BUCKETS // 2]):
        assert chisquare([count for _, count in sorted(Counter(place // 500 for place in drawn).items())]).pvalue > 1e-4


def test_buckets_are_the_same_in_another_process_with_another_hash_seed() -> None:
    program = (
        "from service.experiments.buckets import *\nprint([bucket('s', Purpose.GATE, f'user:{n}') for n in range(50)])"
    )
    environment = os.environ | {"PYTHONHASHSEED": "7"}
    there = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert there.stdout.strip() == str([bucket("s", Purpose.GATE, f"user:{number}") for number in range(50)])


@given(st.text(), st.floats(0, 1), st.floats(0, 1))
def test_more_traffic_only_adds_units(unit: str, one: float, other: float) -> None:
    less, more = sorted((one, other))
    assert not admitted("s", unit, less) or admitted("s", unit, more)


@given(st.text(), st.lists(st.floats(0, 100), min_size=1, max_size=8).filter(lambda weights: sum(weights) > 0.01))
def test_every_unit_gets_an_arm_that_has_weight(unit: str, weights: list[float]) -> None:
    assert weights[arm("s", unit, weights)] > 0


def test_shares_follow_traffic_and_weights() -> None:
    some = experiment(traffic=0.4)
    decisions = [decision for unit in UNITS if (decision := decide(some, unit))]
    assert len(decisions) / len(UNITS) == pytest.approx(0.4, abs=0.015)
    counts = Counter(decision.variant.name for decision in decisions)
    assert counts["b"] / len(decisions) == pytest.approx(0.75, abs=0.015)


def test_a_wider_gate_moves_nobody_between_variants() -> None:
    before = {unit: decision.variant.name for unit in UNITS if (decision := decide(experiment(traffic=0.3), unit))}
    after = {unit: decision.variant.name for unit in UNITS if (decision := decide(experiment(traffic=0.9), unit))}
    assert before.items() <= after.items()


def test_the_user_comes_before_the_session_and_they_are_different_units() -> None:
    assert unit_of("x", "y") == Unit("user", "x")
    assert unit_of(None, "y") == Unit("session", "y")
    assert unit_of(None, None) is None
    assert Unit("user", "x").name != Unit("session", "x").name


def test_a_variant_states_the_value_prior_that_it_changes() -> None:
    b = experiment().variant("b")
    assert b is not None
    prior = b.value()
    assert prior is not None
    assert (prior.alpha, prior.weights, prior.pool) == (0.3, (0.25, 0.25, 0.5), 200)
    assert Variant(name="x", retriever=RetrieverName.GR).value() is None


@pytest.mark.parametrize(
    "changes",
    [
        {"variants": []},
        {"variants": [{"name": "a", "retriever": "tgh-2"}] * 2},
        {"variants": [{"name": "a", "retriever": "nonsense"}]},
        {"variants": [{"name": "a", "retriever": "tgh-2", "weight": 0}]},
        {"traffic": 1.1},
        {"name": "no spaces"},
        {"typo": 1},
        {"starts": "2026-01-01T00:00:00"},
    ],
)
def test_a_wrong_experiment_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        experiment(**changes)


async def test_a_request_is_routed_by_scenario_time_and_force(link: RedisLink) -> None:
    book = ExperimentBook(link)
    now = datetime.now(UTC)
    await book.put(experiment("any"))
    await book.put(experiment("home", scenario="home", starts=now - timedelta(hours=1), stops=now + timedelta(hours=1)))
    unit = UNITS[0]

    def routed(scenario: str | None, forced: str | None = None, unit: Unit | None = unit) -> Decision | None:
        return route(book, scenario=scenario, unit=unit, forced=forced)

    assert [decision.experiment.name for name in ("home", "cart", None) if (decision := routed(name))] == [
        "home",
        "any",
        "any",
    ]
    assert routed("home", unit=None) is None
    forced = routed("home", "a", None)
    assert forced is not None
    assert (forced.variant.name, forced.forced, forced.unit) == ("a", True, None)
    with pytest.raises(UnknownVariantError):
        routed("home", "c")
    assert book.running("home", now + timedelta(hours=2)) == book.running(None)


async def test_new_weights_need_a_new_salt_even_after_the_experiment_was_dropped(link: RedisLink) -> None:
    book = ExperimentBook(link)
    await book.put(experiment(traffic=0.1))
    await book.put(experiment(traffic=0.5, running=False))
    other = [{"name": "a", "weight": 2, "retriever": "tgh-2"}, {"name": "b", "retriever": "dr-prior"}]
    with pytest.raises(ExperimentConflictError, match="new salt"):
        await book.put(experiment(variants=other))
    assert await book.drop("one")
    with pytest.raises(ExperimentConflictError, match="new salt"):
        await book.put(experiment(variants=other))
    await book.put(experiment(variants=other, salt="fresh"))


async def test_an_experiment_of_a_later_release_is_left_out_and_others_are_followed(link: RedisLink) -> None:
    book = ExperimentBook(link)
    book.table.start()
    later = experiment("later").encode()[:-1] + b',"holdout":0.1}'
    await Replica(link, "experiments").put({"later": later})
    await until(lambda: "later" in book.table.values)
    await Replica(link, "experiments").put({"one": experiment("one").encode()})
    await until(lambda: list(book.all()) == ["one"])
    await book.table.stop()


async def test_two_running_experiments_of_one_scenario_are_refused(link: RedisLink) -> None:
    book = ExperimentBook(link)
    await book.put(experiment("one"))
    with pytest.raises(ExperimentConflictError, match="both run"):
        await book.put(experiment("two"))
    with pytest.raises(ExperimentConflictError, match="salt of one"):
        await book.put(experiment("two", scenario="home", salt="salt-one"))
    await book.put(experiment("two", running=False))


def test_the_example_of_the_readme_is_a_valid_file(tmp_path: Path) -> None:
    readme = (Path(__file__).parents[3] / "README.md").read_text()
    (example,) = re.findall(r"```toml\n(\[\[experiment\]\].*?)```", readme, re.DOTALL)
    path = tmp_path / "experiments.toml"
    path.write_text(example)
    (found,) = read_file(path)
    assert found.active(utc_now())
    assert [found.share(variant) for variant in found.variants] == [0.5, 0.5]


async def test_experiments_come_from_a_file_too_and_a_bad_file_changes_nothing(link: RedisLink, tmp_path: Path) -> None:
    path = tmp_path / "experiments.toml"
    arms = '[[experiment.variants]]\nname = "a"\nretriever = "gr"\n'
    text = f'[[experiment]]\nname = "f"\nsalt = "s"\nrunning = true\n{arms}'
    path.write_text(text)
    book = ExperimentBook(link, path)
    await book.read_file()
    assert [found.name for found in [book.running(None)] if found] == ["f"]
    path.write_text(text.replace("gr", "nonsense"))
    os.utime(path, ns=(1, 1))
    await book.read_file()
    assert book.running(None) is not None
    with pytest.raises(ConfigError, match="nonsense"):
        read_file(path)
    with pytest.raises(ExperimentConflictError, match="file"):
        await book.put(experiment("f"))


class RoutingMachine(RuleBasedStateMachine):
    """Two processes, one table: whatever is changed, both route alike and nobody moves while the salt stays."""

    url: str

    @initialize()
    def open(self) -> None:
        self.runner = asyncio.Runner()
        self.links = [RedisLink(LinkConfig(self.url)) for _ in range(2)]
        self.runner.run(self.links[0].call(lambda client: client.flushall()))
        self.books = [ExperimentBook(link) for link in self.links]
        self.seen: dict[tuple[str, str], str] = {}
        self.weights: dict[str, int] = {}

    @rule(
        book=st.integers(0, 1),
        traffic=st.sampled_from([0.0, 0.3, 1.0]),
        weight=st.sampled_from([1, 3]),
        salt=st.sampled_from("xyz"),
        running=st.booleans(),
    )
    def put(self, book: int, traffic: float, weight: int, salt: str, running: bool) -> None:
        arms = [{"name": "a", "weight": weight, "retriever": "tgh-1"}, {"name": "b", "retriever": "tgh-2"}]
        change = experiment(traffic=traffic, salt=salt, running=running, variants=arms)
        if self.weights.setdefault(salt, weight) == weight:
            self.runner.run(self.books[book].put(change))
        else:
            with pytest.raises(ExperimentConflictError, match="new salt"):
                self.runner.run(self.books[book].put(change))

    @rule(book=st.integers(0, 1))
    def drop(self, book: int) -> None:
        self.runner.run(self.books[book].drop("one"))

    @invariant()
    def processes_agree_and_units_stay(self) -> None:
        for book in self.books:
            self.runner.run(book.table.refresh())
        for unit in UNITS[:40]:
            first, second = (route(book, scenario=None, unit=unit, forced=None) for book in self.books)
            assert first == second
            if first is not None:
                salt = first.experiment.salt
                assert self.seen.setdefault((salt, unit.name), first.variant.name) == first.variant.name

    def teardown(self) -> None:
        for link in self.links:
            self.runner.run(link.aclose())
        self.runner.close()


def test_any_sequence_of_changes_keeps_processes_agreed_and_units_in_place(redis_server: EmbeddedRedis) -> None:
    RoutingMachine.url = redis_server.url
    machine = RoutingMachine.TestCase()
    machine.settings = settings(max_examples=15, stateful_step_count=12, deadline=None)
    machine.runTest()
