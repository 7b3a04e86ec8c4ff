"""What a worker counts."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from service.mirror_metrics import MirrorMetrics

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128)


class WorkerMetrics:
    """One worker's counters, in a registry of its own."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        self.queue_wait = Histogram(
            "shortlist_gr_queue_seconds",
            "Time from a request's arrival in the queue to the start of its batch.",
            buckets=SECONDS,
            registry=self.registry,
        )
        self.decode = Histogram(
            "shortlist_gr_decode_seconds", "Time of a batch in the decoder.", buckets=SECONDS, registry=self.registry
        )
        self.batch_size = Histogram(
            "shortlist_gr_batch_size", "Requests in a batch.", buckets=SIZES, registry=self.registry
        )
        self.dropped = Counter(
            "shortlist_gr_dropped",
            "Requests that left the queue unanswered, by reason.",
            ["reason"],
            registry=self.registry,
        )
        self.failed = Counter("shortlist_gr_failed_batches", "Batches that the decoder failed.", registry=self.registry)
        self.versions = Gauge("shortlist_gr_bundles", "Bundle versions held.", registry=self.registry)
        self.last_batch = Gauge(
            "shortlist_gr_last_batch_timestamp_seconds", "When a batch ended last.", registry=self.registry
        )
        self.mirror = MirrorMetrics(self.registry)
