"""The offline commands as a script meets them: what they print where, and their exit codes."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq
import pytest

from models.bundle.versions import current, list_versions
from models.cli import main
from tests.offline.shop import SEQUENCES, inputs


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Shell = Callable[..., Outcome]


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    def run(*args: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["shortlist", *map(str, args)])
        monkeypatch.setenv("COLUMNS", "200")
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        code = ended.value.code
        return Outcome(0 if code is None else int(code), *capsys.readouterr())

    return run


@pytest.fixture
def built(tmp_path: Path, shell: Shell) -> tuple[Path, list[object]]:
    """A split bundle of the shop from a build.toml, and the build's arguments."""
    files = inputs(tmp_path)
    (tmp_path / "build.toml").write_text("[ratings]\nlow = 1\nhigh = 5\n")
    arguments: list[object] = ["build", "--interactions", *files.interactions, "--items", files.items]
    arguments += ["--bundles", tmp_path / "b", "--config", tmp_path / "build.toml", "--split", "leave-last-out"]
    outcome = shell(*arguments)
    assert outcome.code == 0, outcome.err
    return tmp_path / "b", arguments


def test_build_prints_the_version_alone_on_standard_output(shell: Shell, built: tuple[Path, list[object]]) -> None:
    root, arguments = built

    outcome = shell(*arguments, "--truncate-history", 3, "--text-encoder", "none")

    assert outcome.out.strip() == current(root)
    assert "interactions: 15 rows read, 15 kept" in outcome.err
    assert all(f"{name} ..." in outcome.err for name in ("items", "graph", "rings"))
    shown = json.loads(shell("bundles", "show", "--bundles", root, "--json").out)
    assert shown["split"] == {"kind": "leave-last-out", "truncate_history": 3}
    assert shown["config"]["text"]["encoder"] == "none"
    assert shown["config"]["ratings"] == {"low": 1.0, "high": 5.0, "allow_leak": False}


def test_several_files_follow_one_option(tmp_path: Path, shell: Shell) -> None:
    for number, line in enumerate(("u,a,5", "u,b,5", "u,c,5")):
        (tmp_path / f"{number}.csv").write_text(f"user_id,item_id,timestamp\n{line}\n")
    paths = [tmp_path / f"{number}.csv" for number in (2, 0, 1)]

    assert shell("build", "--interactions", *paths, "--bundles", tmp_path / "b").code == 0

    manifest = json.loads(shell("bundles", "show", "--bundles", tmp_path / "b", "--json").out)
    assert manifest["statistics"]["interactions"] == 3
    assert [Path(name).name for name in manifest["sections"]["items"]["report"]["interactions"]["files"]] == [
        "2.csv", "0.csv", "1.csv",
    ]  # fmt: skip


def test_exit_codes_tell_what_was_wrong(tmp_path: Path, shell: Shell, built: tuple[Path, list[object]]) -> None:
    root, _ = built
    (tmp_path / "bad.csv").write_text("user_id,item_id,timestamp\nu,a,1\nu,a,1318896000000\n")
    (tmp_path / "bad.toml").write_text("splitt = 'none'\n")
    bad = ("build", "--bundles", root, "--interactions")

    data = shell(*bad, tmp_path / "bad.csv")
    setting = shell(*bad, tmp_path / "bad.csv", "--config", tmp_path / "bad.toml")
    bundle = shell("bundles", "verify", "--bundles", tmp_path / "none")
    usage = shell("build", "--bundles", root)

    assert (data.code, setting.code, bundle.code, usage.code) == (3, 2, 4, 2)
    assert f"error: {tmp_path}/bad.csv, row 2 (line 3), field timestamp" in data.err
    assert "key splitt: found an unknown key" in setting.err
    assert "Traceback" not in data.err + setting.err + bundle.err + usage.err
    assert len(list_versions(root)) == 1


def test_versions_are_listed_used_rolled_back_and_pruned(shell: Shell, built: tuple[Path, list[object]]) -> None:
    root, arguments = built
    first = current(root)
    second = shell(*arguments).out.strip()

    listed = json.loads(shell("bundles", "list", "--bundles", root, "--json").out)
    assert [(entry["version"], entry["current"], entry["items"]) for entry in listed] == [
        (version, version == second, 5) for version in sorted((first or "", second))
    ]
    assert f"* {second}  5 items, split leave-last-out" in shell("bundles", "list", "--bundles", root).out
    assert shell("bundles", "use", first, "--bundles", root).code == 0
    assert current(root) == first
    assert shell("bundles", "rollback", "--bundles", root).out.strip() == f"current is {second}"
    third = shell(*arguments).out.strip()
    assert shell("bundles", "prune", "--keep", 1, "--bundles", root).out.strip() == first
    assert current(root) == third


def test_a_damaged_bundle_is_told(shell: Shell, built: tuple[Path, list[object]]) -> None:
    root, _ = built
    assert shell("bundles", "verify", "--bundles", root).code == 0
    damaged = root / (current(root) or "") / "popularity.npy"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"\x07")

    outcome = shell("bundles", "verify", "--bundles", root)

    assert outcome.code == 4
    assert "popularity.npy" in outcome.err


def test_evaluate_writes_results_and_predictions(
    tmp_path: Path, shell: Shell, built: tuple[Path, list[object]]
) -> None:
    root, _ = built
    outcome = shell(
        "evaluate", "--bundle", root, "--interactions", tmp_path / "interactions.csv", "--retrievers", "tgh-1,popular",
        "--k", "1,5,12", "--order", "ring", "--include-seen", "--no-fill",
        "--out", tmp_path / "results.json", "--predictions", tmp_path / "predictions.parquet",
    )  # fmt: skip

    assert outcome.code == 0, outcome.err
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["users"] == 3
    assert set(results["retrievers"]) == {"tgh-1", "popular"}
    assert set(results["retrievers"]["popular"]) == {f"{m}@{k}" for m in ("recall", "ndcg") for k in (1, 5, 12)}
    assert results["retrievers"]["popular"]["recall@12"] == 1.0
    assert results["settings"]["order"] == "ring"
    rows = pq.read_table(tmp_path / "predictions.parquet").to_pylist()
    assert list(rows[0]) == ["user_id", "retriever", "rank", "item_id", "score", "source"]
    popular = [row for row in rows if row["retriever"] == "popular" and row["user_id"] == "ann"]
    assert [(row["rank"], row["item_id"], row["source"]) for row in popular] == [
        (rank, item, "popular") for rank, item in enumerate(["bread", "butter", "jam", "soap", "tea"], 1)
    ]
    assert {row["user_id"] for row in rows} == {user for user, items in SEQUENCES.items() if len(items) > 2}


def test_evaluate_tells_when_the_files_are_others(
    tmp_path: Path, shell: Shell, built: tuple[Path, list[object]]
) -> None:
    arguments = ("evaluate", "--bundle", built[0], "--retrievers", "popular", "--interactions")
    (tmp_path / "other.csv").write_text((tmp_path / "interactions.csv").read_text() + "eve,bread,1,\n")

    assert "not the files" not in shell(*arguments, tmp_path / "interactions.csv").err
    assert "not the files that the bundle was built from" in shell(*arguments, tmp_path / "other.csv").err


def test_recommend_prints_a_list_without_a_server(shell: Shell, built: tuple[Path, list[object]]) -> None:
    asked = ("recommend", "--bundle", built[0], "--history", "tea,bread,gone", "--retriever", "tgh-2", "--k", 2)

    rows = json.loads(shell(*asked, "--json").out)
    plain = shell(*asked)

    assert rows["unknown_items"] == ["gone"]
    assert [row["rank"] for row in rows["items"]] == [1, 2]
    assert rows["items"][0] | {"score": 0} == {
        "item_id": "butter", "rank": 1, "score": 0, "source": "hop1", "title": "Salted butter",
    }  # fmt: skip
    assert {row["item_id"] for row in rows["items"]}.isdisjoint({"tea", "bread", "soap"})
    assert "butter  Salted butter" in plain.out
    assert "unknown items: gone" in plain.err


def test_recommend_serves_an_empty_history_with_popular_items(shell: Shell, built: tuple[Path, list[object]]) -> None:
    rows = json.loads(shell("recommend", "--bundle", built[0], "--k", 10, "--json").out)["items"]

    assert [row["item_id"] for row in rows] == ["bread", "butter", "jam", "tea"]


def test_a_job_keeps_the_configuration_of_the_bundle(shell: Shell, built: tuple[Path, list[object]]) -> None:
    root, _ = built

    outcome = shell("job", "embeddings", "--bundles", root, "--text-encoder", "none")

    assert outcome.code == 0, outcome.err
    shown = json.loads(shell("bundles", "show", "--bundles", root, "--json").out)
    assert shown["version"] == outcome.out.strip()
    assert shown["split"]["kind"] == "leave-last-out"
    assert shown["config"]["ratings"]["high"] == 5.0
    assert shown["sections"]["embeddings"]["dimensions"] == 1


@pytest.mark.parametrize("command", ["build", "job", "bundles", "evaluate", "recommend"])
def test_every_command_explains_itself(shell: Shell, command: str) -> None:
    outcome = shell(command, "--help")

    assert outcome.code == 0
    assert "--bundle" in outcome.out or "rollback" in outcome.out
