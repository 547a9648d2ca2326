"""Snapshots of older versions, brought up to the present one."""

from typing import Any

from anabranch.errors import ModelError

__all__ = ["SCHEMA", "upgraded"]

SCHEMA = 2
"""Of a node's snapshot; `upgraded` knows all that came before."""


def upgraded(state: dict[str, Any]) -> dict[str, Any]:
    """Give a node's snapshot as the present version writes it; the given one is unchanged.

    Raises
    ------
    ModelError
        A newer version wrote it.
    """
    schema = state.get("schema", 1)
    if schema > SCHEMA:
        raise ModelError(
            f"the snapshot has schema {schema}, which a newer version wrote; this one reads up to "
            f"{SCHEMA}"
        )
    for older in range(schema, SCHEMA):
        state = _STEPS[older](state)
    return state


def _from_first(state: dict[str, Any]) -> dict[str, Any]:
    core = {"drift": None, **state["core"]}
    return {"era": 0, "owed": [], **state, "core": core, "schema": 2}


_STEPS = {1: _from_first}
