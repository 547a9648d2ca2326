"""Which tally and which scores belong to which task: one registry."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from anabranch.errors import ConfigurationError, ModelError, nearest
from anabranch.evaluation.label_scores import multilabel_scores
from anabranch.evaluation.multilabel import MultilabelTally
from anabranch.evaluation.ordinal import OrdinalTally, ordinal_scores
from anabranch.evaluation.regression import RegressionTally, regression_scores
from anabranch.evaluation.rings import with_window
from anabranch.protocol import Array, State, Task

__all__ = [
    "EVALUATIONS",
    "Evaluation",
    "Tally",
    "Totals",
    "add_totals",
    "restore_tally",
    "scores",
    "tally_for",
]

Totals = Mapping[str, Array]
"""What scores are computed from: arrays that may be summed between nodes."""


class Tally(Protocol):
    """What one node (or companion) remembers of its predictions in order to score them."""

    task: ClassVar[Task]

    def add(self, y: Array, predicted: Array) -> None:
        """Take a block of truths and predictions, oldest first."""
        ...

    def totals(self) -> dict[str, Array]:
        """Give the sums over everything, summable between nodes."""
        ...

    def window_totals(self) -> dict[str, Array]:
        """Give the sums over the newest `window` samples of this tally."""
        ...

    def export(self) -> State:
        """Give the whole state, with the task under "kind"."""
        ...


@dataclass(frozen=True)
class Evaluation:
    """How one task is scored.

    Attributes
    ----------
    tally : (ranks, features, window, labels) -> an empty tally, using what its task has
    restore : the tally of an exported state
    scores : totals -> {metric: value}
    bigger_is_better : {metric: whether a high value is good}, the first being the headline
    """

    tally: Callable[[int, int, int, Sequence[str]], Tally]
    restore: Callable[[State], Tally]
    scores: Callable[[Totals], dict[str, float]]
    bigger_is_better: Mapping[str, bool]


EVALUATIONS: dict[str, Evaluation] = {
    "ordinal": Evaluation(
        tally=lambda ranks, features, window, labels: OrdinalTally(ranks, window),
        restore=OrdinalTally.restore,
        scores=ordinal_scores,
        bigger_is_better={"MAE": False, "MSE": False, "Accuracy": True, "QuadraticKappa": True},
    ),
    "regression": Evaluation(
        tally=lambda ranks, features, window, labels: RegressionTally(features, window),
        restore=RegressionTally.restore,
        scores=regression_scores,
        bigger_is_better={"RMSE": False, "MAE": False, "R2": True, "AdjustedR2": True},
    ),
    "multilabel": Evaluation(
        tally=lambda ranks, features, window, labels: MultilabelTally(labels, window),
        restore=MultilabelTally.restore,
        scores=multilabel_scores,
        bigger_is_better={
            "HammingLoss": False,
            "ExactMatch": True,
            "MicroF1": True,
            "MacroF1": True,
            "SampleF1": True,
            "Jaccard": True,
        },
    ),
}


def _evaluation(task: str) -> Evaluation:
    if task not in EVALUATIONS:
        raise ConfigurationError(
            f"task = {task!r} has no evaluation{nearest(task, list(EVALUATIONS))}"
        )
    return EVALUATIONS[task]


def tally_for(
    task: str,
    *,
    ranks: int = 0,
    features: int = 0,
    window: int = 0,
    labels: Sequence[str] = (),
) -> Tally:
    """Make an empty tally.

    Parameters
    ----------
    task : a key of `EVALUATIONS`
    ranks : number of ranks, for tasks that have them
    features : number of features, for scores that count them
    window : how many of the newest samples `window_totals` covers; 0 for no window
    labels : names of the labels known from the beginning, for tasks that have them

    Raises
    ------
    ConfigurationError
        The task is unknown, or `ranks`, `window` or `labels` is out of range.

    Examples
    --------
    >>> tally = tally_for("ordinal", ranks=2, window=100)
    >>> tally.add(np.array([1, 2]), np.array([1, 1]))
    >>> scores("ordinal", tally.totals())["MAE"]
    0.5
    """
    return _evaluation(task).tally(ranks, features, window, labels)


def restore_tally(state: State, window: int | None = None) -> Tally:
    """Build the tally of an exported state, whatever its task.

    Parameters
    ----------
    window : length of the window from now on; as it was unless given. A shorter one has the
        newest samples of the old, a longer one begins with all of them

    Raises
    ------
    ModelError
        The kind is unknown, the state is newer than this version reads, or damaged.
    """
    kind = str(state.get("kind"))
    if kind not in EVALUATIONS:
        raise ModelError(f"kind = {kind!r} of a tally is unknown{nearest(kind, list(EVALUATIONS))}")
    tally = EVALUATIONS[kind].restore(state)
    whole = tally.export()
    if window is None or window == len(whole["ring"]):
        return tally
    return EVALUATIONS[kind].restore(with_window(whole, window))


def add_totals(parts: Iterable[Totals]) -> dict[str, Array]:
    """Sum the totals of several nodes; without any, the result is empty.

    >>> add_totals([{"counts": np.eye(2)}, {"counts": np.ones((2, 2))}])["counts"].tolist()
    [[2.0, 1.0], [1.0, 2.0]]
    """
    total: dict[str, Array] = {}
    for part in parts:
        for name, values in part.items():
            total[name] = total[name] + values if name in total else np.array(values)
    return total


def scores(task: str, totals: Totals) -> dict[str, float]:
    """Score totals by the River metrics of a task.

    On one stream the values equal River's per-sample updates to rounding (1e-12).

    Raises
    ------
    ConfigurationError
        The task is unknown.
    """
    return _evaluation(task).scores(totals)
