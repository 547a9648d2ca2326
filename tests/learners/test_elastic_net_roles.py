"""Which node is the hub, and which graphs have none."""

import pytest

from anabranch.errors import ConfigurationError
from anabranch.learners.elastic_net_network import elastic_net_roles
from anabranch.network import build_graph, complete, node_names, path, ring, star


def hub_of(roles: dict[str, str]) -> str:
    (hub,) = [name for name, role in roles.items() if role == "hub"]
    return hub


def test_the_middle_is_the_hub() -> None:
    names = ["a", "b", "c", "d", "e"]
    assert hub_of(elastic_net_roles(path(names), "graph")) == "c"
    assert hub_of(elastic_net_roles(star(["d", "a", "b", "c"]), "server")) == "d"
    assert hub_of(elastic_net_roles(star(["b", "a"]), "server")) == "a"
    assert hub_of(elastic_net_roles(star(["b", "a"]), "server", hub="b")) == "b"
    assert hub_of(elastic_net_roles(complete(names), "graph")) == "a"
    grid = build_graph("grid", node_names(20))
    assert hub_of(elastic_net_roles(grid, "graph")) == "n07"


def test_a_single_node_is_its_own_hub() -> None:
    assert elastic_net_roles(path(["a"]), "server") == {"a": "hub"}


def test_a_server_needs_a_star_around_it() -> None:
    for graph, hub in ((ring(["a", "b", "c"]), None), (star(["a", "b", "c"]), "b")):
        with pytest.raises(ConfigurationError, match="no star around"):
            elastic_net_roles(graph, "server", hub)
    with pytest.raises(ConfigurationError, match="hub='z'"):
        elastic_net_roles(ring(["a", "b", "c"]), "graph", "z")
