"""The tables of README.md hold every setting and every metric."""

from pathlib import Path

import pytest

from models.errors import ConfigError
from service.reference import INTERNAL, metric_families, metrics_table, renewed, settings_table
from service.settings import Settings

README = Path(__file__).parents[2] / "README.md"


def test_the_readme_tells_every_setting_and_metric_as_they_are() -> None:
    text = README.read_text()
    assert renewed(text) == text, "run: python -m service.reference README.md"


def test_every_setting_has_a_row_and_a_meaning() -> None:
    table = settings_table()
    for name, field in Settings.model_fields.items():
        assert field.description, name
        assert (f"| `SHORTLIST_{name.upper()}` |" in table) == (name not in INTERNAL)


def test_every_metric_has_a_row_with_its_labels() -> None:
    table = metrics_table()
    families = metric_families()
    assert {"shortlist_request_seconds", "shortlist_gr_queue_seconds"} <= {name for name, *_ in families}
    assert all(f"| `{name}` | {kind} | {', '.join(labels)} |" in table for name, kind, _, labels in families)


def test_no_default_shows_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "| `SHORTLIST_ADMIN_KEY` |  |" in settings_table()


def test_a_document_without_marks_is_refused() -> None:
    with pytest.raises(ConfigError, match="no marks of settings"):
        renewed("# Shortlist\n")
