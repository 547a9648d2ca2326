"""A job whose network changes, as a process of a cluster: python -m tests.operators.era_job ..."""

import sys
from pathlib import Path

from anabranch.network import Eras, combination_weights, complete
from tests.operators.era_model import with_eras
from tests.operators.toy import ToySource
from tests.operators.toy_job import NAMES, main, toy_plan

SOURCE = ToySource([450, 300], 6)
GROWN = combination_weights(complete([*NAMES[2:], "x1", "x2"]))


def plan_of(folder):
    """Give the plan with the network changed in the round that a file names, if it is there."""
    plan = toy_plan(SOURCE.names, "hash", rounds_per_tick=5, final_rounds=2)
    file = folder / "change"
    changes = {int(file.read_text()): GROWN} if file.exists() else {}
    return with_eras(plan, Eras.of(plan.weights, changes))


if __name__ == "__main__":
    main(SOURCE, plan_of(Path(sys.argv[1])))
