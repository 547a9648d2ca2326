"""A learner that diverged: it says nothing, a job can be resumed with it, nobody is given it."""

import numpy as np
import pytest

from anabranch.errors import ModelError
from anabranch.learners import LEARNERS, make


@pytest.mark.parametrize("kind", ["dsvor", "dsvor-batch"])
def test_a_diverged_learner_round_trips_as_state_only(kind):
    learner = make(kind, 2, 3, kernel="linear", scaling="none")
    learner.learn(np.eye(2), np.array([1, 3]))
    learner.combine(0, {}, {})
    learner._theta[:2, 0] = np.nan
    assert learner.messages(1) == ()
    back = LEARNERS[kind].restore(learner.export())
    assert back.parameters().tobytes() == learner.parameters().tobytes()
    with pytest.raises(ModelError, match="not finite"):
        LEARNERS[kind].restore(learner.model())
