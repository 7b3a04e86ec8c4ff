import builtins
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from tokenizers import Tokenizer, models, pre_tokenizers

from models.errors import ConfigError, MissingExtraError
from offline.encoders.base import Vectors, encode_unique
from offline.encoders.choose import open_encoder


class Counting:
    """An encoder that remembers what it was asked: the vector of a text is (its length, 1)."""

    name = "counting"

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def encode(self, texts: Sequence[str]) -> Vectors:
        self.batches.append(list(texts))
        return np.array([[len(text), 1] for text in texts], np.float32)


def ignore(done: int, total: int) -> None:
    """No progress."""


def test_each_text_is_encoded_once_and_lands_where_it_belongs() -> None:
    encoder, texts = Counting(), ["bb", "a", "", "bb", "ccc", "a"]

    vectors = encode_unique(encoder, texts, batch_size=2, progress=ignore)

    assert sorted(text for batch in encoder.batches for text in batch) == ["a", "bb", "ccc"]
    assert [len(batch) for batch in encoder.batches] == [2, 1]
    expected = np.array([[2, 1], [1, 1], [0, 0], [2, 1], [3, 1], [1, 1]], np.float64)
    lengths = np.maximum(np.linalg.norm(expected, axis=1, keepdims=True), 1)
    np.testing.assert_allclose(vectors, expected / lengths, rtol=1e-6)
    assert vectors.dtype == np.float32


def test_a_catalogue_without_text_has_zero_rows() -> None:
    assert encode_unique(Counting(), ["", ""], batch_size=2, progress=ignore).tolist() == [[0.0], [0.0]]


def test_wordllama_puts_like_texts_together_and_needs_no_network() -> None:
    texts = ["red nail polish", "crimson nail lacquer", "cordless power drill"]

    vectors = encode_unique(open_encoder("wordllama", threads=1), texts, batch_size=8, progress=ignore)

    assert vectors.shape == (3, 256)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-6)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.split(".")[0] == "sentence_transformers":
            raise ImportError(name="sentence_transformers")
        return real(name, *args, **kwargs)

    monkeypatch.delitem(sys.modules, "sentence_transformers", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)

    with pytest.raises(MissingExtraError, match=r"no package sentence_transformers.*pip install 'shortlist\[minilm\]'"):
        open_encoder("hf:some/model", threads=1)


VOCABULARY = {"[UNK]": 0, "red": 1, "blue": 2}
STATES = np.array([[0, 0], [1, 0], [0, 1]], np.float32)


def exported(folder: Path) -> Path:
    """A model whose token states are rows of a table, as an exported transformer's are."""
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["n", "t"])
    mask = helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["n", "t"])
    states = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["n", "t", 2])
    table = helper.make_tensor("table", TensorProto.FLOAT, STATES.shape, STATES.ravel())
    gather = helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])
    graph = helper.make_graph([gather], "encoder", [ids, mask], [states], [table])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    tokenizer = Tokenizer(models.WordLevel(VOCABULARY, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def test_an_exported_model_gives_the_mean_of_its_token_states(tmp_path: Path) -> None:
    encoder = open_encoder(f"onnx:{exported(tmp_path)}", threads=1)

    vectors = encoder.encode(["red", "red blue", "blue blue red blue"])

    np.testing.assert_allclose(vectors, [[1, 0], [0.5, 0.5], [0.25, 0.75]], rtol=1e-6)


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"found no model\.onnx"):
        open_encoder(f"onnx:{tmp_path}", threads=1)
