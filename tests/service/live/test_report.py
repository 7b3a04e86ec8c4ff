"""The report counts units once, attributes within a day to what was served, and shouts when the ratio is off."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from models.errors import InputError
from service.commands.experiment import BROKEN_EXIT_CODE, app
from service.experiments.report import Report, VariantResult, report
from service.experiments.statistics import difference, lift, sample_ratio_p, wilson
from service.sinks.files import to_parquet

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


class Log:
    """Writes sinks as the service does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shown: list[dict[str, object]] = []
        self.happened: list[dict[str, object]] = []

    def expose(self, user: str, variant: str, items: str = "ab", **changes: object) -> str:
        """One exposure; returns its request id."""
        record: dict[str, object] = {
            "request_id": f"r{len(self.shown)}",
            "timestamp": NOON,
            "user_id": user,
            "unit": f"user:{user}",
            "experiment": "e",
            "variant": variant,
            "salt": "s",
            "share": 0.5,
            "forced": False,
            "fallback_reason": None,
            "items": list(items),
        }
        self.shown.append(record | changes)
        return str(self.shown[-1]["request_id"])

    def event(self, user: str, item: str, hours: float = 1.0, **changes: object) -> None:
        """One event."""
        record: dict[str, object] = {
            "user_id": user,
            "item_id": item,
            "timestamp": NOON + timedelta(hours=hours),
            "event": "view",
            "event_id": f"e{len(self.happened)}",
            "request_id": None,
        }
        self.happened.append(record | changes)

    def write(self) -> Path:
        """The files."""
        for name, records in (("exposures", self.shown), ("events", self.happened)):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
            lines = b"".join(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE) for record in records)
            (self.folder / name / f"{name}-1.jsonl").write_bytes(lines)
        return self.folder

    def report(self, **options: object) -> Report:
        return report(self.write(), "e", **options)  # type: ignore[arg-type]


def by_name(found: Report) -> dict[str, VariantResult]:
    return {result.variant: result for result in found.variants}


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "sinks")


def test_units_are_counted_once_however_many_exposures_and_events_they_have(log: Log) -> None:
    for user in ("u1", "u2"):
        for _ in range(3):
            log.expose(user, "a")
    log.expose("u3", "b", fallback_reason="deadline")
    for item in "aab":
        log.event("u1", item)
    a, b = by_name(log.report())["a"], by_name(log.report())["b"]
    assert (a.units, a.exposures, a.converted, a.events) == (2, 6, 1, 3)
    assert a.rate.value == 0.5
    assert (b.units, b.fallback_share, b.converted) == (1, 1.0, 0)
    assert b.difference is not None
    assert b.difference.value == -0.5
    assert b.lift is None


@pytest.mark.parametrize(
    ("item", "hours", "counts"),
    [("a", 0, True), ("a", 24, True), ("a", 24.01, False), ("a", -0.01, False), ("z", 1, False)],
)
def test_only_served_items_within_a_day_after_the_exposure_count(
    log: Log, item: str, hours: float, counts: bool
) -> None:
    log.expose("u1", "a")
    log.event("u1", item, hours)
    assert by_name(log.report())["a"].converted == int(counts)


def test_a_request_id_ties_an_event_to_its_list_and_to_no_other(log: Log) -> None:
    session = log.expose("-", "a", user_id=None, unit="session:s1")
    other = log.expose("u1", "b", items="xy")
    log.event("unknown", "a", request_id=session)
    log.event("u1", "a", request_id=other)
    found = by_name(log.report())
    assert (found["a"].converted, found["b"].converted) == (1, 0)


@pytest.mark.parametrize(("hours", "counts"), [(-0.01, True), (24, True), (24.01, False)])
def test_an_event_that_names_its_list_came_after_it_whatever_its_clock_says(
    log: Log, hours: float, counts: bool
) -> None:
    log.event("u1", "a", hours, request_id=log.expose("u1", "a"))
    assert by_name(log.report())["a"].converted == int(counts)


def test_forced_mixed_repeated_and_older_records_are_left_out(log: Log) -> None:
    log.expose("old", "a", salt="before", timestamp=NOON - timedelta(days=2))
    log.expose("qa", "a", forced=True)
    log.expose("mixed", "a")
    log.expose("mixed", "b")
    log.expose("u1", "a", request_id="same")
    log.expose("u1", "a", request_id="same")
    log.event("u1", "a", event_id="once")
    log.event("u1", "a", event_id="once")
    found = log.report()
    assert found.mixed_units == 1
    assert found.salt == "s"
    a = by_name(found)["a"]
    assert (a.units, a.exposures, a.events) == (1, 1, 1)


def test_event_types_and_control_can_be_chosen(log: Log) -> None:
    log.expose("u1", "a")
    log.expose("u2", "b")
    log.event("u1", "a", event="view")
    log.event("u2", "a", event="purchase")
    found = log.report(types=["purchase"], control="b")
    assert found.control == "b"
    assert [by_name(found)[name].converted for name in "ab"] == [0, 1]
    with pytest.raises(InputError, match="one of a, b"):
        log.report(control="c")
    with pytest.raises(InputError, match="no exposure"):
        report(log.folder, "unknown")


def test_parquet_and_open_files_are_read_alike(log: Log) -> None:
    log.expose("u1", "a")
    log.event("u1", "a")
    folder = log.write()
    for path in list(folder.glob("*/*.jsonl")):
        to_parquet(path)
    log.shown, log.happened = [], []
    log.expose("u2", "b", request_id="r9")
    (folder / "exposures" / "exposures-2.jsonl").write_bytes(orjson.dumps(log.shown[0]) + b'\n{"request_id": "torn')
    found = by_name(report(folder, "e"))
    assert (found["a"].converted, found["b"].units) == (1, 1)


def test_the_command_shouts_and_exits_when_units_came_in_other_shares_than_expected(log: Log) -> None:
    for number in range(90):
        log.expose(f"u{number}", "a" if number < 70 else "b")  # 70 against 20
    log.event("u1", "a")
    folder = log.write()
    result = CliRunner().invoke(app, ["report", "e", "--sinks", str(folder), "--json"])
    assert result.exit_code == BROKEN_EXIT_CODE
    assert "SAMPLE RATIO MISMATCH" in result.output
    log.shown = log.shown[45:]  # 25 against 20
    log.write()
    result = CliRunner().invoke(app, ["report", "e", "--sinks", str(folder)])
    assert result.exit_code == 0
    assert "sample ratio: p = 0." in result.output


def test_an_arm_that_nobody_got_is_noticed(log: Log) -> None:
    for number in range(40):
        log.expose(f"u{number}", "a")
    assert log.report().broken


@given(st.integers(0, 500), st.integers(0, 500))
def test_intervals_hold_their_value_and_stay_in_range(successes: int, failures: int) -> None:
    n = successes + failures
    one = wilson(successes, n)
    assert 0 <= one.low <= one.value <= one.high <= 1
    gap = difference(successes, n, failures, n)
    assert -1 <= gap.low <= gap.value <= gap.high <= 1
    change = lift(successes, n, failures, n)
    assert change is None or change.low <= change.value <= change.high


@given(st.lists(st.integers(1, 1000), min_size=2, max_size=6), st.integers(2, 50))
def test_exact_shares_never_shout_and_scale_does_not_matter(counts: list[int], scale: int) -> None:
    assert sample_ratio_p(counts, counts) == pytest.approx(1.0)
    assert sample_ratio_p(counts, [count * scale for count in counts]) == pytest.approx(1.0)
    assert sample_ratio_p([*counts, 1], [*counts, 0]) == 0.0
