"""Quadratic weighted kappa as a River metric."""

from river.metrics.base import MultiClassMetric

__all__ = ["QuadraticKappa"]


class QuadraticKappa(MultiClassMetric):
    """Cohen's kappa with squared distances between ranks as weights.

    kappa = 1 - sum (i - j)^2 O_ij / sum (i - j)^2 E_ij, where O counts truth i predicted as j
    and E = (row sums) (column sums)' / n. Labels are numbers, and their values give the
    distances: a rank that never occurs still keeps its neighbours apart, as
    `sklearn.metrics.cohen_kappa_score(labels=range(1, Q + 1), weights="quadratic")` does.

    Where kappa is not defined (nothing seen yet, or one single rank both true and predicted
    throughout) the value is 0, as in River's `CohenKappa`; scikit-learn gives NaN there.

    Parameters
    ----------
    cm : a confusion matrix to share with other metrics; its own by default

    Examples
    --------
    >>> from river import utils
    >>> metric = QuadraticKappa()
    >>> for truth, predicted in zip([1, 2, 3, 3], [1, 2, 2, 3]):
    ...     metric.update(truth, predicted)
    >>> metric
    QuadraticKappa: 0.8
    >>> rolling = utils.Rolling(QuadraticKappa, window_size=3)
    >>> for truth, predicted in zip([3, 1, 2, 3], [1, 1, 2, 3]):
    ...     rolling.update(truth, predicted)
    >>> rolling.get()
    1.0

    References
    ----------
    [^1]: J. Cohen (1968). Weighted kappa: nominal scale agreement with provision for scaled
    disagreement or partial credit. Psychological Bulletin 70(4), 213-220.
    """

    _fmt = ".6f"

    def get(self) -> float:
        """Give kappa of everything seen, 0 where it is not defined."""
        rows = [(i, n) for i, n in self.cm.sum_row.items() if n]
        columns = [(j, n) for j, n in self.cm.sum_col.items() if n]
        expected = sum((i - j) ** 2 * n * m for i, n in rows for j, m in columns)
        if expected == 0:
            return 0.0
        observed = sum((i - j) ** 2 * n for i, _ in rows for j, n in self.cm.data[i].items() if n)
        return float(1.0 - self.cm.total_weight * observed / expected)
