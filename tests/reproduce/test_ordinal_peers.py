"""Other projects' models: labels kept, and what goes wrong in fitting told."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from anabranch.protocol import Array
from anabranch.reproduce import ordinal_peers as peers
from anabranch.reproduce.ordinal_data import OrdinalSplit

mord = pytest.importorskip("mord")
pytest.importorskip("statsmodels")

PEERS: dict[str, Callable[[OrdinalSplit], tuple[Array, str]]] = {
    "LogisticAT": partial(peers.logistic, form="AT"),
    "LogisticIT": partial(peers.logistic, form="IT"),
    "OrdinalRidge": peers.ridge,
    "LinearSVC": peers.linear_svc,
    "OrderedModel": peers.ordered_model,
}


@pytest.fixture(scope="module")
def split() -> OrdinalSplit:
    """Ranks 1, 2 and 4 of 4, cut from the first of three fields; the last is constant."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(120, 2)), np.ones(120)])
    y = np.array([1, 2, 4])[np.digitize(X[:, 0] + 0.2 * rng.normal(size=120), [-0.5, 0.5])]
    return OrdinalSplit.of("gap", X, y, np.arange(40), ranks=4)


@pytest.mark.parametrize("name", PEERS)
def test_labels_are_those_of_the_set(split: OrdinalSplit, name: str) -> None:
    predicted, trouble = PEERS[name](split)
    assert trouble == ""
    assert set(predicted.tolist()) <= {1, 2, 4}
    assert (predicted == split.truth).mean() > 0.6


def test_a_solver_that_stops_early_is_told(
    split: OrdinalSplit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mord, "LogisticAT", partial(mord.LogisticAT, max_iter=1))
    assert PEERS["LogisticAT"](split)[1] == peers.UNFINISHED
    monkeypatch.setattr(peers, "LinearSVC", partial(peers.LinearSVC, max_iter=1, dual=True))
    assert PEERS["LinearSVC"](split)[1] == peers.UNFINISHED


def test_a_refusal_is_the_peers_own(split: OrdinalSplit, monkeypatch: pytest.MonkeyPatch) -> None:
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    def refuse(*_: Any, **__: Any) -> None:
        raise np.linalg.LinAlgError("Singular matrix")

    monkeypatch.setattr(OrderedModel, "fit", refuse)
    with pytest.raises(peers.PeerError, match="Singular matrix"):
        PEERS["OrderedModel"](split)
