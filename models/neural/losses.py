"""The two losses: cosine softmax over training items, and cross-entropy of each code."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

CHUNK = 1024
"""Rows of logits held at once: the full matrix of a batch against a catalogue never exists."""

STEP = 64
"""Rows are padded to a multiple of it: fewer shapes, so that libraries which compile a kernel for each keep fewer."""


def dense_loss(queries: Tensor, vectors: Tensor, targets: Tensor, temperature: float, smoothing: float) -> Tensor:
    """Mean cross-entropy of softmax(cosine / temperature) over the given vectors.

    Logits are computed in bfloat16 and their gradient in the same pass, a chunk of rows at a time. Cosines are at
    most 1, so 1 / temperature bounds the logits and no maximum has to be looked for.

    Args:
        queries: float32 [N, d], L2-normalised.
        vectors: float32 [m, d], L2-normalised: training items only, so that unseen items get no gradient.
        targets: int64 [N], rows of `vectors`.
        temperature: divisor of the cosine.
        smoothing: share of the target's probability spread evenly over all vectors.
    """
    apply: Callable[..., Tensor] = _CosineSoftmax.apply
    return apply(queries, vectors, targets, temperature, smoothing)


class _CosineSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, queries: Tensor, vectors: Tensor, targets: Tensor, temperature: float, smoothing: float
    ) -> Tensor:
        q, v = _padded(queries / temperature).bfloat16(), vectors.bfloat16()
        logits = torch.empty(min(CHUNK, len(q)), len(v), dtype=torch.bfloat16, device=q.device)
        ones = v.new_ones(len(v), 1)
        loss, grad_q, grad_v = (
            queries.new_zeros(()),
            torch.empty_like(q, dtype=torch.float32),
            torch.zeros_like(vectors),
        )
        for start in range(0, len(q), CHUNK):
            rows = q[start : start + CHUNK]
            part = torch.mm(rows, v.T, out=logits[: len(rows)])
            part.sub_(1 / temperature).exp_()
            mass = (part @ ones).float()  # [rows, 1]
            loss += mass[: max(0, len(queries) - start)].log().sum()
            grad_q[start : start + CHUNK] = (part @ v).float() / mass
            grad_v += (part.T @ (rows.float() / mass).bfloat16()).float()
        kept = len(queries)
        inputs, gradients = (q[:kept].float(), v.float()), (grad_q[:kept], grad_v)
        return _finish(ctx, inputs, targets, loss, gradients, temperature, smoothing)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        grad_q, grad_v = ctx.saved_tensors
        return grad * grad_q, grad * grad_v, None, None, None


def _padded(rows: Tensor) -> Tensor:
    """The rows, with zero rows up to a multiple of `STEP`; these add nothing to a gradient of the vectors."""
    return functional.pad(rows, (0, 0, 0, -len(rows) % STEP))


def _finish(
    ctx: Any,
    inputs: tuple[Tensor, Tensor],
    targets: Tensor,
    log_mass: Tensor,
    gradients: tuple[Tensor, Tensor],
    temperature: float,
    smoothing: float,
) -> Tensor:
    """Subtract the targets from loss and gradients: (1 - smoothing) at the target, the rest spread evenly."""
    (q, v), (grad_q, grad_v) = inputs, gradients
    kept, mean = 1 - smoothing, v.mean(0)
    loss = log_mass + len(q) / temperature - kept * (q * v[targets]).sum() - smoothing * (q @ mean).sum()
    grad_q -= kept * v[targets] + smoothing * mean
    grad_v.index_add_(0, targets, q, alpha=-kept)
    grad_v -= smoothing / len(v) * q.sum(0)
    ctx.save_for_backward(grad_q / temperature / len(q), grad_v / len(q))
    return loss / len(q)


def code_loss(logits: Sequence[Tensor], codes: Tensor, smoothing: float) -> Tensor:
    """Sum over levels of the mean cross-entropy; logits [N, codebook] a level, int64 [N, L] codes."""
    parts = [
        functional.cross_entropy(level.float(), codes[:, i], label_smoothing=smoothing if level.shape[1] > 1 else 0.0)
        for i, level in enumerate(logits)
    ]
    return torch.stack(parts).sum()
