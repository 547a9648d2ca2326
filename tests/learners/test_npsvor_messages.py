"""What messages of online NPSVOR hold: their size, what they tell, what is refused."""

import pickle
from typing import Any

import numpy as np
import pytest

from anabranch.errors import MessageError
from anabranch.learners import NPSVOR
from anabranch.protocol import Array, Message
from anabranch.sparse import SparseRows
from tests.learners.test_npsvor_online import FEATURES, RANKS, node, texts


def single(rows: int, **options: Any) -> tuple[NPSVOR, dict[str, Array], SparseRows]:
    X, y = texts(rows)
    one = node(**options)
    one.combine(0, {}, {"x": 1.0})
    one.learn(X, y)
    return one, dict(one.messages(1)[0].arrays), X


@pytest.mark.parametrize(("wire", "width"), [("single", 4), ("half", 2), ("double", 8)])
def test_bytes_of_a_message(wire: str, width: int) -> None:
    _, arrays, X = single(10, wire=wire)
    touched = len(np.unique(X.indices)) + 1
    size = sum(array.nbytes for array in arrays.values())
    assert len(arrays["indices"]) == touched
    per = 4 + width * RANKS + width
    assert touched * per < size <= touched * per + 60


def test_a_message_of_one_sample_tells_its_features_and_their_values() -> None:
    _, arrays, X = single(1)
    assert arrays["indices"][:-1].tolist() == X.indices.tolist()
    # the bias is a feature of 1, and squares are in one proportion to the features' own
    values = np.sqrt(arrays["dH"][:-1] / arrays["dH"][-1])
    assert values == pytest.approx(X.values, rel=1e-4)


def test_a_message_of_ten_samples_names_the_union_of_their_features() -> None:
    _, arrays, X = single(10)
    assert arrays["indices"][:-1].tolist() == np.unique(X.indices).tolist()


def test_fewer_samples_than_batch_rows_wait() -> None:
    one, (X, y) = node(batch_rows=10), texts(30)
    for t in range(30):
        one.combine(t, {}, {"x": 1.0})
        one.learn(X[t : t + 1], y[t : t + 1])
        waiting = one.measures()["rows_waiting"]
        told = len(one.messages(t)[0].arrays["heads"])
        assert bool(told) == (waiting >= 10)
    assert one.measures()["rows_waiting"] < 10


def test_damaged_messages_are_refused() -> None:
    one, arrays, _ = single(5)
    reader = node()
    reader.check_message(Message(arrays))
    swapped, far, doubled = (arrays["indices"].copy() for _ in range(3))
    swapped[:2] = swapped[1::-1]
    far[-1] = FEATURES + 1
    doubled[1] = doubled[0]
    bad: list[dict[str, Array]] = [{"indices": a} for a in (swapped, far, doubled)]
    for name in ("dW", "dH"):
        for value in (np.nan, np.inf, 1e31):
            wrong = arrays[name].copy()
            wrong.reshape(-1)[0] = value
            bad.append({name: wrong})
        bad.append({name: arrays[name].astype(np.float64)})
    bad += [{"dH": -arrays["dH"]}, {"heads": arrays["heads"] * 0}, {"state": arrays["state"] * 0}]
    before = pickle.dumps(reader.export())
    for change in bad:
        with pytest.raises(MessageError):
            reader.check_message(Message({**arrays, **change}))
        with pytest.raises(MessageError, match="'x'"):
            reader.combine(0, {"x": Message({**arrays, **change})}, {"x": 1.0})
    assert pickle.dumps(reader.export()) == before
    assert pickle.dumps(one.model()) == pickle.dumps(NPSVOR.restore(one.model()).model())


def test_a_state_is_as_large_as_what_was_touched() -> None:
    wide = NPSVOR(2**18, 8)
    X, y = texts(50)
    rows = SparseRows(X.indptr, X.indices * 4000, X.values, 2**18)
    wide.learn(rows, y)
    assert len(pickle.dumps(wide.export())) < 40_000
    assert wide.parameters().shape == (4096,)
    other = NPSVOR.restore(wide.export())
    other.learn(rows, y)
    exact = np.linalg.norm(wide._table.values[:, :8] - other._table.values[:, :8])
    assert np.linalg.norm(wide.parameters() - other.parameters()) == pytest.approx(exact, rel=0.2)
