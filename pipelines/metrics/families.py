"""Metric families from plain mappings, named as all of this project are."""

from collections.abc import Iterable, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

__all__ = ["Labels", "counter", "counter_by", "from_zero", "gauge", "gauge_by"]

Labels = tuple[str, ...]


def gauge(name: str, text: str, value: float | None) -> Metric:
    """Give a gauge without labels; without a value it has no sample."""
    return GaugeMetricFamily(f"anabranch_{name}", text, value=value)


def gauge_by(name: str, text: str, labels: Labels, values: Mapping[Labels, float]) -> Metric:
    """Give a gauge with labels, a sample for each of their values.

    >>> gauge_by("lag", "Behind.", ("topic",), {("a",): 2.0}).samples[0].labels
    {'topic': 'a'}
    """
    family = GaugeMetricFamily(f"anabranch_{name}", text, labels=labels)
    for each, value in values.items():
        family.add_metric(each, value)
    return family


def counter(name: str, text: str, value: float) -> Metric:
    """Give a counter without labels; `_total` is added to its name."""
    return CounterMetricFamily(f"anabranch_{name}", text, value=value)


def counter_by(name: str, text: str, labels: Labels, values: Mapping[Labels, float]) -> Metric:
    """Give a counter with labels, a sample for each of their values."""
    family = CounterMetricFamily(f"anabranch_{name}", text, labels=labels)
    for each, value in values.items():
        family.add_metric(each, value)
    return family


def from_zero(known: Iterable[str], counts: Mapping[str, float]) -> dict[Labels, float]:
    """Give counts by label; a label that is known is there from the beginning.

    So `rate` sees its first increase.

    >>> from_zero(["a"], {"b": 3.0})
    {('a',): 0.0, ('b',): 3.0}
    """
    return {(name,): value for name, value in (dict.fromkeys(known, 0.0) | dict(counts)).items()}
