"""WordLlama: 256 dimensions, mean of token vectors, no network at run time; a whole catalogue takes seconds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from offline.encoders.base import Vectors, missing_extra

DIMENSIONS = 256


def _load() -> Any:
    try:
        import wordllama
    except ImportError as error:
        raise missing_extra("text encoder wordllama", error, "build") from error
    folder = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(dim=DIMENSIONS, disable_download=True, cache_dir=folder)


class WordLlamaEncoder:
    """The weights that the `wordllama` package ships."""

    name = "wordllama"

    def __init__(self) -> None:
        self._model = _load()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """float32 [len(texts), 256]."""
        return np.asarray(self._model.embed(list(texts), norm=True), np.float32)
