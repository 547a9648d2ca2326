"""Reports: one self-contained HTML page about one run, or comparing several."""

from pipelines.report.write import write_report

__all__ = ["write_report"]
