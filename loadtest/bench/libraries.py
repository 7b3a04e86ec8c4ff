"""The libraries that `dr` calls, alone, on the bundle's own files: what is left is what the service adds."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from loadtest.bench.row import Options, Row

N_QUERIES = 512
DEPTH = 200
"""Items that `dr-prior` takes from the index."""
HISTORY = 6
"""Items of the histories that the requests over HTTP carry, on average."""
TOGETHER = 16
"""Histories that are encoded at once under load."""
SLOTS = 4
"""The encoder's slots come in so many."""


def current_folder(bundles: Path) -> Path:
    """The folder of the current version."""
    return bundles / (bundles / "CURRENT").read_text().strip()


def timed(call: Callable[[int], Any], seconds: float) -> dict[str, float | str]:
    """Ask for some time; rate, median and 99th percentile."""
    for number in range(10):
        call(number)
    took = []
    ends = time.perf_counter() + seconds
    while (started := time.perf_counter()) < ends:
        call(len(took))
        took.append(time.perf_counter() - started)
    median, p99 = np.quantile(took, (0.5, 0.99)) * 1e3
    return {"per_s": round(len(took) / sum(took), 1), "p50_ms": round(float(median), 4), "p99_ms": round(float(p99), 4)}


def libraries(options: Options) -> Iterator[Row]:
    """FAISS over the bundle's index, and ONNX Runtime over its query encoder, one thread, one query at a time."""
    folder = current_folder(options.bundles)
    names = json.loads((folder / "manifest.json").read_text())["files"]
    if "index.faiss" not in names:
        yield Row("libraries alone", "no index: the bundle is not trained")
        return
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.read_index(str(folder / "index.faiss"), faiss.IO_FLAG_MMAP)
    vectors = np.load(folder / "item_vectors.npy", mmap_mode="r", allow_pickle=False)
    drawn = np.random.default_rng(7).integers(0, len(vectors), N_QUERIES)
    queries = np.ascontiguousarray(vectors[np.sort(drawn)], np.float32)
    figures = timed(lambda n: index.search(queries[n % N_QUERIES : n % N_QUERIES + 1], DEPTH), options.seconds)
    yield Row("libraries alone", f"FAISS {type(faiss.downcast_index(index)).__name__}, best {DEPTH}", figures)
    for requests in (1, TOGETHER):
        name = f"ONNX Runtime, query encoder, {requests} x {HISTORY} items"
        yield Row("libraries alone", name, _encoder(folder, options, requests))


def _encoder(folder: Path, options: Options, requests: int) -> dict[str, float | str]:
    import onnxruntime

    config = onnxruntime.SessionOptions()
    config.intra_op_num_threads = config.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(folder / "query_encoder.onnx"), config, ["CPUExecutionProvider"])
    inputs = {each.name: each.shape for each in session.get_inputs()}
    if "places" not in inputs:
        return {"figures": "none: exported before histories were packed"}
    feeds = _feeds(requests, *inputs["items"][1:])
    return timed(lambda _: session.run(None, feeds), options.seconds)


def _feeds(requests: int, tokens: int, width: int) -> dict[str, npt.NDArray[Any]]:
    """Random histories of `HISTORY` items, as the bundle's encoder takes them: packed, each with a few free slots."""
    positions = HISTORY * tokens
    there = np.tile(np.arange(-(-positions // SLOTS) * SLOTS) < positions, (requests, 1))
    places = np.zeros(there.shape, np.int64)
    places[there] = np.arange(requests * positions)
    drawn = np.random.default_rng(7).standard_normal((requests * HISTORY, tokens, width)).astype(np.float32)
    lengths = np.full(requests, positions, np.int64)
    return {"items": drawn, "places": places, "rows": np.argwhere(there), "lengths": lengths}
