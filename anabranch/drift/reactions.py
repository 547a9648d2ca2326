"""What a learner does against drift, where it can do something."""

from anabranch.drift.rule import Policy
from anabranch.protocol import Learner, Reactive

__all__ = ["react", "reactions_of"]


def reactions_of(learner: object) -> tuple[str, ...]:
    """Give the policies of a learner, "log" first, which all have.

    >>> reactions_of(object())
    ('log',)
    """
    return ("log", *(learner.reactions if isinstance(learner, Reactive) else ()))


def react(learner: Learner, policy: Policy, samples: int, *, again: bool = False) -> None:
    """Let a learner react to a drift that its newest samples, so many, are behind.

    Not `again`, since the drift is not over, where it says by `once` that reactions add up.
    """
    if again and getattr(learner, "once", False):
        return
    if policy != "log" and isinstance(learner, Reactive) and policy in learner.reactions:
        learner.react(policy, samples)
