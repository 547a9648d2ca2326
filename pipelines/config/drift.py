"""The section [drift]: nodes whose errors grow, and what they do then."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

__all__ = ["DriftSection"]


class DriftSection(Struct, frozen=True, forbid_unknown_fields=True):
    """Nodes whose errors have grown: told in drift.jsonl. On with drift.detector."""

    detector: Annotated[
        Literal["none", "adwin", "page-hinkley", "kswin"],
        Meta(
            description="Looks at the errors of every node: none; page-hinkley finds sudden "
            "drifts soonest, adwin gradual ones, with the fewest false alarms; kswin, slower, "
            "misses drifts that a learner soon follows unless drift.every is some 5."
        ),
    ] = "none"
    policy: Annotated[
        Literal["log", "raise-step", "shrink-window", "refit"],
        Meta(
            description="What a node that drifts does by itself, again while that lasts: log, "
            "nothing; raise-step, larger steps for a while (dsvor; npsvor where most nodes drift); "
            "shrink-window, samples from before the drift count less or not at all (doml, "
            "elastic-net); refit, begin anew from samples since then (doml; dsvor with a "
            "learner.cache)."
        ),
    ] = "log"
    every: Annotated[
        Annotated[int, Meta(ge=1)],
        Meta(
            description="Samples of a node whose mean error is looked at; more find smaller drifts "
            "and miss short ones."
        ),
    ] = 20
    delta: Annotated[
        Annotated[float, Meta(gt=0, le=0.5)],
        Meta(
            description="About the chance that a mean raises a false alarm, anywhere in the "
            "network: its nodes share it. So a node raises one in some every * nodes / delta "
            "samples: 4 million at 20 nodes and the defaults."
        ),
    ] = 1e-4
    rise: Annotated[
        Annotated[float, Meta(ge=0)],
        Meta(description="Share by which errors must have grown, at least."),
    ] = 0.1
    warm_up: Annotated[
        Annotated[int, Meta(ge=10, le=50)],
        Meta(
            description="Means that are only looked at for their noise, at the start and again "
            "after a drift."
        ),
    ] = 20
    settle: Annotated[
        Annotated[int, Meta(ge=1)],
        Meta(
            description="Means after which a drift is over, though errors have not come down: they "
            "are the usual then, which the next drift must exceed. It is over before when no more "
            "than a quarter of the rise is left in the newest ten."
        ),
    ] = 50
    most: Annotated[
        Annotated[float, Meta(ge=0, le=1)],
        Meta(
            description="Share of the nodes above which a drift is the network's. Below, drifting "
            "nodes that are connected are a neighbourhood."
        ),
    ] = 0.5
