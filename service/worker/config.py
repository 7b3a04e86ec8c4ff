"""How a worker batches and how long it waits."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """Settings of one worker.

    Attributes:
        max_batch: requests decoded at once.
        max_wait_ms: how long the oldest request waits for companions while the decoder is idle.
        beat_s: seconds between heartbeats.
        claim_idle_ms: a request that a worker read and did not answer for this long may be taken over.
        stall_s: a batch that runs longer means that the worker is stuck.
        probe_s: an idle worker runs a batch of one this often, which keeps its pace known.
    """

    max_batch: int = 32
    max_wait_ms: float = 2.0
    beat_s: float = 0.25
    claim_idle_ms: int = 1000
    stall_s: float = 20.0
    probe_s: float = 1.0
