"""Run a job of sets of labels as a process of a cluster: python -m tests.operators.label_job ..."""

from tests.operators.label_toy import GrowingSource, label_plan
from tests.operators.toy_job import main

SOURCE = GrowingSource([450, 300], 6)
PLAN = label_plan(SOURCE.names, "hash", rounds_per_tick=5, final_rounds=2)

if __name__ == "__main__":
    main(SOURCE, PLAN)
