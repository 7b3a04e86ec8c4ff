"""How long a batch takes, learnt from the batches that ran."""

from bisect import bisect_left

SLOWER, FASTER = 0.2, 0.6
"""Weight of the newest batch. Who takes it for slow is sent little to learn otherwise from, so good news count more."""


class Pace:
    """Milliseconds by batch size: a smoothed mean for each power of two up to `max_batch`."""

    def __init__(self, max_batch: int) -> None:
        self.sizes = [size for power in range(16) if (size := 1 << power) < max_batch] + [max_batch]
        self._ms: dict[int, float] = {}

    def learn(self, size: int, took_ms: float) -> None:
        """Take in one batch."""
        place = self.sizes[bisect_left(self.sizes, size)]
        known = self._ms.get(place)
        if known is None:
            self._ms[place] = took_ms
        else:
            self._ms[place] += (FASTER if took_ms < known else SLOWER) * (took_ms - known)

    def predict(self, size: int) -> float:
        """Milliseconds of a batch of `size`, never less than a smaller one is known to take; 0 = nothing is known."""
        known = [took for place, took in self._ms.items() if place <= max(size, self.sizes[0])]
        at = self.sizes[bisect_left(self.sizes, min(size, self.sizes[-1]))]
        return max([*known, self._ms.get(at, 0.0)])
