# mypy: disallow-untyped-calls=False
# (River publishes types, but not for its metrics)
"""R squared that pays for every feature, as a metric of River's."""

from river import metrics

__all__ = ["AdjustedR2", "adjusted"]


def adjusted(r2: float, count: float, features: float) -> float:
    """Give 1 - (1 - R^2) (n - 1)/(n - p - 1); R^2 itself where n <= p + 1.

    >>> adjusted(0.5, 21, 10)
    0.0
    """
    left = count - features - 1
    return 1.0 - (1.0 - r2) * (count - 1) / left if left > 0 else r2


class AdjustedR2(metrics.R2):
    """River's R2, adjusted for the number of features, which River does not have.

    Parameters
    ----------
    features : number of features p of the model

    Examples
    --------
    >>> metric = AdjustedR2(features=1)
    >>> for truth, predicted in [(3, 2.5), (-0.5, 0.0), (2, 2), (7, 8)]:
    ...     metric.update(truth, predicted)
    >>> metric
    AdjustedR2: 0.922912
    """

    _fmt = ".6f"

    def __init__(self, features: int = 0) -> None:
        super().__init__()
        self.features = features

    def get(self) -> float:
        """Give it; 0 before two samples were seen."""
        return adjusted(float(super().get()), self._y_var.mean.n, self.features)
