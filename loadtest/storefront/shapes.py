"""Stages as Locust takes them."""

from locust import LoadTestShape

from loadtest.storefront.stages import Stage


class Staged(LoadTestShape):
    """Locust's view of the stages.

    Args:
        parts: in order.
    """

    def __init__(self, parts: list[Stage]) -> None:
        super().__init__()
        self._parts = parts

    def tick(self) -> tuple[int, float] | None:
        """What holds now; None = the test is over."""
        now = self.get_run_time()
        return next(((part.users, part.rate) for part in self._parts if now < part.until_s), None)
