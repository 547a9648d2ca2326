"""How each learner of a run is called and drawn: the network, its companions, baselines."""

from collections.abc import Collection
from dataclasses import dataclass

from pipelines.report.rows import LEARNERS
from pipelines.report.runs import Run

__all__ = ["DASHES", "Style", "named_styles", "styles"]

DASHES = {"cooperative": "solid", "local": "dashed", "pooled": "dotdash"}
_BASELINE_DASH = "dotted"
_BASELINE_COLOURS = 4


@dataclass(frozen=True)
class Style:
    """A learner on the page: its name, the CSS variable of its colour, its dash."""

    name: str
    ink: str
    dash: str


def styles(run: Run) -> dict[str, Style]:
    """Give the style of every learner of a run, in the order of the page's tables."""
    return named_styles(run.network)


def named_styles(learners: Collection[str]) -> dict[str, Style]:
    """Give the style of every learner, by name, in the order of the page's tables."""
    known = {
        name: Style(LEARNERS[name], f"--{name}", DASHES[name])
        for name in LEARNERS
        if name in learners
    }
    others = sorted(name for name in learners if name not in LEARNERS)
    baselines = {
        name: Style(name, f"--baseline-{i % _BASELINE_COLOURS}", _BASELINE_DASH)
        for i, name in enumerate(others)
    }
    return known | baselines
