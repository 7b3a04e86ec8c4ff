from pathlib import Path

import pytest

from models.errors import ConfigError
from models.words import Split
from offline.config import BuildConfig, config_from, override, read_config

FULL = """
split = "leave-last-out"
truncate_history = 20
[interactions]
events = ["purchase"]
unknown_items = "keep"
columns.user_id = "visitor"
[ratings]
low = 0
high = 10
allow_leak = true
[text]
encoder = "none"
[value]
brand = 0.0
[rings]
depth = [10, 20, 30]
[engine]
threads = 2
memory_limit = "512MB"
"""


def test_every_section_is_read(tmp_path: Path) -> None:
    (tmp_path / "build.toml").write_text(FULL)

    config = read_config(tmp_path / "build.toml")

    assert (config.split, config.truncate_history) == (Split.LEAVE_LAST_OUT, 20)
    assert config.interactions.columns.user_id == "visitor"
    assert config.ratings is not None
    assert (config.ratings.low, config.ratings.high, config.ratings.allow_leak) == (0, 10, True)
    assert config.rings.depth == (10, 20, 30)


def test_the_manifest_gives_the_configuration_back(tmp_path: Path) -> None:
    (tmp_path / "build.toml").write_text(FULL)
    config = read_config(tmp_path / "build.toml")

    assert config_from(config.model_dump(mode="json"), where="manifest") == config


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("split = 'random'", r"build\.toml, key split: found 'random'"),
        ("[ratings]\nlow = 1", r"key ratings\.high: found .*expected Field required"),
        ("[ratings]\nlow = 5\nhigh = 1", r"key ratings: .*low = 5\.0 must be less than high = 1\.0"),
        ("[ratings]\nlow = nan\nhigh = 5", r"key ratings\.low"),
        ("[rating]\nlow = 1", r"key rating: found an unknown key"),
        ("[text]\nencodr = 'none'", r"key text\.encodr: found an unknown key"),
        ("[text]\nencoder = 'bert'", r"key text\.encoder: found 'bert'"),
        ("[text]\ntemplate = '{titel}'", r"key text: .*titel"),
        ("[value]\npopularity = 0\nrating = 0\nbrand = 0", r"key value: .*all three weights are 0"),
        ("[value]\nbrand = -0.5", r"key value\.brand: found -0\.5"),
        ("truncate_history = 0", r"key truncate_history: found 0"),
        ("[engine]\nmemory_limit = 'much'", r"key engine\.memory_limit: found 'much'"),
        ("[split", r"build\.toml: found .*expected a TOML file"),
    ],
)
def test_errors_name_file_and_key(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "build.toml").write_text(text)

    with pytest.raises(ConfigError, match=message):
        read_config(tmp_path / "build.toml")


def test_a_missing_file_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.toml: found .*No such file"):
        read_config(tmp_path / "gone.toml")


def test_options_win_over_the_file_and_are_checked() -> None:
    config = override(BuildConfig(), {"text.encoder": "none", "truncate_history": 5, "split": None})

    assert (config.text.encoder, config.truncate_history, config.split) == ("none", 5, Split.NONE)
    with pytest.raises(ConfigError, match=r"command line, key text\.encoder"):
        override(config, {"text.encoder": "bert"})
