"""Law 1 for the elastic net: the dataflow gives what the reference loop gives, bit for bit."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from anabranch.learners import ElasticNet, make
from anabranch.learners.elastic_net_network import elastic_net_roles
from anabranch.network import Graph, build_graph, combination_weights, node_names, star
from anabranch.placement import Placement
from anabranch.protocol import Learner
from anabranch.simulate import simulate
from operators.node_plan import NodePlan
from tests.operators.flows import _tick, run_flow
from tests.operators.toy import ToySource


def make_node(roles: dict[str, str], options: dict[str, Any], node: str) -> Learner:
    return make("elastic-net", 3, 0, role=roles.get(node, "node"), **options)


def graph_of(shape: str) -> Graph:
    names = node_names(5)
    return star(names) if shape == "server" else build_graph("ring", names)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("options", [{}, {"decay": 0.98}, {"window": 40}], ids=str)
@pytest.mark.parametrize("shape", ["server", "graph"])
def test_flow_equals_loop(shape: str, options: dict[str, Any], workers: int) -> None:
    graph = graph_of(shape)
    roles = elastic_net_roles(graph, shape)
    new = partial(make_node, roles, {"shape": shape, **options})
    source = ToySource([150, 90], 10)
    plan = NodePlan(
        make=new, restore=ElasticNet.restore, weights=combination_weights(graph),
        placement=Placement(graph.nodes, "round-robin", tuple(source.names)),
        task="regression", ranks=0, local=True, final_rounds=4,
    )  # fmt: skip
    learners = {node: new(node) for node in graph.nodes}
    ticks = [_tick(source, plan.placement, t) for t in range(15)]
    reference = simulate(learners, plan.weights, ticks, final_rounds=4)
    ran = run_flow(source, plan, workers=workers)
    models = {final.node: final.model for final in ran.finals}
    for node in graph.nodes:
        for key, value in learners[node].model().items():
            np.testing.assert_array_equal(models[node][key], value, err_msg=f"{node} {key}")
    row = ran.final_row()
    assert row["messages"] == reference.messages
    assert row["bytes"] == reference.bytes
    assert row["scores"]["RMSE"] < ran.final_row("local")["scores"]["RMSE"]
    assert row["scores"]["RMSE"] == pytest.approx(reference.scores(ranks=0)["RMSE"], rel=1e-12)
    assert not ran.dead
