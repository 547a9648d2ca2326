"""Support vector ordinal regression with explicit constraints, as a scikit-learn classifier."""

from anabranch.sklearn_face.svor import KernelRanker

__all__ = ["SVOREX"]


class SVOREX(KernelRanker):
    """Ordinal regression by one function and thresholds that are told to be in order.

    min |w|^2/2 + C sum_i sum_j max(0, 1 - s_ij (w'phi(x_i) - b_j)) with b_1 <= ... <= b_{p-1},
    where j are the one or two thresholds beside the rank of row i, and s_ij = +1 iff that rank is
    above j. The prediction is 1 + the number of j with f(x) > b_j. A rank without rows has no
    width. `SVORIM` lets every row bear on every threshold instead.

    Parameters
    ----------
    C : what an error costs, at each threshold
    kernel : "gaussian", "laplacian", "polynomial", "linear", or "precomputed": X is then
        (n, n) in `fit` and (m, n) later
    gamma : factor of the distance, or of x'z in polynomials; "auto" is 1/d, "scale" is
        1/(d var X)
    degree, coef0 : of polynomials, (gamma x'z + coef0)^degree
    tol : stops when no threshold is farther from optimal, in units of the margin; from 1e-4 on,
        rows of the kernel are kept in single precision, as libsvm keeps them
    max_iter : pairs of variables moved at most; -1 for no bound
    shrinking : whether rows that are sure to stay are left out for a while
    cache_size : MB for rows of the kernel
    classes : all labels from the lowest to the highest; None: those in the data, sorted

    Attributes
    ----------
    classes_ : labels, in order
    support_, dual_coef_ : rows with beta other than 0, and beta, with f = sum beta k(x_i, .)
    support_vectors_ : these rows; empty for a precomputed kernel
    thresholds_ : (p - 1,), in order; that of a rank beyond all data lies beyond all of f
    objective_, dual_objective_, gap_ : values, and their difference relative to the objective
    n_iter_ : pairs moved

    References
    ----------
    Chu and Keerthi, Support vector ordinal regression, Neural Computation 19 (2007).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[-3.0], [-2.0], [0.0], [0.5], [2.0], [3.0]])
    >>> model = SVOREX(C=10.0, gamma=0.1).fit(X, [1, 1, 2, 2, 3, 3])
    >>> model.predict([[-4.0], [0.2], [4.0]]).tolist(), bool(model.gap_ < 0.01)
    ([1, 2, 3], True)
    """

    _explicit = True
