"""What a job reports to Prometheus, all processes together."""

from pipelines.metrics.collector import JobCollector
from pipelines.metrics.seen import JobFiles, Seen

__all__ = ["JobCollector", "JobFiles", "Seen"]
