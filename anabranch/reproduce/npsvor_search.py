"""What an error should cost: C by cross-validation, the folds in threads of their own."""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from anabranch.protocol import Array
from anabranch.reproduce.npsvor_data import RankSplit, errors_of
from anabranch.reproduce.npsvor_methods import ranks_by
from anabranch.reproduce.npsvor_paper import Errors

__all__ = ["best", "fitted", "scored", "searched"]

Maker = Callable[[], Any]


def searched(
    make: Maker, split: RankSplit, grid: Sequence[float], *, folds: int = 5, threads: int = 1
) -> list[float]:
    """Give the mean absolute error of each C over rows that a fold did not learn.

    Parameters
    ----------
    make : gives an estimator with a parameter C
    grid : values of C
    folds : parts of the rows to learn, at random; each is left out once
    """
    places = np.random.default_rng(0).permutation(len(split.y)) % folds
    with _unfinished_is_fine(), ThreadPoolExecutor(threads) as pool:
        jobs = [pool.submit(_fold, make, split, places == fold, grid) for fold in range(folds)]
        wrong = np.sum([job.result() for job in jobs], axis=0)
    return [float(total) / len(split.y) for total in wrong]


def _fold(make: Maker, split: RankSplit, left_out: Array, grid: Sequence[float]) -> list[float]:
    """Give the sum of absolute errors over the rows left out, for each C.

    An estimator with a warm start begins where the C before ended.
    """
    X, y, held, truth = split.X[~left_out], split.y[~left_out], split.X[left_out], split.y[left_out]
    model, found = make(), []
    for C in grid:
        model.set_params(C=C).fit(X, y)
        found.append(float(np.abs(ranks_by(model, held, split.ranks) - truth).sum()))
    return found


def best(grid: Sequence[float], errors: Sequence[float]) -> float:
    """Give the C of the least error; the smallest of those that share it.

    >>> best([0.1, 1.0, 10.0], [0.5, 0.4, 0.4])
    1.0
    """
    return grid[int(np.argmin(errors))]


def fitted(make: Maker, split: RankSplit, C: float) -> tuple[Any, float]:
    """Fit to all rows to learn; gives the estimator, and processor seconds of this thread."""
    model = make().set_params(C=C)
    with _unfinished_is_fine():
        begin = time.thread_time()
        model.fit(split.X, split.y)
    return model, time.thread_time() - begin


def scored(model: Any, split: RankSplit) -> Errors:
    """Give the errors over the rows to test."""
    return errors_of(ranks_by(model, split.held, split.ranks), split.truth)


@contextmanager
def _unfinished_is_fine() -> Iterator[None]:
    """Let solvers stop at their limit of passes, as the larger C of a grid make them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
