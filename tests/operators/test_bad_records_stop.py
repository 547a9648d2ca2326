"""What stops a job that is to stop at bad input: bad records, and no other dead letters."""

import numpy as np
import pytest

from anabranch.reasons import NO_BAD_RECORD
from anabranch.stream import Block, DeadLetter
from operators.learn import make_hub
from operators.place import BadInputError, _watcher
from tests.operators.toy_job import toy_plan


def block(*reasons):
    letters = tuple(
        DeadLetter(reason, "why", "s", "p00", at, b"") for at, reason in enumerate(reasons)
    )
    rows = np.zeros(0, dtype=np.int64)
    return Block("p00", 0, np.zeros((0, 3)), np.zeros(0), rows, dead=letters, records=len(reasons))


def test_only_bad_records_stop_a_job():
    plan = toy_plan(["p00"])
    hub = make_hub(plan.placement)
    watch = _watcher(plan, hub, stop=True)
    assert len(watch([block(*sorted(NO_BAD_RECORD))])) == len(NO_BAD_RECORD)
    assert hub.bad_input is None
    with pytest.raises(BadInputError, match="s, record 1: why"):
        watch([block("no_window", "malformed")])
    assert _watcher(plan, hub, stop=False)([block("malformed")])[0].reason == "malformed"
