"""Online NPSVOR and what it is given: huge values, scipy matrices, complex numbers."""

import pickle
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from anabranch.errors import SampleError
from anabranch.learners import DSVOR, NPSVOR
from anabranch.learners.sparse_samples import checked_sparse
from anabranch.sparse import SparseRows

FEATURES, RANKS, ROWS = 6, 4, 100
X = np.random.default_rng(0).normal(size=(ROWS, FEATURES))
Y = 1.0 + np.arange(ROWS) % RANKS


@pytest.mark.parametrize("wire", ["single", "half", "double"])
@pytest.mark.parametrize("size", [1e8, 1e100])
def test_states_and_messages_of_huge_values_are_taken_back(wire: str, size: float) -> None:
    huge = np.clip(X * size, -1e100, 1e100)
    one, other = NPSVOR(FEATURES, RANKS, wire=wire), NPSVOR(FEATURES, RANKS, wire=wire)
    told = 0
    for t in range(4):
        part = slice(25 * t, 25 * t + 25)
        one.combine(t, {}, {"other": 1.0})
        one.learn(huge[part], Y[part])
        for message in one.messages(t):
            other.combine(t, {"one": message}, {"one": 1.0})
            told += len(message.arrays["heads"])
    assert told > 1
    assert one.export()["squares"].max() >= 1e30 or wire == "half"
    for node in (one, other):
        state = node.export()
        np.testing.assert_equal(pickle.loads(pickle.dumps(node)).export(), state)
        np.testing.assert_equal(NPSVOR.restore(node.model()).model(), node.model())


def test_a_node_alone_of_huge_values_can_be_restored() -> None:
    lone = NPSVOR(FEATURES, RANKS)
    lone.learn(X * 1e8, Y)
    np.testing.assert_equal(NPSVOR.restore(lone.export()).export(), lone.export())


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_scipy_matrices_are_rows(kind: Any) -> None:
    rows = np.where(X > 0.5, X, 0.0)
    one, other = (NPSVOR(FEATURES, RANKS, names=list("fedcba")) for _ in range(2))
    np.testing.assert_array_equal(
        one.predict_then_learn(kind(rows), Y), other.predict_then_learn(rows, Y)
    )
    np.testing.assert_array_equal(one.scores(kind(rows)), other.scores(rows))


@pytest.mark.parametrize("shape", [(2, FEATURES - 1), (FEATURES,)])
def test_scipy_matrices_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(SampleError, match=r"wrong shape: X has \(.*allowed: \(n, 6\)"):
        NPSVOR(FEATURES, RANKS).predict(sparse.coo_array(np.ones(shape)))


def test_scipy_matrices_of_bad_numbers_are_refused() -> None:
    with pytest.raises(SampleError, match=r"not finite: X\[1, 1\]=nan"):
        checked_sparse(sparse.csr_array(np.diag([1.0, np.nan])), 2)
    outside = sparse.csr_array(np.eye(2))
    outside.indices[1] = 7
    with pytest.raises(SampleError, match="X has the index 7; allowed: 0 to 1"):
        checked_sparse(outside, 2)


def test_dense_learners_say_what_to_do_with_scipy_matrices() -> None:
    with pytest.raises(SampleError, match=r"not dense: X is a scipy matrix; allowed: X\.toarray"):
        DSVOR(FEATURES, RANKS).predict(sparse.csr_array(X))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "given", [X * 1j, sparse.csr_array(X * 1j), SparseRows.of(X * 1j, complex), [[1j] * FEATURES]]
)
def test_complex_numbers_are_refused(given: Any) -> None:
    with pytest.raises(SampleError, match="not real: X holds complex numbers; allowed: real ones"):
        NPSVOR(FEATURES, RANKS).predict(given)
    with pytest.raises(SampleError, match="not real: y holds complex numbers"):
        NPSVOR(FEATURES, RANKS).learn(X, Y * 1j)
