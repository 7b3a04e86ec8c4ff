"""The whole service as processes: killed parts come back, totals never fall, SIGTERM drains in order, none stays."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import orjson
import psutil
from prometheus_client.parser import text_string_to_metric_families

from service.supervisor.gather import Totals, parse
from tests.service.api.conftest import ROOT, Served, wait_for_address

WITHIN_S = 120.0
BODY = {"history": ["item-001", "item-002"], "k": 10}


@contextmanager
def serving(root: Path, **variables: str) -> Iterator[Served]:
    """`shortlist serve` on a free port, with further settings; ended with all its children."""
    log = root.parent / "log"
    command = [sys.executable, "-P", "-c", "from models.cli import main; main()", "serve", "--bundles", str(root)]
    chosen = {"port": "0", "data_dir": str(root.parent / "live"), "deadline_ms": "5000", **variables}
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | {f"SHORTLIST_{k.upper()}": v for k, v in chosen.items()}
    with log.open("wb") as stream:
        process = subprocess.Popen(command, env=environment, stderr=stream, cwd=log.parent, process_group=0)
    try:
        yield Served(process, wait_for_address(process, log), log)
    finally:
        process.kill()
        process.wait()


def wait(condition: Callable[[], bool], within_s: float = WITHIN_S) -> float:
    """Poll until a condition holds; returns the seconds it took."""
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < within_s, "the condition did not come to hold"
        time.sleep(0.02)
    return time.monotonic() - started


@dataclass
class Load:
    """Callers with a connection for each request; what they got."""

    url: str
    path: str = "/recommend"
    body: dict[str, object] = field(default_factory=lambda: dict(BODY))
    statuses: list[int] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    stopped: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        while not self.stopped.is_set():
            try:
                self.statuses.append(httpx.post(f"{self.url}{self.path}", json=self.body, timeout=60).status_code)
            except httpx.ConnectError:
                self.stopped.wait(0.01)
            except httpx.TransportError as error:
                self.failures.append(type(error).__name__)


@contextmanager
def load(url: str, callers: int = 2, path: str = "/recommend", body: dict[str, object] | None = None) -> Iterator[Load]:
    """Requests without a pause while the block runs."""
    work = Load(url, path, body or dict(BODY))
    threads = [threading.Thread(target=work.run) for _ in range(callers)]
    for thread in threads:
        thread.start()
    try:
        yield work
    finally:
        work.stopped.set()
        for thread in threads:
            thread.join()


def children(server: "subprocess.Popen[bytes]", part: str) -> list[psutil.Process]:
    """Living children whose command line holds a word."""
    found = []
    for child in psutil.Process(server.pid).children(recursive=True):
        try:
            if part in " ".join(child.cmdline()):
                found.append(child)
        except psutil.NoSuchProcess:
            continue
    return found


def total(url: str, name: str) -> float:
    """Sum of a counter over all its labels."""
    text = httpx.get(f"{url}/metrics", timeout=60).text
    return sum(
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name
    )


def answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", timeout=60).status_code == 200
    except httpx.TransportError:
        return False


def test_killed_parts_come_back_requests_keep_being_answered_and_totals_never_fall(root: Path) -> None:
    with serving(root, workers="2") as server:
        wait(lambda: answers(server.url))
        event = {"event_id": "1", "user_id": "u", "item_id": "item-003", "timestamp": "2026-01-01T00:00:00Z"}
        assert httpx.post(f"{server.url}/events", json=event, timeout=60).json()["accepted"] == 1
        wait(lambda: is_written(root, b"item-003"))
        with load(server.url) as work:
            (redis,) = children(server.process, "redis-server")
            redis.kill()
            wait(lambda: [child.pid for child in children(server.process, "redis-server")] not in ([], [redis.pid]))
            wait(lambda: len(work.statuses) > 20)
        assert set(work.statuses) == {200}
        assert not work.failures
        wait(lambda: history(server.url) == ["item-003"])
        counted = total(server.url, "shortlist_request_seconds_count")
        assert counted >= len(work.statuses)
        apis = children(server.process, "service.supervisor.api")
        assert len(apis) == 2
        with load(server.url) as work:
            apis[0].kill()
            wait(lambda: len(children(server.process, "service.supervisor.api")) == 2)
            wait(lambda: len(work.statuses) > 20)
        assert set(work.statuses) == {200}
        assert len(work.failures) <= 2
        wait(lambda: total(server.url, "shortlist_request_seconds_count") >= counted)
        whole = psutil.Process(server.process.pid).children(recursive=True)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(60) == 0
        _, alive = psutil.wait_procs(whole, timeout=10)
        assert not alive


def is_written(root: Path, text: bytes) -> bool:
    """Whether Redis has handed it to the operating system; behind a slow disk that may take it two seconds."""
    return any(text in file.read_bytes() for file in (root.parent / "live" / "redis").rglob("*.aof"))


def history(url: str) -> list[str]:
    answer = httpx.get(f"{url}/users/u/history", timeout=60)
    return [entry["item_id"] for entry in answer.json()["items"]] if answer.status_code == 200 else []


def test_sigterm_under_load_loses_no_request_that_was_accepted(root: Path) -> None:
    """A connection that the kernel made but no process took is not accepted; what was taken stands in the log."""
    with serving(root, access_log="true") as server:
        wait(lambda: answers(server.url))
        with load(server.url, callers=4) as work:
            wait(lambda: len(work.statuses) > 40)
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(60) == 0
        lines = [orjson.loads(line) for line in server.log.read_bytes().splitlines() if line.startswith(b"{")]
    taken = [line for line in lines if line["event"] == "request" and line["route"] == "/recommend"]
    assert {line["status"] for line in taken} == set(work.statuses) == {200}
    assert len(taken) == len(work.statuses)
    assert not work.failures


def test_ctrl_c_in_a_terminal_ends_it_in_order(root: Path) -> None:
    """A terminal's Ctrl-C goes to all processes of a group."""
    with serving(root, workers="1") as server:
        wait(lambda: answers(server.url))
        assert os.getpgid(server.process.pid) == server.process.pid
        parts = psutil.Process(server.process.pid).children()
        assert server.process.pid not in {os.getpgid(part.pid) for part in parts}
        assert {os.getsid(part.pid) for part in parts} == {os.getsid(server.process.pid)}  # niceness counts within it
        os.killpg(server.process.pid, signal.SIGINT)
        assert server.process.wait(60) == 0
        log = server.log.read_text()
    assert "draining" in log
    assert "process died" not in log
    assert "process killed" not in log


def test_sigterm_while_it_starts_ends_it_with_0_and_leaves_nothing(root: Path) -> None:
    command = [sys.executable, "-P", "-c", "from models.cli import main; main()", "serve", "--bundles", str(root)]
    environment = os.environ | {"SHORTLIST_DATA_DIR": str(root.parent / "live"), "SHORTLIST_PORT": "0"}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        next(line for line in process.stderr if "Waiting for application startup" in line)
        whole = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGTERM)
        rest = process.stderr.read()
        assert process.wait(WITHIN_S) == 0
    assert "running on" not in rest
    assert "killed" not in rest
    _, alive = psutil.wait_procs(whole, timeout=10)
    assert not alive


def test_when_the_parent_is_killed_nothing_of_it_stays(root: Path) -> None:
    with serving(root) as server:
        whole = psutil.Process(server.process.pid).children(recursive=True)
        assert len(whole) >= 2
        server.process.kill()
        _, alive = psutil.wait_procs(whole, timeout=60)
        assert not alive


def test_admin_and_metrics_move_to_a_port_of_their_own(root: Path) -> None:
    reader = '[{"key": "reader-key-0123456789", "scopes": ["read"]}]'
    environment = {"admin_port": "0", "admin_key": "admin-key-0123456789", "api_keys": reader}
    with serving(root, **environment) as server:
        wait(lambda: answers(server.url))
        (api,) = children(server.process, "service.supervisor.api")
        ports = {found.laddr.port for found in api.net_connections() if found.status == psutil.CONN_LISTEN}
        (admin_port,) = ports - {int(server.url.rsplit(":", 1)[1])}
        admin = f"http://127.0.0.1:{admin_port}"
        assert httpx.get(f"{server.url}/metrics", timeout=60).status_code == 404
        assert httpx.get(f"{server.url}/admin/bundles", timeout=60).status_code == 404
        scraped = httpx.get(f"{admin}/metrics", timeout=60).text  # who discovers its targets sends no key
        assert "shortlist_bundle_info" in scraped
        assert httpx.get(f"{admin}/admin/bundles", timeout=60).status_code == 401
        key = {"x-api-key": "admin-key-0123456789"}
        assert httpx.get(f"{admin}/admin/bundles", headers=key, timeout=60).status_code == 200
        assert httpx.post(f"{admin}/recommend", json=BODY, timeout=60).status_code == 404


def test_a_taken_port_is_named_and_exits_2(root: Path) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-P", "-c", "from models.cli import main; main()", "serve", "--port", port]
        environment = os.environ | {"SHORTLIST_DATA_DIR": str(root.parent / "live")}
        done = subprocess.run(
            [*command, "--bundles", str(root)], capture_output=True, text=True, env=environment, check=False
        )
    assert done.returncode == 2
    assert port in done.stderr


COUNTS = """# TYPE requests_total counter
requests_total{{route="a"}} {requests}
# TYPE seconds histogram
seconds_bucket{{le="1.0"}} {requests}
seconds_bucket{{le="+Inf"}} {requests}
seconds_count {requests}
seconds_sum 2.0
# TYPE waiting gauge
waiting {waiting}
# TYPE last_seconds gauge
last_seconds {last}
"""


def counts(totals: Totals) -> dict[str, float]:
    return {sample.name: sample.value for family in totals.collect() for sample in family.samples}


def test_totals_add_up_keep_the_dead_and_forget_their_gauges() -> None:
    totals = Totals()
    totals.heard("1", parse(COUNTS.format(requests=5.0, waiting=2.0, last=100.0)))
    totals.heard("2", parse(COUNTS.format(requests=7.0, waiting=1.0, last=90.0)))
    found = counts(totals)
    assert (found["requests_total"], found["seconds_count"], found["waiting"]) == (12.0, 12.0, 3.0)
    assert found["last_seconds"] == 100.0
    totals.died("1")
    totals.died("1")
    totals.heard("3", parse(COUNTS.format(requests=1.0, waiting=0.0, last=110.0)))
    found = counts(totals)
    assert (found["requests_total"], found["waiting"], found["last_seconds"]) == (13.0, 1.0, 110.0)
    assert b'requests_total{route="a"} 13.0' in totals.exposition()
