"""Principal components of text embeddings, as a linear map."""

from torch import Tensor, linalg


def principal_map(texts: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """Weight [w, d] and bias [w] that give the leading w <= width components, mean square length 1, from [n, d]."""
    mean = texts.double().mean(0)
    centred = texts.double() - mean
    _, axes = linalg.eigh(centred.T @ centred)
    weight = axes.flip(1)[:, :width].T
    length = (centred @ weight.T).square().sum(1).mean().sqrt().clamp(min=1e-9)
    weight = weight / length
    return weight.float(), -(weight @ mean).float()
