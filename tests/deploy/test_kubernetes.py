"""The rendered manifests, against the schemas of Kubernetes and against what the service needs."""

import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from recipe import environment, last, read_stages

from service.settings import Settings
from tests.deploy.places import DEPLOY

KUBERNETES = DEPLOY / "kubernetes"
OVERLAYS = ("small", "production")
OURS = ("shortlist-api", "shortlist-worker", "shortlist-worker-cuda", "shortlist-jobs")

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl renders the manifests")


@cache
def rendered(overlay: str) -> tuple[dict[str, Any], ...]:
    """Every object of an overlay."""
    command = ["kubectl", "kustomize", str(KUBERNETES / "overlays" / overlay)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return tuple(yaml.safe_load_all(text))


def find(overlay: str, kind: str, name: str | None = None) -> list[dict[str, Any]]:
    objects = [item for item in rendered(overlay) if item["kind"] == kind]
    return [item for item in objects if name is None or item["metadata"]["name"] == name]


def pod_specs(overlay: str) -> list[dict[str, Any]]:
    """Pod specs of everything that runs."""
    direct = [
        item["spec"]["template"]["spec"] for kind in ("Deployment", "StatefulSet") for item in find(overlay, kind)
    ]
    jobs = [item["spec"]["jobTemplate"]["spec"]["template"]["spec"] for item in find(overlay, "CronJob")]
    return direct + jobs


def containers(overlay: str) -> list[dict[str, Any]]:
    return [one for spec in pod_specs(overlay) for one in spec["containers"] + spec.get("initContainers", [])]


def deployment(overlay: str, name: str) -> dict[str, Any]:
    (found,) = find(overlay, "Deployment", name)
    return found["spec"]["template"]["spec"]


@pytest.mark.parametrize("overlay", OVERLAYS)
@pytest.mark.parametrize("version", ["1.31", "1.34"])
def test_manifests_are_valid(overlay: str, version: str) -> None:
    for item in rendered(overlay):
        kubernetes_validate.validate(item, version, strict=True)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_container_is_locked_down(overlay: str) -> None:
    assert containers(overlay)
    for container in containers(overlay):
        context = container["securityContext"]
        assert context["readOnlyRootFilesystem"] is True
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert "memory" in container["resources"]["limits"]
        assert {"cpu", "memory"} <= set(container["resources"]["requests"])
    for spec in pod_specs(overlay):
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["automountServiceAccountToken"] is False


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_images_are_pinned(overlay: str) -> None:
    assert all(re.search(r":\d+\.\d+\.\d+", container["image"]) for container in containers(overlay))


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_our_images_write_only_where_a_volume_is(overlay: str) -> None:
    for container in containers(overlay):
        name = container["image"].partition(":")[0]
        if name in OURS:
            image = name.removeprefix("shortlist-").removesuffix("-cuda")
            steps = read_stages(DEPLOY / "images" / f"{image}.Dockerfile", {})[-1].steps
            mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
            assert {last(steps, "VOLUME"), "/tmp"} <= mounts


def test_probes_mean_what_they_say() -> None:
    (api,) = deployment("production", "api")["containers"]
    paths = {kind: api[kind]["httpGet"]["path"] for kind in ("startupProbe", "readinessProbe", "livenessProbe")}
    assert paths == {"startupProbe": "/healthz", "readinessProbe": "/readyz", "livenessProbe": "/healthz"}
    startup = api["startupProbe"]
    assert startup["periodSeconds"] * startup["failureThreshold"] >= 300


def test_a_pod_has_time_to_drain() -> None:
    spec = deployment("production", "api")
    pause = int(spec["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][-1])
    drain = Settings.model_fields["drain_timeout_s"].default
    assert spec["terminationGracePeriodSeconds"] >= pause + drain + 10


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_settings_exist_and_ports_match(overlay: str) -> None:
    known = {f"SHORTLIST_{name.upper()}" for name in Settings.model_fields}
    stated = {name for item in find(overlay, "ConfigMap") for name in item["data"]}
    for container in containers(overlay):
        stated |= {entry["name"] for entry in container.get("env", [])}
    assert stated
    assert stated <= known
    (api,) = deployment(overlay, "api")["containers"]
    ports = {port["name"]: port["containerPort"] for port in api["ports"]}
    image = environment(read_stages(DEPLOY / "images" / "api.Dockerfile", {})[-1].steps)
    assert str(ports["http"]) == image["SHORTLIST_PORT"]
    assert {"name": "SHORTLIST_ADMIN_PORT", "value": str(ports["admin"])} in api["env"]


def test_secrets_of_production_are_not_in_the_repository() -> None:
    assert find("production", "Secret") == []
    (api,) = deployment("production", "api")["containers"]
    assert {"secretRef": {"name": "shortlist-api"}} in api["envFrom"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_selectors_meet_their_pods(overlay: str) -> None:
    labels = [
        item["spec"]["template"]["metadata"]["labels"]
        for kind in ("Deployment", "StatefulSet")
        for item in find(overlay, kind)
    ]
    for item in [*find(overlay, "Service"), *find(overlay, "PodDisruptionBudget")]:
        selector = item["spec"]["selector"]
        selector = selector.get("matchLabels", selector)
        assert any(selector.items() <= pod.items() for pod in labels), item["metadata"]["name"]


def test_redis_is_reached_by_api_and_worker_alone() -> None:
    (policy,) = find("production", "NetworkPolicy", "redis")
    (rule,) = policy["spec"]["ingress"]
    (peer,) = rule["from"]
    assert peer["podSelector"]["matchExpressions"][0]["values"] == ["api", "worker"]
    assert find("production", "NetworkPolicy", "default-deny")[0]["spec"]["podSelector"] == {}


def test_the_nightly_job_builds_verifies_publishes_and_prunes_in_order() -> None:
    (job,) = find("production", "CronJob")
    spec = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    steps = [*spec["initContainers"], *spec["containers"]]
    assert [step["name"] for step in steps] == ["build", "train", "verify", "publish", "prune"]
    assert job["spec"]["concurrencyPolicy"] == "Forbid"
    labels = job["spec"]["jobTemplate"]["metadata"]["labels"]
    assert labels["app.kubernetes.io/component"] == "build", "the runbook finds its jobs by this label"
    (config,) = find("production", "ConfigMap")
    referred = {
        ref["configMapRef"]["name"] for step in steps for ref in step.get("envFrom", []) if "configMapRef" in ref
    }
    assert referred == {config["metadata"]["name"]}
    assert [step["name"] for step in steps if "envFrom" in step] == ["publish", "prune"], "who may write to the storage"


@pytest.mark.parametrize("name", ["build", "train", "verify", "publish", "prune"])
def test_each_step_is_a_command_that_exists(name: str) -> None:
    from typer.testing import CliRunner

    from models.cli import app

    (job,) = find("production", "CronJob")
    spec = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    step = next(one for one in [*spec["initContainers"], *spec["containers"]] if one["name"] == name)
    words = [word for word in step["args"] if not word.startswith(("-", "/", "$")) and not word.isdigit()]
    flags = [word for word in step["args"] if word.startswith("--")]
    shown = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0, shown.output
    assert all(flag in shown.output for flag in flags)


def test_worker_and_training_ask_for_a_gpu_and_cuda_images() -> None:
    wanting = {
        one["name"]: one["image"].partition(":")[0]
        for one in containers("production")
        if one["resources"]["limits"].get("nvidia.com/gpu") == 1
    }
    assert wanting == {"worker": "shortlist-worker-cuda", "train": "shortlist-jobs-cuda"}
    tolerating = [spec for spec in pod_specs("production") if "tolerations" in spec]
    assert len(tolerating) == 2
    assert not [one for one in containers("small") if "nvidia.com/gpu" in one["resources"]["limits"]]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_autoscalers_alone_say_how_many(overlay: str) -> None:
    scaled = {item["spec"]["scaleTargetRef"]["name"]: item["spec"] for item in find(overlay, "HorizontalPodAutoscaler")}
    for item in find(overlay, "Deployment"):
        assert "replicas" not in item["spec"]
        assert scaled[item["metadata"]["name"]]["minReplicas"] >= 1


def scraped(overlay: str, folder: Path) -> dict[str, list[dict[str, str]]]:
    """Labels of the targets that each scrape job keeps of an overlay's pods, as Prometheus relabels them."""
    pods = [
        {
            "targets": [f"10.0.0.{number}:{port['containerPort']}"],
            "labels": {
                "__meta_kubernetes_namespace": item["metadata"]["namespace"],
                "__meta_kubernetes_pod_name": f"{item['metadata']['name']}-0",
                "__meta_kubernetes_pod_phase": "Running",
                "__meta_kubernetes_pod_container_port_name": port["name"],
            }
            | {
                f"__meta_kubernetes_pod_label_{re.sub(r'[^a-zA-Z0-9_]', '_', name)}": value
                for name, value in item["spec"]["template"]["metadata"]["labels"].items()
            },
        }
        for kind in ("Deployment", "StatefulSet")
        for number, item in enumerate(find(overlay, kind))
        for port in item["spec"]["template"]["spec"]["containers"][0]["ports"]
    ]
    (folder / "pods.json").write_text(json.dumps(pods))
    config = yaml.safe_load((KUBERNETES / "prometheus-scrape.yaml").read_text())
    kept = {}
    for job in config["scrape_configs"]:
        assert job.pop("kubernetes_sd_configs") == [{"role": "pod"}]
        job["file_sd_configs"] = [{"files": ["pods.json"]}]
        (folder / "prometheus.yml").write_text(yaml.safe_dump({"scrape_configs": [job]}))
        command = ["promtool", "check", "service-discovery", "--timeout=1s", "prometheus.yml", job["job_name"]]
        found = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
        kept[job["job_name"]] = [one["labels"] for one in json.loads(found) if one["labels"]]
    return kept


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool relabels")
def test_prometheus_finds_the_admin_and_health_ports_and_may_reach_them(tmp_path: Path) -> None:
    kept = scraped("production", tmp_path)
    shown = {
        job: [(one["pod"], one["namespace"], one["instance"].partition(":")[2]) for one in kept[job]] for job in kept
    }
    assert shown == {
        "shortlist-api": [("api-0", "shortlist", "9100")],
        "shortlist-worker": [("worker-0", "shortlist", "8001")],
    }
    for name, port in (("api", 9100), ("worker", 8001)):
        (policy,) = find("production", "NetworkPolicy", name)
        rules = [rule for rule in policy["spec"]["ingress"] if {"protocol": "TCP", "port": port} in rule["ports"]]
        assert [rule["from"] for rule in rules] == [
            [{"namespaceSelector": {"matchLabels": {"shortlist.monitoring": "true"}}}]
        ]


def test_the_public_port_is_not_the_one_that_is_scraped() -> None:
    (api,) = deployment("production", "api")["containers"]
    ports = {port["name"]: port["containerPort"] for port in api["ports"]}
    (service,) = find("production", "Service", "api")
    assert [port["targetPort"] for port in service["spec"]["ports"]] == ["http"]
    assert ports["http"] != ports["admin"]


def test_autoscalers_ask_for_metrics_that_the_adapter_gives() -> None:
    adapter = yaml.safe_load((KUBERNETES / "metrics-adapter.yaml").read_text())
    given = {rule["name"]["as"] for rule in adapter["rules"]}
    asked = {
        metric["pods"]["metric"]["name"]
        for item in find("production", "HorizontalPodAutoscaler")
        for metric in item["spec"]["metrics"]
        if metric["type"] == "Pods"
    }
    assert asked == given
