"""Tables of all settings and metrics, for README.md: `python -m service.reference README.md` renews them there.

They stand between `<!-- settings -->` and `<!-- /settings -->`, `<!-- metrics -->` and `<!-- /metrics -->`.
"""

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry
from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from models.errors import ConfigError
from service.metrics import ApiMetrics
from service.settings import Settings
from service.worker.metrics import WorkerMetrics

INTERNAL = ("run_dir",)
"""Settings that processes tell each other."""


def _default(field: FieldInfo) -> str:
    value: Any = field.default
    if value is None or value is PydanticUndefined or isinstance(value, SecretStr):
        return ""
    if isinstance(value, bool | tuple | dict):
        return f"`{json.dumps(value)}`"
    return f"`{value}`" if str(value) else ""


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def settings_table() -> str:
    """Every setting: variable, default, meaning."""
    fields = sorted(item for item in Settings.model_fields.items() if item[0] not in INTERNAL)
    rows = [_row(f"`SHORTLIST_{name.upper()}`", _default(field), field.description or "") for name, field in fields]
    return "\n".join([_row("variable", "default", "meaning"), "|---|---|---|", *rows])


def metric_families() -> list[tuple[str, str, str, tuple[str, ...]]]:
    """Name as scraped, kind, meaning and labels of every metric of API processes and workers."""
    found = set()
    for registry in (ApiMetrics(CollectorRegistry()).registry, WorkerMetrics(CollectorRegistry()).registry):
        for collector in list(registry._collector_to_names):
            for family in getattr(collector, "describe", collector.collect)():
                labels: Iterable[str] = getattr(collector, "_labelnames", getattr(family, "_labelnames", ()))
                name = f"{family.name}_total" if family.type == "counter" else family.name
                found.add((name, family.type, family.documentation, tuple(labels)))
    return sorted(found)


def metrics_table() -> str:
    """Every metric: name, kind, labels, meaning."""
    rows = [_row(f"`{name}`", kind, ", ".join(labels), text) for name, kind, text, labels in metric_families()]
    return "\n".join([_row("metric", "kind", "labels", "meaning"), "|---|---|---|---|", *rows])


def renewed(text: str) -> str:
    """A document with its tables as they are now.

    Raises:
        ConfigError: it lacks a table's marks.
    """
    for name, table in (("settings", settings_table()), ("metrics", metrics_table())):
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        match = pattern.search(text)
        if match is None:
            raise ConfigError(
                "document", found=f"no marks of {name}", expected=f"<!-- {name} -->", remedy="Put the marks back."
            )
        text = f"{text[: match.end(1)]}{table}\n{text[match.start(2) :]}"
    return text


def main() -> None:
    """Renew the tables of the document that is named."""
    path = Path(sys.argv[1])
    path.write_text(renewed(path.read_text()))


if __name__ == "__main__":
    main()
