"""Mean absolute error between ranks as a metric of River's classifiers."""

from river.metrics.base import MultiClassMetric

__all__ = ["RankMAE"]


class RankMAE(MultiClassMetric):
    """Mean absolute difference of true and predicted rank.

    River's own MAE is for regressors, and its evaluation refuses it with a classifier; this is
    the same number, with labels that are numbers.

    Parameters
    ----------
    cm : a confusion matrix to share with other metrics; its own by default

    Examples
    --------
    >>> metric = RankMAE()
    >>> for truth, predicted in zip([1, 2, 3, 3], [1, 3, 1, 3]):
    ...     metric.update(truth, predicted)
    >>> metric
    RankMAE: 0.75
    """

    _fmt = ".6f"

    @property
    def bigger_is_better(self) -> bool:
        """Small is good."""
        return False

    def get(self) -> float:
        """Give the mean over everything seen, 0 before anything was."""
        if not self.cm.total_weight:
            return 0.0
        total = sum(abs(i - j) * n for i, row in self.cm.data.items() for j, n in row.items())
        return float(total / self.cm.total_weight)
