"""Histories to query vectors without torch (ONNX Runtime), many at once."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from models.neural.packing import packed
from models.retrieval import Items
from models.similarity import Floats

MOST_POSITIONS = 256
"""Positions that are encoded at once; more of them are no faster and take more memory."""


def session_options(threads: int) -> Any:
    """Options of an ONNX Runtime session on the CPU whose threads sleep when there is nothing to do."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    return options


def open_session(model: Path | bytes, threads: int) -> Any:
    """A session over a file or over the bytes of one."""
    return onnxruntime.InferenceSession(model, session_options(threads), providers=["CPUExecutionProvider"])


class QueryEncoder:
    """Histories to query vectors, the same for a history whatever it is encoded with.

    Args:
        model: the ONNX file.
        inputs: float32 [n, tokens, d]: items as the encoder takes them in.
        history: newest items of a history that count.
        threads: of ONNX Runtime.
    """

    def __init__(self, model: Path, inputs: Floats, history: int, threads: int) -> None:
        self._session, self._inputs, self._history = open_session(model, threads), inputs, history
        self._padded = "places" not in {each.name for each in self._session.get_inputs()}

    def encode(self, histories: Sequence[Items]) -> Floats:
        """float32 [B, d], L2-normalised, of histories of at least one item each."""
        newest = [history[-self._history :] for history in histories]
        parts = [self._run(part) for part in self._parts(newest)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _parts(self, histories: list[Items]) -> list[list[Items]]:
        """Stretches of as many histories as are encoded at once."""
        room = 1 if self._padded else MOST_POSITIONS // self._inputs.shape[1]
        parts: list[list[Items]] = []
        free = 0
        for history in histories:
            if len(history) > free:
                parts.append([])
                free = max(room, len(history))
            parts[-1].append(history)
            free -= len(history)
        return parts

    def _run(self, histories: list[Items]) -> Floats:
        items = self._inputs[np.concatenate(histories)]
        if self._padded:  # exported before histories were packed: one at a time
            feeds = {"items": items[None], "lengths": np.array([len(items)], np.int64)}
        else:
            feeds = {"items": items, **packed([len(history) for history in histories], self._inputs.shape[1])}
        queries: Floats = self._session.run(["queries"], feeds)[0]
        return queries
