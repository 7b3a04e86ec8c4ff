from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from models.errors import InputError
from models.ids import ItemIds
from offline.encoders.vectors import read_vectors

IDS = ItemIds.from_strings(["7", "007", "b"])


def parquet(path: Path, ids: list[str | None], vectors: list[list[float] | None], width: int | None = None) -> Path:
    kind = pa.list_(pa.float32()) if width is None else pa.list_(pa.float32(), width)
    pq.write_table(pa.table({"item_id": ids, "embedding": pa.array(vectors, kind)}), path)
    return path


def npy(path: Path, ids: str, vectors: object) -> Path:
    np.save(path, np.asarray(vectors))
    path.with_suffix(".txt").write_text(ids)
    return path


@pytest.mark.parametrize("form", ["parquet", "fixed", "npy", "npy64"])
def test_vectors_line_up_with_the_catalogue(tmp_path: Path, form: str) -> None:
    ids, vectors = ["b", "007", "unknown"], [[3.0, 4.0], [0.0, 2.0], [1.0, 1.0]]
    if form.startswith("npy"):
        dtype = np.float64 if form == "npy64" else np.float32
        path = npy(tmp_path / "v.npy", "b\n007\nunknown\n", np.array(vectors, dtype))
    else:
        path = parquet(tmp_path / "v.parquet", list(ids), list(vectors), 2 if form == "fixed" else None)

    own = read_vectors(path, IDS)

    np.testing.assert_allclose(own.vectors, [[0, 1], [0, 0], [0.6, 0.8]], rtol=1e-6)
    assert (own.without, own.unknown) == (1, 1)
    assert own.vectors.dtype == np.float32


def test_odd_tables_are_refused_with_the_row(tmp_path: Path) -> None:
    cases = [
        (["7", "b"], [[1.0, 2.0], [1.0]], r"row 2 with 1 numbers"),
        (["7", "b"], [[1.0, 2.0], [float("nan"), 1.0]], r"NaN or infinity in row 2"),
        (["7", "7"], [[1.0], [2.0]], r"id '7' in row 2"),
        (["7", None], [[1.0], [2.0]], r"id None in row 2"),
        (["7", "b"], [[1.0], None], r"1 missing of 2"),
        (["x"], [[1.0]], r"no id of this catalogue"),
    ]
    for ids, vectors, message in cases:
        with pytest.raises(InputError, match=message):
            read_vectors(parquet(tmp_path / "v.parquet", list(ids), list(vectors)), IDS)


def test_odd_arrays_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"float64 \(2, 1\) and 3 ids"):
        read_vectors(npy(tmp_path / "v.npy", "7\nb\nc\n", [[1.0], [2.0]]), IDS)
    np.save(tmp_path / "o.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(InputError, match=r"expected an array of numbers, and its ids in o\.txt"):
        read_vectors(tmp_path / "o.npy", IDS)
    (tmp_path / "v.parquet").write_text("no")
    with pytest.raises(InputError, match=r"a Parquet table \(item_id, embedding\)"):
        read_vectors(tmp_path / "v.parquet", IDS)
