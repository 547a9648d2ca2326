"""Support vector ordinal regression with implicit constraints, as a scikit-learn classifier."""

from anabranch.sklearn_face.svor import KernelRanker

__all__ = ["SVORIM"]


class SVORIM(KernelRanker):
    """Ordinal regression by one function and a threshold between every two ranks, kernelised.

    min |w|^2/2 + C sum_i sum_{j<p} max(0, 1 - s_ij (w'phi(x_i) - b_j)), where s_ij = +1 iff the
    rank of row i is above j; every row bears on every threshold, which keeps them in order. The
    prediction is 1 + the number of j with f(x) > b_j. It is the centralised form of dSVOR.
    X is taken as it is: with fields as large as timestamps the solver is slow, or stops short of
    its tolerance with a warning; scale them first.

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
    >>> model = SVORIM(C=10.0, gamma=0.1).fit(X, [1, 1, 2, 2, 3, 3])
    >>> model.predict([[-4.0], [0.2], [4.0]]).tolist(), bool(model.gap_ < 0.01)
    ([1, 2, 3], True)
    """

    _explicit = False
