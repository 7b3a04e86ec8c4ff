"""What lies between the matrix products of a network on a CPU: norms, softmaxes, attention of few positions."""

import numpy as np
import numpy.typing as npt

from models.kernels import compiled, compiled_sum
from models.neural.config import Norm

Float32s = npt.NDArray[np.float32]
EPSILON = {Norm.LAYER: 1e-5, Norm.RMS: float(np.finfo(np.float32).eps)}
"""What torch adds to a variance."""


def own(array: npt.NDArray[np.floating]) -> Float32s:
    """Contiguous and float32."""
    return np.ascontiguousarray(array, np.float32)


class Norms:
    """Normalises rows of [n, d], without a gain."""

    def __init__(self, norm: Norm) -> None:
        self._centred, self._epsilon = norm is Norm.LAYER, EPSILON[norm]

    def __call__(self, x: Float32s) -> Float32s:
        """A new array."""
        return normalised(x, self._centred, self._epsilon)


@compiled_sum
def normalised(x: Float32s, centred: bool, epsilon: float) -> Float32s:
    """Rows of x [n, d] by their root mean square, first centred if so wished; no gain."""
    y = np.empty_like(x)
    for row in range(len(x)):
        mean, square = np.float32(0), np.float32(0)
        if centred:
            for i in range(x.shape[1]):
                mean += x[row, i]
            mean /= np.float32(x.shape[1])
        for i in range(x.shape[1]):
            y[row, i] = x[row, i] - mean
            square += y[row, i] * y[row, i]
        scale = np.float32(1 / np.sqrt(square / x.shape[1] + epsilon))
        for i in range(x.shape[1]):
            y[row, i] *= scale
    return y


@compiled_sum
def add_scores(query: Float32s, keys: Float32s, rows: npt.NDArray[np.intp], place: int, scores: Float32s) -> None:
    """Scores [n, H, l] at one place: products of query [n, H * h], already scaled, and the rows of keys [m, H * h]."""
    n, heads, _ = scores.shape
    width = query.shape[1] // heads
    for row in range(n):
        other = rows[row]
        for head in range(heads):
            total = np.float32(0)
            for i in range(head * width, (head + 1) * width):
                total += query[row, i] * keys[other, i]
            scores[row, head, place] = total


@compiled
def softmax_last(scores: Float32s) -> None:
    """Scores [n, H, l] to weights that sum to 1 over l, in place."""
    n, heads, places = scores.shape
    for row in range(n):
        for head in range(heads):
            greatest, total = scores[row, head, 0], np.float32(0)
            for place in range(1, places):
                greatest = max(greatest, scores[row, head, place])
            for place in range(places):
                scores[row, head, place] = np.exp(scores[row, head, place] - greatest)
                total += scores[row, head, place]
            for place in range(places):
                scores[row, head, place] /= total


@compiled
def add_values(weights: Float32s, values: Float32s, rows: npt.NDArray[np.intp], place: int, out: Float32s) -> None:
    """Add to out [n, H * h] the rows of values [m, H * h] by weights [n, H, l] at one place."""
    n, heads, _ = weights.shape
    width = out.shape[1] // heads
    for row in range(n):
        other = rows[row]
        for head in range(heads):
            weight = weights[row, head, place]
            for i in range(head * width, (head + 1) * width):
                out[row, i] += weight * values[other, i]


@compiled
def softmax_by_head(scores: Float32s, bias: Float32s) -> None:
    """Scores [R, W, H * S] plus bias [R, H, S] to weights that sum to 1 over S, in place."""
    requests, heads, positions = bias.shape
    for request in range(requests):
        for row in range(scores.shape[1]):
            for head in range(heads):
                first = head * positions
                greatest, total = np.float32(-np.inf), np.float32(0)
                for place in range(positions):
                    scores[request, row, first + place] += bias[request, head, place]
                    greatest = max(greatest, scores[request, row, first + place])
                for place in range(positions):
                    weight = np.exp(scores[request, row, first + place] - greatest)
                    scores[request, row, first + place] = weight
                    total += weight
                for place in range(positions):
                    scores[request, row, first + place] /= total


def log_softmax(logits: Float32s) -> None:
    """Every row of logits [n, codes] to log-probabilities, in place."""
    logits -= logits.max(1, keepdims=True)
    logits -= np.log(np.exp(logits).sum(1, keepdims=True))
