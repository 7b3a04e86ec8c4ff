"""Bundles pushed and pulled from the command line, as a script does."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from models.bundle.reader import Bundle
from models.bundle.writer import BundleWriter
from models.errors import BundleError
from offline.commands.bundles import app


def run(*arguments: object) -> str:
    """What a command prints."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def bundles(tmp_path: Path, plain_bundle: Bundle) -> Path:
    """A local root with one version."""
    root = tmp_path / "bundles"
    with BundleWriter.derive(root, plain_bundle) as writer:
        writer.publish()
    return root


def add_version(bundles: Path) -> str:
    with BundleWriter.derive(bundles, Bundle.open(bundles)) as writer:
        return writer.publish()


def test_what_is_pushed_can_be_pulled_elsewhere(bundles: Path, tmp_path: Path) -> None:
    share, elsewhere = tmp_path / "share", tmp_path / "elsewhere"
    version = Bundle.open(bundles).version
    assert version in run("push", "--bundles", bundles, "--to", share)
    assert f"current is {version}" in run("pull", "--bundles", elsewhere, "--from", share.as_uri())
    assert Bundle.open(elsewhere).manifest == Bundle.open(bundles).manifest
    assert "nothing new" in run("pull", "--bundles", elsewhere, "--from", share)


def test_the_way_back_is_to_use_an_earlier_version_there(bundles: Path, tmp_path: Path) -> None:
    share = tmp_path / "share"
    first = Bundle.open(bundles).version
    run("push", "--bundles", bundles, "--to", share)
    second = add_version(bundles)
    run("push", "--bundles", bundles, "--to", share)
    assert run("remote", "list", "--at", share) == f"  {first}\n* {second}\n"
    run("remote", "use", first, "--at", share)
    assert run("remote", "list", "--at", share) == f"* {first}\n  {second}\n"


def test_a_push_can_leave_what_is_current_alone(bundles: Path, tmp_path: Path) -> None:
    share = tmp_path / "share"
    run("push", "--bundles", bundles, "--to", share)
    second = add_version(bundles)
    assert "current" not in run("push", "--bundles", bundles, "--to", share, "--no-activate")
    assert f"  {second}\n" in run("remote", "list", "--at", share)
    run("pull", second, "--bundles", tmp_path / "canary", "--from", share)
    assert Bundle.open(tmp_path / "canary").version == second


def test_prune_tells_what_went(bundles: Path, tmp_path: Path) -> None:
    share = tmp_path / "share"
    pushed = [Bundle.open(bundles).version, *(add_version(bundles) for _ in range(2))]
    for version in pushed:
        run("push", version, "--bundles", bundles, "--to", share)
    assert run("remote", "prune", "--at", share, "--keep", 1).split() == pushed[:2]


def test_a_corrupt_bundle_is_not_pushed(bundles: Path, tmp_path: Path) -> None:
    array = next(Bundle.open(bundles).path.glob("*.npy"))
    content = array.read_bytes()
    array.unlink()
    array.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(BundleError, match="checksum"):
        run("push", "--bundles", bundles, "--to", tmp_path / "share")
    assert not (tmp_path / "share").exists()
