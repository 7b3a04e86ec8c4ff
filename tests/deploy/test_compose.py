"""The compose file: what it says, and its wiring by running the same processes on this machine."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from recipe import command_of, environment, last, read_stages

from models.bundle.reader import Bundle
from models.bundle.writer import BundleWriter
from service.settings import Settings
from tests.deploy.places import DEPLOY
from tests.deploy.queries import every_query, named_metrics

STATE = "/var/lib/shortlist"
PATIENCE_S = 180.0
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
OURS = ("api-1", "api-2", "worker")
KEY = "a key that a shop gives its pages"
GIVEN = {
    "SHORTLIST_SINK_KEY": "one-secret-for-both",
    "SHORTLIST_API_KEYS": json.dumps([{"key": KEY, "scopes": ["read", "events", "write"]}]),
}
WITH_KEY = {"Authorization": f"Bearer {KEY}"}


def filled(text: str) -> str:
    """A value with the variables of compose: given ones, else their defaults."""
    if not text.startswith("${"):
        return text
    name, _, default = text[2:-1].partition(":")
    return GIVEN.get(name, default.removeprefix("-") if default.startswith("-") else "")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@dataclass
class Stack:
    """Processes of the compose file on ports of this machine."""

    folder: Path
    ports: dict[str, int] = field(default_factory=dict)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def port(self, service: str, container_port: int) -> int:
        """Where a container's port is found here."""
        return self.ports.setdefault(f"{service}:{container_port}", free_port())

    def url(self, service: str, container_port: int) -> str:
        return f"http://127.0.0.1:{self.port(service, container_port)}"

    def place(self, path: str, service: str) -> str:
        """Where a container's folder lies here: volumes by their name."""
        for volume in SERVICES[service]["volumes"]:
            name, inside = volume.split(":")[:2]
            if path == inside or path.startswith(f"{inside}/"):
                return path.replace(inside, str(self.folder / name), 1)
        return path

    def variables(self, service: str) -> dict[str, str]:
        """The image's environment and compose's over it, with this machine's folders and ports."""
        steps = read_stages(
            DEPLOY / SERVICES[service]["build"]["context"] / SERVICES[service]["build"]["dockerfile"], {}
        )
        values = environment(steps[-1].steps) | {
            name: filled(str(value)) for name, value in SERVICES[service]["environment"].items()
        }
        values |= {name: self.place(value, service) for name, value in values.items() if value.startswith(STATE)}
        for name in ("SHORTLIST_PORT", "SHORTLIST_ADMIN_PORT", "SHORTLIST_GR_HEALTH_PORT"):
            if name in values:
                values[name] = str(self.port(service, int(values[name])))
        values["SHORTLIST_REDIS_URL"] = values["SHORTLIST_REDIS_URL"].replace(
            "redis:6379", f"127.0.0.1:{self.port('redis', 6379)}"
        )
        values.pop("NUMBA_CACHE_DIR", None)  # kernels that are compiled already: the wiring is the question here
        return values | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}

    def start_redis(self) -> None:
        command = [word.replace("valkey-server", "redis-server") for word in SERVICES["redis"]["command"]]
        (self.folder / "redis").mkdir()
        extra = ["--port", str(self.port("redis", 6379)), "--bind", "127.0.0.1", "--dir", str(self.folder / "redis")]
        self.processes["redis"] = subprocess.Popen([*command, *extra], stdout=subprocess.DEVNULL)

    def start(self, service: str) -> None:
        variables = self.variables(service)
        steps = read_stages(DEPLOY / ".." / SERVICES[service]["build"]["dockerfile"], {})[-1].steps
        with (self.folder / f"{service}.log").open("w") as log:
            self.processes[service] = subprocess.Popen(
                command_of(last(steps, "CMD")), cwd=self.folder, env=variables, stdout=log, stderr=log
            )

    def healthy(self, service: str) -> bool:
        """What the image's HEALTHCHECK says."""
        steps = read_stages(DEPLOY / ".." / SERVICES[service]["build"]["dockerfile"], {})[-1].steps
        check = command_of(last(steps, "HEALTHCHECK"))
        variables = self.variables(service)
        return subprocess.run(check, env=variables, stderr=subprocess.DEVNULL, check=False).returncode == 0

    def wait(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            dead = {name: one.poll() for name, one in self.processes.items() if one.poll() is not None}
            assert not dead, f"died: {dead}"
            assert time.monotonic() < deadline
            time.sleep(0.2)

    def stop(self) -> dict[str, int]:
        """Exit codes after SIGTERM, Redis last."""
        codes = {}
        for name in sorted(self.processes, key=lambda one: one == "redis"):
            self.processes[name].send_signal(signal.SIGTERM)
        for name, process in self.processes.items():
            codes[name] = process.wait(90)
        return codes


def ready(url: str) -> bool:
    with suppress(httpx.TransportError):
        return httpx.get(f"{url}/readyz").status_code == 200
    return False


@pytest.fixture(scope="module")
def stack(plain_bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Redis, two API services and a worker."""
    if shutil.which("redis-server") is None:
        pytest.skip("no redis-server on PATH")
    running = Stack(tmp_path_factory.mktemp("stack"))
    with BundleWriter.derive(running.folder / "bundles", plain_bundle) as writer:
        writer.publish()
    running.start_redis()
    for service in OURS:
        running.start(service)
    try:
        for service in ("api-1", "api-2"):
            running.wait(lambda service=service: ready(running.url(service, 8000)))
        running.wait(lambda: running.healthy("worker"))
        yield running
    finally:
        assert running.stop() == dict.fromkeys(("redis", *OURS), 0)


def test_health_checks_of_the_images_succeed(stack: Stack) -> None:
    assert all(stack.healthy(service) for service in OURS)


def test_both_apis_share_histories_through_redis(stack: Stack) -> None:
    event = {"event_id": "e1", "user_id": "u1", "item_id": "a", "timestamp": "2026-01-01T00:00:00Z"}
    sent = httpx.post(f"{stack.url('api-1', 8000)}/events", json=event, headers=WITH_KEY)
    assert sent.status_code == 200
    history = httpx.get(f"{stack.url('api-2', 8000)}/users/u1/history", headers=WITH_KEY).json()
    assert [entry["item_id"] for entry in history["items"]] == ["a"]


@contextmanager
def prometheus(stack: Stack) -> Iterator[httpx.Client]:
    """The real server with the compose file's configuration, its targets where they are on this machine."""
    folder, port = stack.folder / "prometheus", free_port()
    shutil.copytree(DEPLOY / "prometheus", folder)
    config = yaml.safe_load((folder / "prometheus.yml").read_text())
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    for job in config["scrape_configs"]:
        for static in job["static_configs"]:
            pairs = [target.split(":") for target in static["targets"]]
            assert {service for service, _ in pairs} <= set(SERVICES)
            static["targets"] = [f"127.0.0.1:{stack.port(service, int(inside))}" for service, inside in pairs]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    command = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    with (stack.folder / "prometheus.log").open("w") as log:
        server = subprocess.Popen([*command, f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}/api/v1") as client:
            yield client
    finally:
        server.terminate()
        server.wait(30)


@pytest.mark.skipif(shutil.which("prometheus") is None, reason="no prometheus on PATH")
def test_prometheus_reaches_every_target_and_computes_every_rule(stack: Stack) -> None:
    with prometheus(stack) as client:

        def up() -> dict[str, int]:
            with suppress(httpx.TransportError):
                found = client.get("/query", params={"query": "up == 1"}).json()["data"]["result"]
                return Counter(one["metric"]["job"] for one in found)
            return {}

        stack.wait(lambda: up() == {"shortlist-api": 2, "shortlist-worker": 1})
        rules = [rule for group in client.get("/rules").json()["data"]["groups"] for rule in group["rules"]]
    assert {rule["name"] for rule in rules} >= {"ShortlistDown", "shortlist:recommend_requests:rate5m"}
    assert [rule["lastError"] for rule in rules if rule.get("lastError")] == []


def test_every_metric_that_is_asked_for_is_at_a_target_without_a_key_and_nowhere_public(stack: Stack) -> None:
    families = set()
    for service, port in (("api-1", 9100), ("worker", 8001)):
        text = httpx.get(f"{stack.url(service, port)}/metrics").raise_for_status().text
        families |= {family.name for family in text_string_to_metric_families(text)}
    asked = {metric for query in every_query() for metric in named_metrics(query)}
    assert {metric for metric in asked if not metric.startswith("shortlist:")} <= families
    assert httpx.get(f"{stack.url('api-1', 8000)}/metrics", headers=WITH_KEY).status_code == 404
    assert httpx.get(f"{stack.url('api-1', 9100)}/recommend", headers=WITH_KEY).status_code == 404


@pytest.mark.parametrize("service", [name for name in SERVICES if name != "jobs"])
def test_a_service_is_hardened(service: str) -> None:
    assert SERVICES[service]["read_only"] is True
    assert SERVICES[service]["cap_drop"] == ["ALL"]
    assert all(port.startswith("127.0.0.1:") for port in SERVICES[service].get("ports", []))


@pytest.mark.parametrize("service", [*OURS, "jobs"])
def test_whoever_runs_may_write_to_its_volumes(service: str) -> None:
    """A named volume takes the owner of the folder that the image holds at its place; where there is none, root's."""
    steps = read_stages(DEPLOY / ".." / SERVICES[service]["build"]["dockerfile"], {})[-1].steps
    user = last(steps, "USER").partition(":")[0]
    install = next(step.value for step in steps if step.kind == "RUN" and "install -d" in step.value)
    owned = install.partition("install -d -o ")[2].split()
    assert owned[0] == user
    written = {volume.split(":")[1] for volume in SERVICES[service]["volumes"] if not volume.endswith(":ro")}
    assert written
    assert written <= set(owned)


def test_no_container_starts_as_root_without_the_means_to_step_down() -> None:
    """With every capability dropped, an entry point that starts as root cannot become somebody else."""
    assert SERVICES["redis"]["user"] == "999:1000"
    assert not [name for name in OURS if "user" in SERVICES[name]]


def test_settings_and_volumes_exist() -> None:
    known = {f"SHORTLIST_{name.upper()}" for name in Settings.model_fields}
    for service in OURS:
        assert set(SERVICES[service]["environment"]) <= known
    named = {
        volume.split(":")[0]
        for service in SERVICES.values()
        for volume in service.get("volumes", [])
        if not volume.startswith((".", "$"))
    }
    assert named == set(COMPOSE["volumes"])


def test_mounted_files_are_there() -> None:
    mounts = [volume.split(":")[0] for name in ("prometheus", "grafana") for volume in SERVICES[name]["volumes"]]
    local = [mount for mount in mounts if mount.startswith("./")]
    assert len(local) == 3
    assert all((DEPLOY / mount).is_dir() for mount in local)
