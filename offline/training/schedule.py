"""Learning rate and weight averaging."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

FLOOR = 0.05
"""The cosine ends at this share of the peak rate."""


def rate(step: int, steps: int, warmup: int) -> float:
    """Share of the peak rate at a step: a linear rise over `warmup` steps, then a cosine down to `FLOOR`.

    >>> rate(0, 100, 10), rate(10, 100, 10), round(rate(100, 100, 10), 2)
    (0.0, 1.0, 0.05)
    """
    if step < warmup:
        return step / warmup
    progress = min(1.0, (step - warmup) / max(1, steps - warmup))
    return FLOOR + (1 - FLOOR) * 0.5 * (1 + math.cos(math.pi * progress))


class Average:
    """A moving average of a module's parameters, faster in the first steps.

    Args:
        module: whose parameters are followed.
        decay: share of the old average that a step keeps; 0 = the average is always the latest value.
    """

    def __init__(self, module: nn.Module, decay: float) -> None:
        self.module, self.decay = module, decay
        self.values = {name: value.detach().clone() for name, value in module.named_parameters()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Move towards the parameters after a step (0, 1, 2...)."""
        kept = min(self.decay, (step + 1) / (step + 10))
        values, latest = list(self.values.values()), [value.detach() for value in self.module.parameters()]
        torch._foreach_lerp_(values, latest, 1 - kept)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Within the block the module has the averaged parameters and is in evaluation mode."""
        latest = {name: value.detach().clone() for name, value in self.module.named_parameters()}
        self._put(self.values)
        self.module.eval()
        try:
            yield
        finally:
            self._put(latest)
            self.module.train()

    @torch.no_grad()
    def _put(self, values: dict[str, Tensor]) -> None:
        for name, value in self.module.named_parameters():
            value.copy_(values[name])
