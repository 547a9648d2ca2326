"""Twenty nodes through the dataflow: as good as the batch optimum, and after a drift again."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from anabranch.learners import ElasticNet, make
from anabranch.network import combination_weights, node_names, star
from anabranch.placement import Placement
from anabranch.protocol import Array, Learner, freeze
from anabranch.stream import Block
from operators.node_plan import NodePlan
from tests.learners.elastic_network import NOISE, pooled, rmse, stream
from tests.operators.flows import run_flow
from tests.operators.toy import ToySource

NAMES = node_names(20)


class Ticks(ToySource):
    """One row a node a tick, in the order of the nodes."""

    def __init__(self, X: Array, y: Array) -> None:
        super().__init__([y.size], len(NAMES))
        self.X, self.y = X, y

    def block(self, part: int, tick: int, start: int, count: int) -> Block:
        """Give the block of a tick."""
        positions = np.arange(start, start + count)
        parts = freeze(self.X[tick]), freeze(self.y[tick]), positions
        return Block(self.names[part], tick, *parts, records=count)


def make_node(options: dict[str, Any], node: str) -> Learner:
    role = "hub" if node == NAMES[0] else "node"
    return make("elastic-net", 9, 0, role=role, **options)


def errors(X: Array, y: Array, **options: Any) -> tuple[Array, dict[str, Any]]:
    """Errors (ticks, nodes) of predictions before rows were learned, and the final scores."""
    source = Ticks(X, y)
    plan = NodePlan(
        make=partial(make_node, options), restore=ElasticNet.restore,
        weights=combination_weights(star(NAMES)),
        placement=Placement(tuple(NAMES), "round-robin", tuple(source.names)),
        task="regression", ranks=0, features=9, predictions=True,
    )  # fmt: skip
    ran = run_flow(source, plan, pooled=False, ticks_ahead=16)
    found = np.full(y.size, np.nan)
    for one in ran.predictions:
        found[one.positions] = one.predicted - one.y
    assert np.isfinite(found).all()
    return found.reshape(y.shape), ran.final_row()


def test_it_is_as_good_as_the_batch_optimum() -> None:
    X, y = stream(1000)
    found, row = errors(X, y)
    best = pooled(X, y)
    assert rmse(found[10:]) == pytest.approx(rmse(best[10:]), rel=1e-3)
    assert row["samples"] == 20_000
    assert row["scores"]["RMSE"] == pytest.approx(rmse(found), rel=1e-12)
    told = row["measures"]
    assert 0.0 <= told["gap"]["max"] < 1e-2
    assert told["primal"]["max"] < 0.1
    assert set(told) == {"objective", "gap", "primal", "dual", "loss"}


@pytest.mark.parametrize(
    ("options", "most"), [({"decay": 0.98}, 198), ({"decay": 0.9}, 52), ({"window": 50}, 51)]
)
def test_it_recovers_from_a_drift(options: dict[str, Any], most: int) -> None:
    X, y = stream(200 + most + 10, drift=200, seed=1)
    found, _ = errors(X, y, **options)
    apart = found + y - stream(len(y), drift=200, seed=1, spread=0.0)[1]
    expected = np.hypot(NOISE, np.sqrt((apart**2).mean(axis=1)))
    assert expected[150:200].mean() < 1.1 * NOISE
    assert expected[200] > 5.0 * NOISE
    assert 5 + np.argmax(expected[205:] < 1.1 * NOISE) <= most
    assert (expected[200 + most :] < 1.2 * NOISE).all()


def test_without_forgetting_it_does_not() -> None:
    X, y = stream(400, drift=200)
    found, _ = errors(X, y)
    assert rmse(found[-20:]) > 2.0 * NOISE
