"""What the service counts, as Prometheus reads it."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4 as CONTENT_TYPE

_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300)

__all__ = ["CONTENT_TYPE", "Metrics"]


class Metrics:
    """Counters of requests, and gauges that are read when somebody asks."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        labels = ("method", "route")
        self._requests = Counter(
            "perchtree_requests", "Answers.", (*labels, "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "perchtree_request_seconds", "Time until an answer was sent.", labels,
            registry=self._registry, buckets=_BUCKETS,
        )  # fmt: skip

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answer; event streams have no duration."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def watch(self, name: str, meaning: str, read: Callable[[], float]) -> None:
        """Show a number that is read anew each time."""
        Gauge(f"perchtree_{name}", meaning, registry=self._registry).set_function(read)

    def text(self) -> bytes:
        """All numbers, in Prometheus' text format."""
        return generate_latest(self._registry)
