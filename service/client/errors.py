"""The one error of the client."""

from collections.abc import Mapping
from typing import Any

CALLERS_FAULT = frozenset(range(400, 500)) - {408, 429}
"""Statuses that another try, or a fallback list, would only hide."""


class ServiceError(Exception):
    """The service did not answer, or refused.

    Args:
        reason: `timeout`, `no answer`, `bad answer`, or `status N`.
        status: HTTP status, 0 = there was no answer.
        problem: the service's RFC 9457 document, empty = none came.
        retry_after_s: what the service asked to wait, in seconds.
    """

    def __init__(
        self,
        reason: str,
        *,
        status: int = 0,
        problem: Mapping[str, Any] | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        self.reason, self.status, self.problem = reason, status, dict(problem or {})
        self.retry_after_s = retry_after_s
        super().__init__(str(self.problem.get("detail") or self.problem.get("title") or reason))

    @property
    def is_callers_fault(self) -> bool:
        """The request itself was wrong: sending it again changes nothing."""
        return self.status in CALLERS_FAULT
