"""What a DOML node has fitted, and numbers about it."""

import numpy as np

from anabranch.learners.doml_node import DomlNode
from anabranch.learners.doml_settings import DomlSettings
from anabranch.protocol import Array

__all__ = ["DomlFitted"]


class DomlFitted:
    """The part of `DOML` that tells of its parameters; changes nothing.

    >>> from anabranch.learners import make
    >>> node = make("doml", 2, 0, labels=["warm"])
    >>> node.labels, node.coefficients.tolist(), node.intercepts.tolist()
    (('warm',), [[0.0], [0.0]], [0.0])
    """

    settings: DomlSettings
    features: int
    _order: Array
    _node: DomlNode

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the columns of y: those of the beginning, then others, sorted."""
        return self._node.labels.names

    def parameters(self) -> Array:
        """Give P as one flat vector, for fields as they are in sorted order, bias last."""
        return self._node.plain_parameters().ravel()

    @property
    def coefficients(self) -> Array:
        """P (d, q) for fields as they are, in the order of the columns."""
        out = np.empty((self.features, len(self.labels)))
        out[self._order] = self._node.plain_parameters()[: self.features]
        return out

    @property
    def intercepts(self) -> Array:
        """Scores (q,) where all fields are 0."""
        parameters = self._node.plain_parameters()
        return parameters[-1] if self.settings.bias else np.zeros(len(self.labels))

    @property
    def lacking(self) -> str | None:
        """What predictions lack, where `predictor` asks for samples and there are none."""
        if self.settings.predictor != "mlknn" or self.measures()["rows"]:
            return None
        return "no sample is in this model: it predicts at .5, not by learner.predictor = 'mlknn'"

    def measures(self) -> dict[str, float]:
        """Give numbers about the node.

        "damping" is the share of a step that is made, "delay" in steps, "disagreement" with
        the neighbours relative to |P|, once there are steps, "diverging" 0 or 1; "ridge", "w",
        "rows" in the cache, and the "threshold" where there is one for all labels.
        """
        return self._node.measures()
