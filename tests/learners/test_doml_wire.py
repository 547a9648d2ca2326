"""What DOML's messages cost, and what they must survive."""

from typing import Any

import numpy as np
import pytest

from anabranch.errors import MessageError
from anabranch.learners.doml import DOML
from anabranch.protocol import Array, Message
from tests.learners.doml_network import Mesh, edges_of, farthest, name, optimum, plain_nodes
from tests.learners.law_cases import damaged

N, D, Q = 5, 24, 8


def wide_samples() -> list[tuple[Array, Array]]:
    rng = np.random.default_rng(0)
    W = rng.normal(size=(D, Q))
    blocks = [rng.normal(size=(40, D)) for _ in range(N)]
    return [(X, (X @ W + 2 * rng.normal(size=(40, Q)) > 0).astype(float)) for X in blocks]


DATA = wide_samples()
P = optimum(DATA, 1.0)
FORMS: dict[str, dict[str, Any]] = {
    "single": {"dtype": "float32"},
    "changed": {"wire": "changed", "tolerance": 1e-2},
    "factors": {"wire": "low-rank", "rank": 2},
    "halves": {"wire": "half"},
}
each = pytest.mark.parametrize("form", FORMS)


def run(rounds: int, lost: float = 0.0, **options: Any) -> tuple[Mesh, float]:
    """Give a network after so many rounds, and its error."""
    rng = np.random.default_rng(1)
    nodes = plain_nodes(DATA, ridge=1.0, predictor="linear", **options)
    edges = edges_of("complete", N)
    mesh = Mesh(nodes, edges, lambda i, j, t: 0 if rng.random() >= lost else None)
    mesh.run(rounds)
    return mesh, farthest(nodes, P)


@pytest.mark.parametrize(
    ("form", "share", "error"),
    [
        ("single", 0.53, 2e-5),
        ("changed", 0.7, 0.03),
        ("factors", 0.45, 1e-2),
        ("halves", 0.3, 1e-5),
    ],
)
def test_bytes_and_what_they_cost(form: str, share: float, error: float) -> None:
    dense, exact = run(80)
    cheap, found = run(80, **FORMS[form])
    assert exact < 1e-5
    assert cheap.bytes < share * dense.bytes
    assert found < error


@each
def test_half_of_the_messages_may_be_lost(form: str) -> None:
    mesh, first = run(60, lost=0.5, **FORMS[form])
    mesh.run(120)
    assert farthest(list(mesh.nodes.values()), P) < max(0.3 * first, 0.03)


@each
def test_one_lost_message_is_made_up_for(form: str) -> None:
    nodes = plain_nodes(DATA, ridge=1.0, predictor="linear", **FORMS[form])
    late = lambda i, j, t: None if (i, t) == (0, 10) else 0  # noqa: E731
    mesh = Mesh(nodes, edges_of("complete", N), late)
    mesh.run(90)
    assert farthest(nodes, P) < 0.03


@each
def test_a_node_that_joins_late_is_told_all(form: str) -> None:
    nodes = plain_nodes(DATA, ridge=1.0, predictor="linear", **FORMS[form])
    mesh = Mesh(nodes, {(i, j) for i, j in edges_of("complete", N) if i > 0})
    mesh.run(40)
    mesh.connect(edges_of("complete", N))
    mesh.run(100)
    assert farthest(nodes, P) < 0.03


@each
def test_messages_continue_where_a_state_left_off(form: str) -> None:
    mesh, _ = run(15, **FORMS[form])
    twins = {i: DOML.restore(node.export()) for i, node in mesh.nodes.items()}
    for t in range(15, 20):
        for nodes in (mesh.nodes, twins):
            sent = {name(i): node.messages(t)[0] for i, node in nodes.items()}
            for i, node in nodes.items():
                row = mesh.shares[i]
                node.combine(t, {j: sent[j] for j in row}, row)
    for i, node in mesh.nodes.items():
        np.testing.assert_array_equal(node.parameters(), twins[i].parameters())


@each
def test_damaged_messages_are_refused(form: str) -> None:
    mesh, _ = run(6, **FORMS[form])
    message = mesh.nodes[0].messages(6)[0]
    mesh.nodes[1].check_message(message)
    for bad in damaged(message):
        with pytest.raises(MessageError):
            mesh.nodes[1].check_message(bad)


def test_rows_must_be_places() -> None:
    mesh, _ = run(6, wire="changed")
    message = mesh.nodes[0].messages(6)[0]
    rows = message.arrays["rows"]
    for wrong in (rows[::-1], rows + np.int32(D), rows - np.int32(1), rows.astype(float)):
        with pytest.raises(MessageError, match="rows"):
            mesh.nodes[1].check_message(Message({**message.arrays, "rows": wrong}))
