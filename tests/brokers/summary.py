"""Says at the end of a test run which broker was used, and what was skipped for want of one."""

from typing import Any

from tests.brokers.fixtures import FIXTURES, SKIPPED
from tests.brokers.jars import KAFKA_VERSION

__all__ = ["note_kind", "summary_lines"]

_PROPERTY = "broker"


def note_kind(item: Any) -> None:
    """Note on a test which kind of broker it was given; notes cross test processes."""
    given = getattr(item, "funcargs", {})
    for kind in {given[name].kind for name in FIXTURES if name in given}:
        item.user_properties.append((_PROPERTY, kind))


def summary_lines(stats: dict[str, list[Any]]) -> list[str]:
    """Write the lines for a finished run's reports, by outcome.

    Examples
    --------
    >>> from types import SimpleNamespace as Report
    >>> ran = Report(when="call", user_properties=[("broker", "apache")])
    >>> missing = Report(longrepr=("f", 1, "Skipped: needs Apache Kafka: there is no java"))
    >>> summary_lines({"passed": [ran, ran], "skipped": [missing]})
    ['2 tests used Apache Kafka 4.1.1', '1 test skipped: needs Apache Kafka: there is no java']
    """
    kinds = {"apache": f"Apache Kafka {KAFKA_VERSION}", "tansu": "Tansu, not Apache Kafka"}
    ran = [report for name in ("passed", "failed") for report in stats.get(name, [])]
    lines = []
    for kind, title in kinds.items():
        count = sum((_PROPERTY, kind) in report.user_properties for report in ran)
        if count:
            lines.append(f"{_tests(count)} used {title}")
    reasons = [_reason(report) for report in stats.get("skipped", [])]
    for_want = sorted({reason for reason in reasons if reason.startswith(SKIPPED)})
    return lines + [f"{_tests(reasons.count(reason))} skipped: {reason}" for reason in for_want]


def _reason(report: Any) -> str:
    told = report.longrepr
    return str(told[2]).removeprefix("Skipped: ") if isinstance(told, tuple) else ""


def _tests(count: int) -> str:
    return f"{count} test" if count == 1 else f"{count} tests"
