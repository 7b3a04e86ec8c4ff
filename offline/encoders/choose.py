"""From the name of an encoder to the encoder."""

from pathlib import Path

from offline.encoders.base import Encoder


def open_encoder(spec: str, *, threads: int) -> Encoder:
    """The encoder of a specification: wordllama, minilm, hf:NAME or onnx:DIR.

    Args:
        spec: checked by `offline.config.TextRules`.
        threads: of the encoder's numerical kernels.

    Raises:
        MissingExtraError: its packages are not installed.
        ConfigError: its model cannot be loaded.
    """
    if spec == "wordllama":
        from offline.encoders.wordllama import WordLlamaEncoder

        return WordLlamaEncoder()
    if spec.startswith("onnx:"):
        from offline.encoders.onnx import OnnxEncoder

        return OnnxEncoder(Path(spec.removeprefix("onnx:")), threads=threads)
    from offline.encoders.sentence import SentenceEncoder, minilm_folder

    model = minilm_folder() if spec == "minilm" else spec.removeprefix("hf:")
    return SentenceEncoder(model, name=spec, threads=threads)
