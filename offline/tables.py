"""Small tables that users bring: predictions, judgments."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from models.errors import InputError


def read_columns(path: Path, columns: dict[str, pa.DataType], remedy: str) -> pa.Table:
    """Some columns of a CSV (also .gz) or Parquet file, in these types.

    Raises:
        InputError: the file cannot be read, lacks a column or holds something of another type; says `remedy`.
    """
    try:
        if path.suffix == ".parquet":
            return pq.read_table(path, columns=list(columns)).cast(pa.schema(columns))
        options = csv.ConvertOptions(column_types=columns, include_columns=list(columns), strings_can_be_null=False)
        return csv.read_csv(path, convert_options=options)
    except (OSError, KeyError, pa.ArrowException) as error:
        raise InputError(
            str(path),
            found=str(error).splitlines()[0],
            expected=f"CSV or Parquet with the columns {', '.join(columns)}",
            remedy=remedy,
        ) from error
