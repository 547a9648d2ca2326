"""Sparse rows are the dense rows they stand for, whatever is done to them."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from anabranch.late_labels import WaitingSample, rows_of
from anabranch.placement import split
from anabranch.sparse import SparseRows, freeze_rows, join_rows, take_rows
from anabranch.stream import Block, Share, features_text

tables = arrays(np.float64, (5, 4), elements=st.sampled_from([0.0, 0.0, 1.5, -2.0]))


def same(rows: SparseRows, dense: np.ndarray) -> None:
    assert rows.shape == dense.shape
    np.testing.assert_array_equal(rows.toarray(), dense)
    assert rows.indptr[0] == 0
    assert rows.indices.dtype == np.uint32


@given(
    tables,
    st.slices(5),
    st.lists(st.integers(0, 4)),
    st.lists(st.booleans(), min_size=5, max_size=5),
)
def test_rows_are_chosen_as_of_an_array(table, part, order, mask) -> None:
    rows = SparseRows.of(table)
    same(rows[part], table[part])
    same(rows[np.array(order, np.int64)], table[np.array(order, np.int64)])
    same(take_rows(rows, np.array(order, np.int64)), table[np.array(order, np.int64)])
    same(rows[np.array(mask)], table[np.array(mask)])


@given(tables, st.integers(0, 5))
def test_joined_pickled_and_kept_by_the_row_they_stay_the_same(table, cut) -> None:
    rows = SparseRows.of(table)
    same(join_rows([rows[:cut], rows[cut:]]), table)
    same(pickle.loads(pickle.dumps(rows[cut:])), table[cut:])
    same(SparseRows.from_bytes([rows.row_bytes(row) for row in range(5)], 4), table)
    np.testing.assert_array_equal(rows.matrix().toarray(), table)
    np.testing.assert_array_equal(rows.matrix(3.0).toarray()[:, 4], np.full(5, 3.0))


@given(tables)
def test_a_block_is_cut_as_a_dense_one_is(table) -> None:
    y, positions, nodes = np.arange(5.0), np.arange(5), np.array([1, 0, 1, 1, 0])
    dense = split(Block("p", 0, table, y, positions), nodes, "ab")
    cut = split(Block("p", 0, SparseRows.of(table), y, positions), nodes, "ab")
    for one, other in zip(cut, dense, strict=True):
        same(one.X, other.X)
        back = pickle.loads(pickle.dumps(one))
        same(back.X, other.X)
        np.testing.assert_array_equal(back.y, other.y)


def test_scipys_rows_are_put_in_order_and_summed() -> None:
    given_rows = sparse.csr_array(([1.0, 2.0, 4.0], [3, 1, 3], [0, 3]), shape=(1, 4))
    rows = SparseRows.of(given_rows, np.float32)
    assert (rows.indices.tolist(), rows.values.tolist()) == ([1, 3], [2.0, 5.0])
    assert rows.dtype == np.float32
    assert SparseRows.of(rows).dtype == np.float64


@pytest.mark.parametrize("index", [-1, 4])
def test_an_index_out_of_range_is_refused(index) -> None:
    wrong = sparse.csr_array((1, 4))
    wrong.indices, wrong.data, wrong.indptr = np.array([index]), np.array([1.0]), np.array([0, 1])
    with pytest.raises(ValueError, match=f"index {index}; allowed: 0 to 3"):
        SparseRows.of(wrong)


def test_frozen_rows_cannot_be_changed_nor_their_parts() -> None:
    rows = freeze_rows(SparseRows.of(np.eye(3)))
    for part in (rows, rows[1:]):
        with pytest.raises(ValueError, match="read-only"):
            part.values[0] = 1.0


def test_a_row_is_told_in_letters() -> None:
    rows = SparseRows.of(np.array([[0.0, 2.0, -1.0]]))
    assert features_text(rows, 0) == b"1:2.0,2:-1.0"
    assert features_text(rows.toarray(), 0) == b"0.0,2.0,-1.0"
    waiting = WaitingSample("p", 0, 0, rows.row_bytes(0), 1, features=3)
    assert waiting.text() == b"1:2.0,2:-1.0"
    same(rows_of([waiting, waiting]), np.array([[0.0, 2.0, -1.0]] * 2))


def test_a_share_gives_some_of_its_rows() -> None:
    share = Share("p", 0, SparseRows.of(np.eye(3)), np.arange(3.0), np.arange(3))
    same(share.rows(np.array([True, False, True])).X, np.eye(3)[[0, 2]])
