"""One node of DOML: what happens to samples and to messages, in the node's own coordinates."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from anabranch.errors import ConfigurationError, ModelError
from anabranch.kernels.checks import LIMIT
from anabranch.kernels.doml import project
from anabranch.labels import named
from anabranch.learners.doml_frame import Coordinates
from anabranch.learners.doml_head import FixedHead, Head, ThresholdHead
from anabranch.learners.doml_head_nearest import NearestHead
from anabranch.learners.doml_labels import Labels
from anabranch.learners.doml_level import Level
from anabranch.learners.doml_mailbox import Mailbox, Totals
from anabranch.learners.doml_scaling import Scaling
from anabranch.learners.doml_settings import DomlSettings
from anabranch.learners.doml_solver import Solver
from anabranch.learners.doml_voice import Voice
from anabranch.learners.doml_watch import Watch
from anabranch.learners.doml_window_sums import pick_columns
from anabranch.learners.doml_wire import Telling, Wire
from anabranch.learners.states import saved_array, saved_value
from anabranch.protocol import Array, NodeId, State

__all__ = ["DomlNode"]

_Change = Callable[[Array], Array]
_TINY = 1e-12


def _make_head(settings: DomlSettings, labels: int) -> Head:
    """Give what turns scores into labels."""
    if settings.predictor == "linear":
        return FixedHead()
    if settings.predictor == "mlknn":
        return NearestHead(labels, settings.neighbours, settings.cache)
    return ThresholdHead(labels, each=settings.predictor == "per-label")


class DomlNode:
    """Samples, parameters, what is known of the neighbours, and what they are told."""

    def __init__(self, settings: DomlSettings) -> None:
        self.settings = settings
        self._prepare(settings.labels)
        self.wire = Wire(settings.features, settings.bias, self._solver.dtype)

    def _prepare(self, labels: tuple[str, ...]) -> None:
        """Make the working state for these labels."""
        own = self.settings
        self.labels = Labels(own.labels, labels)
        self._scaling, self._solver = Scaling(own), Solver(own, len(labels))
        self._head = _make_head(own, len(labels))
        self._placed = False
        self._level, self._mailbox, self._watch = Level(), Mailbox(), Watch()
        self._voice = Voice(own, self._solver, self._scaling, self.labels, self._level)
        self._steps, self._eta, self._degree = 0, 1.0, 0.0

    # Samples

    def _project(self, X: Array) -> tuple[Array, Array]:
        """Give rows in this node's coordinates, and their scores."""
        Z = self._scaling.frame.rows(X).astype(self._solver.dtype, copy=False)
        return Z, self._scores(Z)

    def _scores(self, Z: Array) -> Array:
        out = np.empty((len(Z), len(self.labels.names)))
        project(Z, self._solver.P, out)
        return out

    def _place(self) -> None:
        """Let the head have the samples where P moved since it had them."""
        if self._head.needs_points and not self._placed:
            Z, y = self._solver.window.rows
            self._head.place(self._scores(Z), y)
            self._placed = True

    def margins(self, X: Array) -> Array:
        """Give margins (n, q) of checked rows."""
        self._place()
        return self._head.margins(self._project(X)[1])

    def margins_then_learn(self, X: Array, y: Array) -> Array:
        """Give each checked row's margins, then take it in."""
        self._place()
        Z, scores = self._project(X)
        margins = self._head.margins_then_learn(scores, y)
        self._scaling.note(X)
        self._solver.add(Z, y)
        return margins

    def admit(self, labels: Sequence[str]) -> None:
        """Take up labels that are new."""
        columns = self.labels.admit(labels)
        if columns is None:
            return
        kept = np.flatnonzero(columns >= 0)
        self._head.grow(len(columns), kept[np.argsort(columns[kept])])
        self._solver.window.widen(columns)
        self._change(lambda P: pick_columns(P, columns), lambda b: pick_columns(b, columns))
        self._voice.teller.reset(len(columns))

    def _change(self, P: _Change, beta: _Change) -> None:
        self._solver.change(P, beta)
        self._mailbox.change(P, beta)
        self._placed = False

    def leave(self) -> None:
        """Forget the samples."""
        self._solver.clear()
        self._placed = False

    def react(self, samples: int, *, anew: bool) -> None:
        """Keep only the newest samples, and begin anew from them if so wanted."""
        self._solver.shrink(samples)
        if anew:
            self._solver.reset()
        self._placed = False

    # Exchange

    def message(self) -> dict[str, Array]:
        """Give the arrays told to all neighbours."""
        return self._voice.message(self._mailbox, self._steps)

    def combine(self, told: Sequence[Telling], weights: Mapping[NodeId, float]) -> None:
        """Take a round's checked messages in, and step."""
        for one in told:
            if one.labels is not None:
                self.admit(one.labels)
        frame = self._scaling.follow(told, weights)
        if frame is not None:
            self._move(frame)
        for one in told:
            self._mailbox.put(one, self._usable(one), self._steps)
        self._mailbox.keep(weights)
        self._follow_level(bool(told), len(weights))
        totals = self._mailbox.totals(self._level.told, self.settings.w)
        if totals is None or not self._scaling.fixed:
            self._degree = 0.0
            self._solver.alone()
        elif told:
            self._step(totals)
        else:
            self._solver.again(totals, self._eta)
        self._placed = False

    def _step(self, totals: Totals) -> None:
        self._degree = totals.degree
        damped, watch, delay = self.settings.damped, self._watch, self._voice.delay
        if damped:
            delay.observe(self._steps, [near.echo for near, _ in self._mailbox.usable])
            self._eta = delay.eta * watch.share
        self._solver.step(totals, self._eta)
        self._steps += 1
        with np.errstate(over="ignore", invalid="ignore"):
            P, beta = self._solver.P, self._solver.beta
            sizes = [float(np.linalg.norm(part)) for part in (beta, P)]
            watch.observe(sizes[0], self._mailbox.disagreement(P), sizes[1])
        if damped and not self._solver.fit:
            self._solver.reset()
            watch.alarm()

    def _follow_level(self, heard: bool, degree: int) -> None:
        if heard:
            wish = self._solver.mean_square / (2.0 * degree)
            others = [one.state["level"] for one in self._mailbox.known.values()]
            self._level.follow(wish, others)

    def _usable(self, told: Telling) -> Array | None:
        """Give a message's parameters in own coordinates and columns, where it can be done."""
        if told.pair is None:
            return None
        if self._scaling.consensus and told.key != self._scaling.frame.key:
            return None
        if told.state["names"] == self.labels.digest:
            return told.pair
        columns = self.labels.columns_of(told)
        if columns is None:
            return None
        return np.stack([pick_columns(part, columns) for part in told.pair])

    def _move(self, frame: Coordinates) -> None:
        """Have rows and parameters in other coordinates from now on."""
        old = self._scaling.frame
        self._solver.move(old, frame)
        self._change(lambda P: old.carry(P, frame), lambda b: old.carry_slope(b, frame))
        if self._scaling.fixed and self._degree:
            # Parameters of far narrower coordinates would take long to come down.
            self._mailbox.forget()
            self._solver.reset()
        self._scaling.move(frame)
        self._voice.teller.reset()

    def plain_parameters(self) -> Array:
        """Give P (d or d + 1, q) for fields as they are."""
        plain = Coordinates.plain(self.settings.features, bias=self.settings.bias)
        return self._scaling.frame.carry(self._solver.P, plain)

    def measures(self) -> dict[str, float]:
        """Give damping, delay, disagreement and the rest."""
        near = max(1, len(self._mailbox.usable))
        P = self._solver.P
        with np.errstate(over="ignore", invalid="ignore"):
            apart = self._mailbox.disagreement(P) / max(float(np.linalg.norm(P)), _TINY)
        stepping = {"disagreement": apart if np.isfinite(apart) else LIMIT} if self._degree else {}
        return {
            "damping": self._eta,
            "delay": max(0.0, self._voice.delay.delay),
            **stepping,
            "diverging": float(self._watch.diverging),
            "ridge": self._solver.ridge,
            "w": self._degree / near,
            "rows": float(self._solver.window.count),
            **self._head.measures(),
        }

    # States

    def model(self) -> State:
        """Give what predicts and goes on learning."""
        level = self._level
        return {
            "labels": list(self.labels.names),
            **self._solver.model(),
            **self._scaling.export(),
            **self._head.export(),
            "level": np.array([level.level, level.scale, level.told]),
        }

    def export(self) -> State:
        """Give the whole state."""
        solver = self._solver
        return {
            **self.model(),
            **self._scaling.strays(),
            **solver.export(),
            **self._mailbox.export(solver.P.shape, solver.dtype),
            **self._voice.export(),
            "watch": self._watch.export(),
            "steps": np.array([self._steps, self._eta, self._degree]),
        }

    def restore(self, state: State) -> None:
        """Take a state of `export` or `model`.

        Raises
        ------
        ModelError
            It is damaged.
        """
        try:
            labels = named(tuple(saved_value(state, "labels")))
        except (TypeError, ConfigurationError) as error:
            raise ModelError(f"damaged state: labels; {error}") from error
        first = self.settings.labels
        if labels[: len(first)] != first or list(labels[len(first) :]) != sorted(
            labels[len(first) :]
        ):
            raise ModelError("damaged state: labels are not those of the beginning, others sorted")
        self._prepare(labels)
        self._solver.restore(state)
        self._scaling.restore(state)
        self._head.restore(state)
        levels = saved_array(state, "level", (3,)).tolist()
        self._level.level, self._level.scale, self._level.told = levels
        if "steps" in state:
            self._restore_exchange(state)

    def _restore_exchange(self, state: State) -> None:
        self._mailbox = Mailbox.restore(state, self._solver.P.shape, self._solver.dtype)
        self._voice.restore(state)
        self._watch.restore(saved_array(state, "watch", (8,)))
        steps, self._eta, self._degree = saved_array(state, "steps", (3,)).tolist()
        self._steps = int(steps)
