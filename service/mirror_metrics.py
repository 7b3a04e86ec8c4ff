"""How a process tells whether its bundles follow the remote root."""

from pathlib import Path

from prometheus_client import CollectorRegistry, Gauge

from models.bundle.mirror_state import MirrorState


class MirrorMetrics:
    """What the mirror of a process's bundles says of itself, looked up when somebody asks."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._succeeded = Gauge(
            "shortlist_mirror_last_success_timestamp_seconds",
            "When the remote root was last followed; 0 = never, or nothing remote is configured.",
            registry=registry,
        )
        self._failing = Gauge(
            "shortlist_mirror_failing_since_timestamp_seconds",
            "Since when it cannot be followed: it does not answer, or its version was refused; 0 = it can.",
            registry=registry,
        )
        self._remote = Gauge(
            "shortlist_mirror_info", "The version that the remote CURRENT named last.", ["version"], registry=registry
        )

    def look(self, bundles: Path) -> None:
        """Read the state of the mirror that keeps a folder."""
        state = MirrorState.read(bundles)
        self._succeeded.set(state.last_success_s)
        self._failing.set(state.failing_since_s)
        self._remote.clear()
        if state.version is not None:
            self._remote.labels(state.version).set(1)
