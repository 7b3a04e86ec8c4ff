"""The chunked cosine softmax equals the plain one, in value and gradient."""

import pytest
import torch
from torch.nn import functional

from models.neural import losses
from models.neural.losses import code_loss, dense_loss


def inputs(rows: int, items: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    queries = functional.normalize(torch.randn(rows, 16, generator=generator), dim=-1).requires_grad_()
    vectors = functional.normalize(torch.randn(items, 16, generator=generator), dim=-1).requires_grad_()
    return queries, vectors, torch.randint(items, (rows,), generator=generator)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_loss_and_gradients_equal_the_plain_cross_entropy_to_bfloat16(
    smoothing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(losses, "CHUNK", 8)
    monkeypatch.setattr(losses, "STEP", 8)
    queries, vectors, targets = inputs(20, 50)
    found = dense_loss(queries, vectors, targets, 0.1, smoothing)
    found_grads = torch.autograd.grad(found, [queries, vectors])
    plain = functional.cross_entropy(queries @ vectors.T / 0.1, targets, label_smoothing=smoothing)
    plain_grads = torch.autograd.grad(plain, [queries, vectors])
    assert found.item() == pytest.approx(plain.item(), rel=0.01)
    for ours, theirs in zip(found_grads, plain_grads, strict=True):
        assert (ours - theirs).abs().max() < 0.03 * theirs.abs().max()


def test_the_gradient_scales_with_what_comes_after() -> None:
    queries, vectors, targets = inputs(5, 9)
    once = torch.autograd.grad(dense_loss(queries, vectors, targets, 0.1, 0.0), queries)[0]
    thrice = torch.autograd.grad(3 * dense_loss(queries, vectors, targets, 0.1, 0.0), queries)[0]
    torch.testing.assert_close(thrice, 3 * once)


def test_code_loss_sums_levels_and_a_level_of_one_code_costs_nothing() -> None:
    first, second = torch.randn(6, 4), torch.randn(6, 1)
    codes = torch.stack([torch.arange(6) % 4, torch.zeros(6, dtype=torch.int64)], 1)
    expected = functional.cross_entropy(first, codes[:, 0])
    torch.testing.assert_close(code_loss([first, second], codes, 0.1 * 0), expected)
    assert code_loss([second], codes[:, 1:], 0.1).item() == 0
