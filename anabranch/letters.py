"""Parameters on their way to a node of another site."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from anabranch.protocol import Message, NodeId

__all__ = ["Letter", "SiteNews"]


class SiteNews(NamedTuple):
    """What is known of a site: a round one of its nodes has reached, and its last tick.

    `last_tick` is None until all the site's sources have ended.
    """

    round: int
    last_tick: int | None = None


@dataclass(frozen=True, slots=True)
class Letter:
    """One node's parameters of one round, for one neighbour that another site hosts.

    Attributes
    ----------
    message : None when the sender has nothing to say in this round
    unchanged : the last message from this sender still stands
    last : the message will stand for good: the sender has performed its last round
    news : what the sender knows of the sites, by their names
    """

    sender: NodeId
    receiver: NodeId
    round: int
    message: Message | None
    unchanged: bool = False
    last: bool = False
    news: Mapping[str, SiteNews] = field(default_factory=dict)
