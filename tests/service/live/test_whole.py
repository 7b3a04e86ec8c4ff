"""One command, every part real: API processes, Redis, a worker that decodes a network; experiments to their report."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
import redis

from service.redis import keys
from tests import shop
from tests.neural_shop import add_neural
from tests.service.api.conftest import ROOT, Served

from .test_supervisor import children, load, serving, wait

HISTORY = {"history": ["001", "002"], "k": 10}
EXPERIMENT = """
[[experiment]]
name = "home-1"
salt = "home-1a"
running = true
[[experiment.variants]]
name = "graph"
retriever = "tgh-2"
[[experiment.variants]]
name = "generated"
retriever = "gr"
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """`shortlist serve` over a bundle with a generator: two API processes, Redis, a worker, an experiment of a file."""
    folder = tmp_path_factory.mktemp("whole")
    one = shop.odd_shop(1)
    shop.build(folder / "bundles", one, lambda writer, _: add_neural(writer, one.embeddings, one.popularity))
    (folder / "experiments.toml").write_text(EXPERIMENT)
    settings = {"experiments": str(folder / "experiments.toml"), "gr_threads": "1", "workers": "2"}
    with serving(folder / "bundles", **settings) as server:
        wait(lambda: retriever(server, "/recommend/gr", **HISTORY) == ("gr", None))
        yield server


def post(server: Served, path: str, body: object) -> dict[str, object]:
    answer = httpx.post(f"{server.url}{path}", json=body, timeout=60)
    assert answer.status_code == 200, answer.text
    found: dict[str, object] = answer.json()
    return found


def retriever(server: Served, path: str, **body: object) -> tuple[str, str | None]:
    found: dict[str, str] = post(server, path, body)["retriever"]  # type: ignore[assignment]
    return found["served"], found["fallback_reason"]


def folder(server: Served) -> Path:
    return server.log.parent / "live"


def shortlist(server: Served, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = os.environ | {"PYTHONPATH": str(ROOT), "SHORTLIST_DATA_DIR": str(folder(server))}
    command = [sys.executable, "-P", "-c", "from models.cli import main; main()", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def left_in_queue(server: Served, version: str) -> int:
    with redis.Redis(unix_socket_path=str(folder(server) / "redis" / "redis.sock")) as client:
        return int(client.xlen(keys.gr_requests(version)))


def test_gr_obeys_a_flip_of_stock_at_once(whole: Served) -> None:
    first = post(whole, "/recommend/gr", HISTORY)["items"][0]["item_id"]  # type: ignore[index]
    for available in (False, True):
        httpx.put(f"{whole.url}/items/{first}/availability", json={"available": available}, timeout=60)
        wait(lambda said=available: shown(whole, first) is said)
        assert httpx.get(f"{whole.url}/items/{first}", timeout=60).json()["available"] is available


def shown(server: Served, item: str) -> bool:
    answer = post(server, "/recommend/gr", {**HISTORY, "k": 500})
    return item in {one["item_id"] for one in answer["items"]}  # type: ignore[attr-defined, index]


def test_server_timing_tells_where_dense_retrieval_spends_its_time(whole: Served) -> None:
    for name, stages in (("dr", ["queue", "encode", "search"]), ("fused", ["queue", "encode", "search", "rerank"])):
        header = httpx.post(f"{whole.url}/recommend/{name}", json=HISTORY, timeout=60).headers["server-timing"]
        told = {stage: float(ms) for stage, ms in (part.split(";dur=") for part in header.split(", "))}
        assert list(told) == [*stages, "total"]
        assert 0 < told["encode"] < sum(told[stage] for stage in stages) <= told["total"]


def test_a_worker_killed_in_mid_batch_costs_no_request_and_leaves_none_stuck(whole: Served) -> None:
    (worker,) = children(whole.process, "main() worker")
    with load(whole.url, callers=4, path="/recommend/gr", body=HISTORY) as work:
        wait(lambda: len(work.statuses) > 20)
        os.kill(worker.pid, signal.SIGKILL)
        asked = len(work.statuses)
        wait(lambda: len(work.statuses) > asked + 20)
        wait(lambda: retriever(whole, "/recommend/gr", **HISTORY) == ("gr", None))
    assert set(work.statuses) == {200}
    assert not work.failures
    version = httpx.get(f"{whole.url}/readyz", timeout=60).json()["bundle"]
    wait(lambda: left_in_queue(whole, version) == 0)


def test_an_experiment_runs_from_its_file_to_its_report_and_a_user_is_forgotten(whole: Served) -> None:
    running = httpx.get(f"{whole.url}/experiments", timeout=60).json()["experiments"]
    arms = [{"name": "graph", "retriever": "tgh-2"}, {"name": "generated", "retriever": "gr"}]
    assert running == [{"name": "home-1", "scenario": None, "variants": arms}]
    variants = {f"u{number}": show_and_click(whole, f"u{number}") for number in range(30)}
    assert set(variants.values()) == {"graph", "generated"}
    post(whole, "/recommend", {**HISTORY, "user_id": "tester", "variant": "graph"})
    wait(lambda: sum(one["units"] for one in report(whole)) == 30)
    wait(lambda: sum(one["converted"] for one in report(whole)) == 15)
    for one in report(whole):
        users = {user for user, variant in variants.items() if variant == one["variant"]}
        assert one["units"] == one["exposures"] == len(users)
        assert one["converted"] == one["events"] == sum(int(user[1:]) % 2 == 0 for user in users)
        assert one["rate"]["low"] <= one["converted"] / one["units"] <= one["rate"]["high"]
    assert report(whole, "--streams") == report(whole)
    unknown = shortlist(whole, "experiment", "report", "none-such", "--streams")
    assert unknown.returncode != 0
    assert "the streams of Redis: found no exposure of experiment 'none-such'" in unknown.stderr
    done = shortlist(whole, "forget", "u0")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "erased: 1 history entries, 2 stream records, 2 sink records\n"
    assert httpx.get(f"{whole.url}/users/u0/history", timeout=60).json()["items"] == []
    assert sum(one["units"] for one in report(whole)) == 29


def show_and_click(server: Served, user: str) -> str:
    """A list for a user, and a click on its first item by every second one. Returns the variant."""
    answer = post(server, "/recommend", {**HISTORY, "user_id": user})
    if int(user[1:]) % 2 == 0:
        item = answer["items"][0]["item_id"]  # type: ignore[index]
        click = {"event_id": "1", "user_id": user, "item_id": item, "request_id": answer["request_id"]}
        post(server, "/events", click | {"timestamp": now()})
    return str(answer["experiment"]["variant"])  # type: ignore[index]


def now() -> str:
    return datetime.now(UTC).isoformat()


def report(server: Served, *options: str) -> list[dict[str, object]]:
    done = shortlist(server, "experiment", "report", "home-1", "--json", *options)
    assert done.returncode in (0, 6), done.stderr
    found: list[dict[str, object]] = json.loads(done.stdout)["variants"]
    return found


def test_a_user_is_not_forgotten_by_halves_when_no_service_runs(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "SHORTLIST_DATA_DIR": str(tmp_path / "none")}
    command = [sys.executable, "-P", "-c", "from models.cli import main; main()", "forget", "u0"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "SHORTLIST_REDIS_URL" in done.stderr
