"""Dropout whose random bits cost an eighth: one byte decides an element, eight come from one draw."""

import torch
from torch import Tensor, nn

LEVELS = 256


class Dropout(nn.Module):
    """In training, zero each element with a probability (in steps of 1/256) and scale the others up."""

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.dropped = round(probability * LEVELS)

    def forward(self, x: Tensor) -> Tensor:
        """Same shape and dtype as x."""
        if not self.training or not self.dropped:
            return x
        draws = torch.empty((x.numel() + 7) // 8, dtype=torch.int64, device=x.device).random_(-(2**63), None)
        kept = draws.view(torch.uint8)[: x.numel()].view(x.shape) >= self.dropped
        return x * kept.to(x.dtype).mul_(LEVELS / (LEVELS - self.dropped))

    def extra_repr(self) -> str:
        """The probability."""
        return f"{self.dropped / LEVELS:.3f}"
