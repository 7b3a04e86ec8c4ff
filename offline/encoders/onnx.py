"""A text encoder exported to ONNX: `tokenizer.json` and `model.onnx` in one folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime

from models.errors import ConfigError
from offline.encoders.base import Vectors, missing_extra

MAX_TOKENS = 256
MODEL_PLACES = ("model.onnx", "onnx/model.onnx")


def mean_of_tokens(states: npt.NDArray[np.float32], mask: npt.NDArray[np.int64]) -> Vectors:
    """Mean of the token states that the mask keeps, float32 [n, d].

    >>> states = np.array([[[1.0, 0.0], [3.0, 0.0], [9.0, 9.0]]], np.float32)
    >>> mean_of_tokens(states, np.array([[1, 1, 0]])).tolist()
    [[2.0, 0.0]]
    """
    kept = mask[:, :, None].astype(np.float32)
    means: Vectors = ((states * kept).sum(1) / np.maximum(kept.sum(1), 1)).astype(np.float32)
    return means


def _tokenizer(path: Path) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise missing_extra("text encoder onnx", error, "build") from error
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.enable_truncation(MAX_TOKENS)
    tokenizer.enable_padding()
    return tokenizer


def _files(folder: Path) -> tuple[Path, Path]:
    model = next((folder / place for place in MODEL_PLACES if (folder / place).is_file()), None)
    if model is None or not (folder / "tokenizer.json").is_file():
        raise ConfigError(
            f"text encoder onnx:{folder}",
            found="no model.onnx" if model is None else "no tokenizer.json",
            expected="a folder with tokenizer.json and model.onnx",
            remedy="Export the model with its tokenizer, for instance with optimum-cli.",
        )
    return model, folder / "tokenizer.json"


class OnnxEncoder:
    """Mean-pooled token states of an exported transformer, or its own pooled output where it has one."""

    def __init__(self, folder: Path, *, threads: int) -> None:
        model, tokenizer = _files(folder)
        self.name = f"onnx:{folder}"
        self._tokenizer = _tokenizer(tokenizer)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self._inputs = {entry.name for entry in self._session.get_inputs()}

    def encode(self, texts: Sequence[str]) -> Vectors:
        """float32 [len(texts), d]."""
        encoded = self._tokenizer.encode_batch(list(texts))
        mask = np.array([one.attention_mask for one in encoded], np.int64)
        feeds = {
            "input_ids": np.array([one.ids for one in encoded], np.int64),
            "attention_mask": mask,
            "token_type_ids": np.array([one.type_ids for one in encoded], np.int64),
        }
        outputs = self._session.run(None, {name: feed for name, feed in feeds.items() if name in self._inputs})
        pooled = next((output for output in outputs if output.ndim == 2), None)
        return mean_of_tokens(outputs[0], mask) if pooled is None else np.asarray(pooled, np.float32)
