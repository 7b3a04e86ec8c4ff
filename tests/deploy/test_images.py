"""What the Dockerfiles promise. `deploy/check_images.py` carries them out; that takes minutes and is a command."""

import fnmatch
import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from recipe import command_of, environment, last, lineage, read_stages, stage_named

from service.settings import Settings
from tests.deploy.places import DEPLOY, IMAGES, LOCKS, ROOT

PINNED_IMAGE = re.compile(r"^[\w./-]+(:\d+\.\d+\.\d+[\w.-]*|@sha256:[0-9a-f]{64})$")


def stages(image: str, **build_args: str):
    return read_stages(DEPLOY / "images" / f"{image}.Dockerfile", build_args)


def installed_locks(image: str, **build_args: str) -> set[str]:
    """Names of the locks that end up in `/opt/venv`."""
    every = stages(image, **build_args)
    steps = lineage(every, stage_named(every, "environment"))
    return {
        name
        for step in steps
        if step.kind == "RUN" and step.value.startswith("/opt/venv/bin/pip")
        for name in re.findall(r"-r deploy/locks/([\w-]+)\.txt", step.value)
    }


def entries(lock: str) -> dict[str, str]:
    """Package to version of a lock."""
    found = {}
    for line in (LOCKS / f"{lock}.txt").read_text().splitlines():
        if line[:1].isalnum():
            requirement = Requirement(line.removesuffix("\\").strip())
            found[requirement.name.lower()] = str(requirement.specifier).removeprefix("==")
    return found


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_runs_as_nobody_special(image: str) -> None:
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", last(stages(image)[-1].steps, "USER"))


@pytest.mark.parametrize("image", IMAGES)
def test_bases_are_pinned(image: str) -> None:
    every = stages(image)
    bases = {stage.base for stage in every} - {stage.name for stage in every}
    assert bases
    assert all(PINNED_IMAGE.match(base) for base in bases)


@pytest.mark.parametrize("image", IMAGES)
def test_everything_installed_is_locked_and_hashed(image: str) -> None:
    every = stages(image)
    installs = [
        step.value for stage in every for step in stage.steps if step.kind == "RUN" and " install " in step.value
    ]
    from_wheel = [line for line in installs if "--no-index" in line]
    assert len(from_wheel) == 1
    assert all("--require-hashes" in line for line in installs if line not in from_wheel and "pip" in line)


@pytest.mark.parametrize("image", ["api", "worker"])
def test_health_is_asked_on_the_port_that_the_image_sets(image: str) -> None:
    steps = stages(image)[-1].steps
    check = " ".join(command_of(last(steps, "HEALTHCHECK")))
    asked = re.search(r"os\.environ\['(\w+)'\]", check)
    assert asked is not None
    assert environment(steps)[asked[1]] == last(steps, "EXPOSE")


@pytest.mark.parametrize("image", IMAGES)
def test_settings_of_an_image_exist(image: str) -> None:
    names = {name for name in environment(stages(image)[-1].steps) if name.startswith("SHORTLIST_")}
    assert {name.removeprefix("SHORTLIST_").lower() for name in names} <= set(Settings.model_fields)


@pytest.mark.parametrize("image", IMAGES)
def test_only_volumes_are_written(image: str) -> None:
    steps = stages(image)[-1].steps
    volumes = (*last(steps, "VOLUME").split(), "/tmp")
    folders = [value for name, value in environment(steps).items() if value.startswith("/") and name != "PATH"]
    assert folders
    assert all(folder.startswith(volumes) for folder in folders)


@pytest.mark.parametrize("image", IMAGES)
def test_what_an_image_copies_is_in_its_context(image: str) -> None:
    admitted = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    copied = [
        source
        for stage in stages(image)
        for step in stage.steps
        if step.kind == "COPY" and not step.value.startswith("--from")
        for source in step.value.split()[:-1]
    ]
    assert copied
    assert all(any(fnmatch.fnmatch(source, pattern) for pattern in admitted) for source in copied)


def test_trimming_takes_tests_and_headers_and_leaves_what_runs(tmp_path: Path) -> None:
    stays = {"pyarrow/lib.so", "pyarrow/libarrow_substrait.so.1", "numpy/_core/tests/_natype.py", "numba/core/tests.py"}
    stays |= {"torch/bin/torch_shm_manager", "torch/lib/libtorch.so", "torch/testing/__init__.py"}
    goes = {"pyarrow/_flight.so", "pyarrow/libarrow_flight.so.1", "pyarrow/include/api.h", "pyarrow/tests/test_a.py"}
    goes |= {"torch/include/a.h", "torch/test/a", "torch/bin/protoc", "numba/tests/a.py", "sympy/core/tests/a.py"}
    site = tmp_path / "lib" / "python3.11" / "site-packages"
    for name in stays | goes:
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).touch()
    subprocess.run(["sh", DEPLOY / "images" / "trim.sh", tmp_path], check=True)
    assert {str(path.relative_to(site)) for path in site.rglob("*") if path.is_file()} == stays


def test_the_api_image_holds_no_torch() -> None:
    names = {name for lock in installed_locks("api") for name in entries(lock)}
    assert "fastapi" in names
    assert not {name for name in names if name.startswith(("torch", "nvidia", "triton", "cuda"))}


@pytest.mark.parametrize(("torch", "cuda"), [("cpu", False), ("cuda", True)])
@pytest.mark.parametrize("image", ["worker", "jobs"])
def test_torch_comes_with_or_without_cuda_as_asked(image: str, torch: str, cuda: bool) -> None:
    names = {name for lock in installed_locks(image, TORCH=torch) for name in entries(lock)}
    assert "torch" in names
    assert any(name.startswith("nvidia-") for name in names) == cuda


@pytest.mark.parametrize("store", ["s3", "gcs"])
def test_an_image_reaches_the_storage_that_was_asked_for(store: str) -> None:
    assert store in installed_locks("api", STORE=store)


def test_locks_agree_on_every_version() -> None:
    versions: dict[str, set[str]] = {}
    for path in LOCKS.glob("*.txt"):
        for name, version in entries(path.stem).items():
            versions.setdefault(name, set()).add(version)
    assert len(versions) > 50
    assert {name: found for name, found in versions.items() if len(found) > 1} == {}


@pytest.mark.parametrize("lock", sorted(path.stem for path in LOCKS.glob("*.txt")))
def test_a_lock_pins_and_hashes_all_and_names_no_index(lock: str) -> None:
    text = (LOCKS / f"{lock}.txt").read_text()
    assert "://" not in text
    assert "index-url" not in text
    blocks = re.findall(r"^\S+==\S+.*(?:\n    .*)*", text, flags=re.MULTILINE)
    assert len(blocks) == len(entries(lock)) > 0
    assert all("--hash=sha256:" in block for block in blocks)


def test_the_locks_satisfy_the_project() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = {
        "api": project["dependencies"],
        "s3": extras["s3"],
        "gcs": extras["gcs"],
        "jobs": [*extras["build"], *extras["train"]],
    }
    for lock, requirements in wanted.items():
        locked = entries("api") | entries(lock) | entries("torch-cpu")
        for requirement in map(Requirement, requirements):
            version = locked.get(requirement.name.lower())
            assert version is not None, f"{lock}.txt lacks {requirement.name}: run deploy/lock.py"
            assert requirement.specifier.contains(version), f"{lock}.txt: {requirement.name} {version}"


def test_an_api_process_does_not_import_torch() -> None:
    script = "import sys, service.supervisor.api, service.app; service.app.create_app(); print('torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert found.stdout.strip() == "False"
