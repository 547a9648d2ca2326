"""A node's samples: predicted, scored, then learned, by its learner and its companion."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from anabranch.drift import NodeWatch
from anabranch.errors import SampleError
from anabranch.evaluation import restore_tally, tally_for
from anabranch.label_rows import admitted, columns_of, paired
from anabranch.labels import aligned
from anabranch.protocol import Array, Learner, Margins, NodeId
from anabranch.stream import DeadLetter, Predictions, Share, features_text, source_of
from operators.node_plan import NodePlan

__all__ = ["Made", "RowEvent", "Samples", "refused"]

RowEvent = Predictions | DeadLetter


class Made(NamedTuple):
    """What was predicted for some rows: by the learner, with its margins, and its companion."""

    predicted: Array
    local: Array | None = None
    margins: Array | None = None

    def rows(self, rows: Array) -> "Made":
        """Give some rows: an array of indices or truth values."""
        return Made(*(None if array is None else array[rows] for array in self))  # type: ignore[arg-type]


class Samples:
    """A node's learner, its companion that hears nobody, their scores, and the rows held back.

    Parameters
    ----------
    plan : the job's settings
    node : this node's name
    """

    def __init__(self, plan: NodePlan, node: NodeId) -> None:
        self.plan = plan
        self.node = node
        self.rows = 0
        self.kept: list[Share] = []
        self.lone = node in plan.lone
        self._adopt(plan.learner(node))
        self.watch = NodeWatch(plan.drift, node) if plan.drift and not self.lone else None
        self.local = plan.make(node) if plan.local and plan.has_neighbours(node) else None
        # A lone companion's window covers as much as all nodes' together.
        window = plan.window * (len(plan.founders) if self.lone else 1)
        self.tally = self._tally(window)
        self.local_tally = self._tally(plan.window)

    def _tally(self, window: int) -> Any:
        plan = self.plan
        return tally_for(
            plan.task,
            ranks=plan.ranks,
            features=plan.features,
            window=window,
            labels=plan.labels,
        )

    def _adopt(self, learner: Learner) -> None:
        self.learner = learner
        wanted = self.plan.margins and isinstance(learner, Margins)
        self._sure: Margins | None = learner if wanted else None  # type: ignore[assignment]

    def take(self, round: int, share: Share) -> list[RowEvent]:
        """Predict, score, then learn the rows of a share, but for those held back."""
        if share.held is not None:
            if share.held.any():
                self.kept.append(share.rows(share.held))
            share = share.rows(~share.held)
        events = self._take(round, share) if len(share.y) else []
        # The sample's own node has told; a lone companion would tell it again.
        return [] if self.lone else events

    def _take(self, round: int, share: Share) -> list[RowEvent]:
        return self._whole(round, share)

    def _whole(self, round: int, share: Share) -> list[RowEvent]:
        try:
            own, made = self._predict_then_learn(share)
        except SampleError as error:
            return self._one_by_one(self._whole, round, share, error)
        self._learned(share)
        return self._told(round, own, made)

    def _one_by_one(
        self,
        act: Callable[[int, Share], list[RowEvent]],
        round: int,
        share: Share,
        error: SampleError,
    ) -> list[RowEvent]:
        """Act on each row of a refused share alone, which tells the bad ones from the good."""
        if len(share.y) == 1:
            return [refused(share, error)]
        one_each = (share.rows(slice(i, i + 1)) for i in range(len(share.y)))
        return [event for single in one_each for event in act(round, single)]

    def _predict_then_learn(self, share: Share) -> tuple[Share, Made]:
        """Give the share in the learner's columns, and what was predicted."""
        if self.plan.batch:
            self._learn(share)
            return share, Made(share.y)
        own, margins = self._admitted(self.learner, share), None
        if self._sure is not None:
            predicted, margins = self._sure.predict_then_learn_margins(own.X, own.y)
        else:
            predicted = self.learner.predict_then_learn(own.X, own.y)
        self._scored(own, predicted)
        if self.local is not None:
            same = self._admitted(self.local, share)
            guess = self.local.predict_then_learn(same.X, same.y)
            self._count(self.local_tally, self.local, same, guess)
        return own, Made(predicted, None, margins)

    def _scored(self, share: Share, predicted: Array) -> None:
        self._count(self.tally, self.learner, share, predicted)
        if self.watch is not None:
            self.watch.see(*self._paired(self.learner, share, predicted)[:2])

    def _learn(self, share: Share) -> None:
        self.learner.learn(share.X, self._admitted(self.learner, share).y)
        if self.local is not None:
            self.local.learn(share.X, self._admitted(self.local, share).y)

    def _columns(self, share: Share) -> tuple[str, ...] | None:
        """Give the names of the columns of a share's y; None where it has one number a row."""
        if self.plan.task != "multilabel":
            return None
        return self.plan.labels if share.labels is None else share.labels

    def _admitted(self, learner: Learner, share: Share) -> Share:
        """Give a share in a learner's columns, which takes up labels that are new to it."""
        y = admitted(learner, share.y, self._columns(share))
        return share if y is share.y else replace(share, y=y, labels=columns_of(learner, None))

    def _paired(
        self, learner: Learner, share: Share, predicted: Array
    ) -> tuple[Array, Array, tuple[str, ...] | None]:
        """Give a share's y and what was predicted for it the same columns, and their names."""
        names = self._columns(share)
        if names is None:
            return share.y, predicted, None
        return paired(share.y, names, predicted, columns_of(learner, names))

    def _count(self, tally: Any, learner: Learner, share: Share, predicted: Array) -> None:
        y, predicted, names = self._paired(learner, share, predicted)
        tally.add(y, predicted, *(() if names is None else (names,)))

    def _learned(self, share: Share) -> None:
        self.rows += len(share.y)
        if self.plan.batch:
            self.kept.append(share)

    def _margins(self, X: Array) -> Array | None:
        return None if self._sure is None else self._sure.scores(X)

    def _told(self, round: int, share: Share, made: Made) -> list[RowEvent]:
        """Give the predictions for a share, where they are wanted; a batch job makes none."""
        if not self.plan.predictions or self.plan.batch:
            return []
        return [self._predictions(round, share, made)]

    def _predictions(self, round: int, share: Share, made: Made) -> Predictions:
        y, predicted, names = self._paired(self.learner, share, made.predicted)
        margins = made.margins
        if margins is not None and names is not None:
            margins = aligned(margins, columns_of(self.learner, names), names)
        return Predictions(
            self.node, round, share.partition, share.positions, y, predicted,
            margins=margins, times=share.times,
            ids=None if share.apart is None else share.apart.ids, labels=names,
        )  # fmt: skip

    def last(self, round: int) -> list[RowEvent]:
        """Give what is told when the node has done: what it predicts for the rows held back."""
        if not self.plan.predictions or self.lone:
            return []
        events: list[RowEvent] = []
        for share in (s for s in self.kept if s.held is not None):
            made = Made(self.learner.predict(share.X), None, self._margins(share.X))
            events.append(replace(self._predictions(round, share, made), held=True))
        return events

    def score(self, learner: Learner, *, held: bool) -> Any:
        """Score a learner on the rows held back, or on the shard; None where there are none."""
        shares = [share for share in self.kept if (share.held is not None) == held]
        if not shares:
            return None
        tally = self._tally(1)
        for share in shares:
            self._count(tally, learner, share, learner.predict(share.X))
        return tally.totals()

    def export(self) -> dict[str, Any]:
        """Give the state for a snapshot, but for `rows`; nothing in it changes afterwards."""
        return {
            "learner": self.learner.export(),
            "local": None if self.local is None else self.local.export(),
            "tally": self.tally.export(),
            "local_tally": self.local_tally.export(),
            "kept": list(self.kept),
            "drift": None if self.watch is None else self.watch.export(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `export` gave."""
        self._adopt(self.plan.restored(self.node, state["learner"]))
        if self.local is not None and state["local"] is not None:
            self.local = self.plan.restore(state["local"])
        # Fresh ones have the windows that the job asks for now.
        self.tally = restore_tally(state["tally"], self.tally.window)
        self.local_tally = restore_tally(state["local_tally"], self.local_tally.window)
        self.kept = list(state["kept"])
        if self.watch is not None and state["drift"] is not None:
            self.watch.restore(state["drift"])


def refused(share: Share, error: SampleError) -> DeadLetter:
    """Give the dead letter of a share's only row, which a learner refused."""
    time = None if share.times is None else int(share.times[0])
    where = (source_of(share.partition), share.partition, int(share.positions[0]))
    return DeadLetter("refused", str(error), *where, features_text(share.X, 0), time=time)
