"""DOML: sets of labels from streams, on a network of nodes that share parameters only."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

import numpy as np

from anabranch.learners.doml_fitted import DomlFitted
from anabranch.learners.doml_node import DomlNode
from anabranch.learners.doml_samples import checked_labels
from anabranch.learners.doml_settings import DomlSettings
from anabranch.learners.rows import checked_rows
from anabranch.learners.states import SCHEMA, from_config
from anabranch.protocol import Array, Message, NodeId, State, Task, freeze

__all__ = ["DOML"]


class DOML(DomlFitted):
    """Distributed online multi-label learning: a projection P of the fields onto the labels.

    Every node keeps its newest samples and steps, once a round, towards the P that fits the
    samples of all nodes best: min sum |X P - Y|^2 + ridge |P|^2, where the ridge pulls each
    node's bias to its own labels' frequencies instead of 0. Nodes tell each other P and
    a multiplier beta of the same size. "Distributed Online Multi-Label Learning with Privacy
    Protection in IoT", Eq. 9-12, is what `literal=True` gives. Added are a bias, z-scores, a
    ridge, an edge weight that grows with the samples, learned thresholds, and damping where
    messages are late, which make the paper's steps diverge.

    Parameters
    ----------
    features : int
        Fields d of a sample.
    ranks : int
        Ignored: labels are not ranks.
    labels : int or sequence of str
        Labels known from the beginning, by number or by name.
    names : sequence of str, optional
        Names of the fields, by whose order nodes compare parameters; "0", "1", ...
    literal : bool
        The paper's settings where no other is given: predictor "linear", w 1, ridge 0, no
        bias, no scaling, no damping.
    predictor : {"threshold", "linear", "per-label", "mlknn"}, optional
        What a score P'x must exceed: one threshold for all labels, learned from scores given
        before the truth was known, for the best micro F1; .5; or a learned one for each label.
        "mlknn": no threshold, but the labels of the nearest samples of the node's own, by P'x;
        a model restored from `model()` has no samples, and predicts at .5.
    w : float, optional
        Weight of an edge; follows the samples so that X'X/d_i has mean eigenvalues of about
        2. It decides how soon nodes agree, not on what.
    ridge : float, optional
        Of this node; the nodes' ridges add up. Three tenths of the mean eigenvalue of the node's
        X'X unless given.
    bias : bool, optional
        Whether there is an intercept; true.
    scaling : {"consensus", "none"}, optional
        z-scores of fields that are not only 0 and 1, by moments averaged over the network in
        `warm_up` rounds, during which a node learns alone; or fields as they are.
    warm_up : int
        Rounds of averaging moments, counted from the first with a sample in reach; only
        rounds count in which a neighbour is heard. Samples enter in the first half of them.
    damped : bool, optional
        Whether steps are shortened to 1/(1 + delay), the delay being observed.
    cache : int
        Newest samples that are kept and fitted; 0 for all. Bounded, the fit follows a drift;
        z-scores follow it roughly: a network's only widen after the warm-up, where a quarter of a
        node's samples lie beyond 4 deviations, a lone node's are of all samples.
    neighbours : int
        Nearest samples of "mlknn".
    form : {"auto", "primal", "dual", "sparse"}
        Form of the maintained inverse; by the shape of the samples.
    dtype : {"float64", "float32"}
        Of parameters, samples and messages.
    wire : {"dense", "changed", "low-rank", "half"}
        What a message tells: P and beta whole; rows that moved by more than `tolerance` of a
        row's mean square; the `rank` largest parts of what moved; what moved, as float16. The
        last three are whole at the beginning, every `refresh` messages, and for neighbours
        that missed what they need.
    tolerance, rank, refresh : float, int, int
        See `wire`.

    Raises
    ------
    ConfigurationError
        A setting is out of its range.

    Examples
    --------
    >>> node = DOML(features=2, labels=["warm", "wet"], predictor="linear")
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = (X > 0.0).astype(float)
    >>> node.learn(X, y)
    >>> node.combine(0, {}, {})
    >>> node.predict(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    array([[1., 0.],
           [0., 1.]])
    """

    kind: ClassVar[str] = "doml"
    task: ClassVar[Task] = "multilabel"
    rewires: ClassVar[bool] = True

    def __init__(
        self,
        features: int,
        ranks: int = 0,
        *,
        labels: int | Sequence[str] = 0,
        names: Sequence[str] | None = None,
        literal: bool = False,
        predictor: str | None = None,
        w: float | None = None,
        ridge: float | None = None,
        bias: bool | None = None,
        scaling: str | None = None,
        warm_up: int = 20,
        damped: bool | None = None,
        cache: int = 500,
        neighbours: int = 10,
        form: str = "auto",
        dtype: str = "float64",
        wire: str = "dense",
        tolerance: float = 1e-3,
        rank: int = 4,
        refresh: int = 100,
    ) -> None:
        self._setup(
            DomlSettings.of(
                features=features, labels=labels, names=names, literal=literal,
                predictor=predictor, w=w, ridge=ridge, bias=bias, scaling=scaling,
                warm_up=warm_up, damped=damped, cache=cache, neighbours=neighbours, form=form,
                dtype=dtype, wire=wire, tolerance=tolerance, rank=rank, refresh=refresh,
            )
        )  # fmt: skip

    def _setup(self, settings: DomlSettings) -> None:
        self.settings = settings
        self.features = settings.features
        self._order = np.argsort(np.array(settings.names), kind="stable")
        self._node = DomlNode(settings)

    def admit(self, labels: Sequence[str]) -> None:
        """Take up labels that are new, with parameters of 0; raises where a name is no name."""
        self._node.admit(labels)

    # Samples

    def _rows(self, X: Array) -> Array:
        return checked_rows(X, self.features)[:, self._order]

    def scores(self, X: Array) -> Array:
        """Give margins (n, q) of X (n, d): what P'x exceeds its threshold by.

        Raises
        ------
        SampleError
            X has the wrong shape or a value that is not finite.
        """
        return self._node.margins(self._rows(X))

    def predict(self, X: Array) -> Array:
        """Predict (n, q) of 0 and 1 from X (n, d).

        Raises
        ------
        SampleError
            As `scores`.
        """
        return (self.scores(X) > 0.0).astype(np.float64)

    def learn(self, X: Array, y: Array) -> None:
        """Take rows X (n, d) with labels y (n, q) in; parameters follow in `combine`.

        Raises
        ------
        SampleError
            A shape is wrong, a value not finite, a label not 0 or 1; nothing has changed then.
        """
        self.predict_then_learn_margins(X, y)

    def predict_then_learn(self, X: Array, y: Array) -> Array:
        """Predict each row, then take it in; (n, q).

        Raises
        ------
        SampleError
            As `learn`.
        """
        return self.predict_then_learn_margins(X, y)[0]

    def predict_then_learn_margins(self, X: Array, y: Array) -> tuple[Array, Array]:
        """As `predict_then_learn`, with the margins (n, q) before each row was learned.

        Raises
        ------
        SampleError
            As `learn`.
        """
        rows = self._rows(X)
        margins = self._node.margins_then_learn(
            rows, checked_labels(y, len(rows), len(self.labels))
        )
        return (margins > 0.0).astype(np.float64), margins

    # Exchange

    def acts(self, round: int) -> bool:
        """Send in every round."""
        return True

    def messages(self, round: int) -> Sequence[Message]:
        """Send P and beta to all; moments while warming up; nothing that is not finite."""
        arrays = self._node.message()
        return (Message({name: freeze(a) for name, a in arrays.items()}),) if arrays else ()

    def check_message(self, message: Message) -> None:
        """Raise `MessageError` if `combine` could not take a message."""
        self._node.wire.read(message)

    def combine(
        self, round: int, inbox: Mapping[NodeId, Message], weights: Mapping[NodeId, float]
    ) -> None:
        """Step on the last heard of each neighbour; solve alone where there is none.

        A silent neighbour counts with its last value, one no longer in `weights` not at all.
        In a round in which nobody is heard the last step takes new samples in. `weights` are
        for averages of moments; edges have the weight `w`.

        Raises
        ------
        MessageError
            A message cannot be accepted; nothing has changed then.
        """
        self._node.combine(self._node.wire.read_all(inbox, weights), weights)

    def leave(self) -> None:
        """Forget the samples, so that the others find their own optimum; new ones count again."""
        self._node.leave()

    @property
    def reactions(self) -> tuple[str, ...]:
        """Drop old samples, and begin anew from the others; not where none are kept."""
        return ("shrink-window", "refit") if self.settings.cache else ()

    def react(self, policy: str, samples: int) -> None:
        """Keep only the newest samples, so many; "refit" also forgets the parameters."""
        self._node.react(samples, anew=policy == "refit")

    # States

    def model(self) -> State:
        """Give what predicts and can go on learning.

        Samples stay out, and X'X with them: of few samples it would tell them. P stands for
        the samples behind it until as many new ones are there.
        """
        return self._header() | self._node.model()

    def export(self) -> State:
        """Give the whole state, cached samples included."""
        return self._header() | self._node.export()

    def _header(self) -> State:
        return {"schema": SCHEMA, "kind": self.kind, "config": self.settings.as_dict()}

    @classmethod
    def restore(cls, state: State) -> Self:
        """Build a learner from `export` or `model`.

        Raises
        ------
        ModelError
            The schema is newer than this version reads, or the state is damaged.
        """
        learner = cls.__new__(cls)
        from_config(state, cls.kind, lambda config: learner._setup(DomlSettings.restore(config)))
        learner._node.restore(state)
        return learner
