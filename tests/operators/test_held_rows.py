"""Rows held back are scored, never learned; all others are learned, never held against."""

from dataclasses import replace

import numpy as np
import pytest

from anabranch.stream import Share
from operators.node_core import NodeCore
from tests.operators.toy import rows
from tests.operators.toy_job import NAMES, toy_plan


@pytest.mark.parametrize("held", [[], [1], [0, 1, 2, 3, 4]], ids=str)
def test_held_rows_are_counted_apart(held):
    X, y = rows(0, 0, 5)
    mask = np.isin(np.arange(5), held)
    share = Share("p00", 0, X, y, np.arange(5), mask, NAMES[0])
    core = NodeCore(replace(toy_plan(["p00"]), predictions=True), NAMES[0])
    core.learn(0, [share])
    (report,) = [r for r in core.reports(0, final=True) if r.learner == "cooperative"]
    assert report.samples == 5 - len(held)
    assert report.totals["counts"].sum() == 5 - len(held)
    scored = 0 if report.held is None else report.held["counts"].sum()
    assert scored == len(held)
    kept = [p for p in core.final(0) if getattr(p, "held", False)]
    assert sorted(np.concatenate([p.positions for p in kept]) if kept else []) == held
