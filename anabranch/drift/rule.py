"""When a node's errors count as drift, and what is done then."""

from dataclasses import dataclass
from typing import Literal, get_args

from anabranch.errors import ConfigurationError
from anabranch.learners.options import check_between, check_choice, check_whole

__all__ = ["DETECTORS", "POLICIES", "Detecting", "DriftRule", "Policy"]

Detecting = Literal["adwin", "page-hinkley", "kswin"]
Policy = Literal["log", "raise-step", "shrink-window", "refit"]
DETECTORS: tuple[Detecting, ...] = get_args(Detecting)
POLICIES: tuple[Policy, ...] = get_args(Policy)


@dataclass(frozen=True)
class DriftRule:
    """When a node's errors count as drift.

    The errors of `every` samples of a node make a chunk. Its detector looks at the means of
    chunks, in units of their noise, which is that of the first `warm_up` chunks after the start
    and after each drift.

    Parameters
    ----------
    detector : River's, with `clock`, thresholds and windows chosen here
    policy : what a node that drifts does; "log" nothing
    every : samples of a node in a chunk
    delta : chance that a chunk raises a false alarm anywhere in the network; nodes share it
    rise : share by which errors must have grown, at least
    warm_up : chunks before a node can drift, at the start and again after a drift
    settle : chunks after which a drift is over, though errors have not come down
    most : share of the nodes above which a drift is the network's
    nodes : number of nodes that share `delta`

    Raises
    ------
    ConfigurationError
        A value is out of its range.

    Examples
    --------
    >>> DriftRule("adwin", nodes=20).share
    5e-06
    """

    detector: Detecting
    policy: Policy = "log"
    every: int = 20
    delta: float = 1e-4
    rise: float = 0.1
    warm_up: int = 20
    settle: int = 50
    most: float = 0.5
    nodes: int = 1

    def __post_init__(self) -> None:
        check_choice("detector", self.detector, DETECTORS)
        check_choice("policy", self.policy, POLICIES)
        for key, least in (("every", 1), ("warm_up", 10), ("settle", 1), ("nodes", 1)):
            check_whole(key, getattr(self, key), least)
        check_between("delta", self.delta, 0.0, 0.5, above=True)
        check_between("rise", self.rise, 0.0)
        check_between("most", self.most, 0.0, 1.0)
        if self.warm_up > 50:
            raise ConfigurationError(f"out of range: warm_up={self.warm_up}; allowed: 10 to 50")

    @property
    def share(self) -> float:
        """A node's share of `delta`."""
        return self.delta / self.nodes
