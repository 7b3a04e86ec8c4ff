"""Reports on disk: one folder with report.html, report.json and report.csv."""

import csv
from collections.abc import Iterable
from io import StringIO
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from models.errors import InputError
from offline.outputs import replaced_file
from offline.report.compare import RunComparison
from offline.report.document.audit import AuditReport
from offline.report.document.reproduction import ReproductionReport
from offline.report.html import render
from offline.report.pages.audit import audit_page
from offline.report.pages.comparison import comparison_page
from offline.report.pages.evaluation import evaluation_page
from offline.report.pages.reproduction import reproduction_page
from offline.report.rows import COLUMNS, Document, document_rows

HTML, JSON, CSV = "report.html", "report.json", "report.csv"

_WRITTEN: TypeAdapter[Document | ReproductionReport] = TypeAdapter(
    Annotated[Document | ReproductionReport, Field(discriminator="kind")]
)


def write_report(document: Document, folder: Path) -> list[Path]:
    """Write a document as a page, as JSON and as CSV; files of an earlier run are replaced.

    Returns:
        The three paths.

    Raises:
        ConfigError: the folder cannot be written.
    """
    page = audit_page(document) if isinstance(document, AuditReport) else evaluation_page(document)
    return _write(
        folder,
        {
            HTML: render(page),
            JSON: document.model_dump_json(indent=1) + "\n",
            CSV: _csv(COLUMNS, (row.cells() for row in document_rows(document))),
        },
    )


def write_comparison(runs: RunComparison, folder: Path) -> list[Path]:
    """Write two runs side by side as a page and as CSV.

    Returns:
        The two paths.

    Raises:
        ConfigError: the folder cannot be written.
    """
    columns = (*COLUMNS[:6], "left", "right", "difference", "intervals")
    cells = (
        (
            *pair.left.key,
            *["" if v is None else str(v) for v in (pair.left.value, pair.right.value, pair.difference)],
            str(pair.apart),
        )
        for pair in runs.pairs
    )
    return _write(folder, {HTML: render(comparison_page(runs)), CSV: _csv(columns, cells)})


def write_reproduction(document: ReproductionReport, folder: Path) -> list[Path]:
    """Write a reproduction as one page, as JSON and as CSV with the data set in the first column.

    Returns:
        The three paths.

    Raises:
        ConfigError: the folder cannot be written.
    """
    rows = ((one.title, *row.cells()) for one in document.data_sets for row in document_rows(one))
    return _write(
        folder,
        {
            HTML: render(reproduction_page(document)),
            JSON: document.model_dump_json(indent=1) + "\n",
            CSV: _csv(("data_set", *COLUMNS), rows),
        },
    )


def read_report(path: Path) -> Document:
    """Read a document from report.json or from the folder that holds it; of a reproduction, its only data set's.

    Raises:
        InputError: there is no such file, it is not a report of this version, or it is of several data sets.
    """
    file = path / JSON if path.is_dir() else path
    try:
        written = _WRITTEN.validate_json(file.read_bytes())
    except OSError as error:
        raise InputError(
            str(file),
            found=error.strerror or "no file",
            expected="a report written by evaluate or audit",
            remedy="Pass the folder that the command wrote its report to.",
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(
            f"{file}, field {'.'.join(map(str, first['loc'])) or 'the whole'}",
            found=first["msg"],
            expected="a report of schema version 1",
            remedy="Make the report again with this version.",
        ) from error
    return written if not isinstance(written, ReproductionReport) else _only(written, file)


def _only(report: ReproductionReport, file: Path) -> Document:
    if len(report.data_sets) == 1:
        return report.data_sets[0]
    raise InputError(
        str(file),
        found=f"a reproduction on {len(report.data_sets)} data sets",
        expected="one on a single data set",
        remedy="Reproduce with one --data at a time to compare its runs.",
    )


def _csv(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return out.getvalue()


def _write(folder: Path, texts: dict[str, str]) -> list[Path]:
    for name, text in texts.items():
        with replaced_file(folder / name) as draft:
            draft.write_text(text, encoding="utf-8")
    return [folder / name for name in texts]
