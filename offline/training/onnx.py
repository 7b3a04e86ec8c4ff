"""Export to ONNX with the dimensions that vary."""

import logging
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim

REQUESTS = Dim("requests", min=1, max=65536)
ITEMS = Dim("items", min=1, max=65536)
POSITIONS = Dim("positions", min=1, max=65536)
SLOTS = Dim("slots", min=1, max=4096)


def to_onnx(
    module: nn.Module, path: Path, inputs: dict[str, tuple[Tensor, dict[int, Any]]], outputs: list[str]
) -> None:
    """Export a module; `inputs` are examples and the dimensions that vary."""
    path.unlink(missing_ok=True)
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module.eval(),
            tuple(example.clone() for example, _ in inputs.values()),
            path,
            input_names=list(inputs),
            output_names=outputs,
            dynamic_shapes={name: shape for name, (_, shape) in inputs.items()},
            external_data=False,
            dynamo=True,
            verbose=False,
        )
