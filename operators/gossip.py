"""What a node knows of the sites of its job: how far they have come, and when they end."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from anabranch.letters import SiteNews
from anabranch.protocol import NodeId
from operators.items import NO_NEWS, Outgoing, Parcel
from operators.node_plan import NodePlan

__all__ = ["Gossip", "ends_for_joiners", "with_news"]


class Gossip:
    """One node's news of the sites, its own included; they travel with every parcel.

    What is known only grows, so news may come late, twice and in any order.

    Parameters
    ----------
    site : the node's own
    elsewhere : the other sites; without any, all of this costs nothing
    known : what `export` gave

    Examples
    --------
    >>> here, there = Gossip("a", ("b",)), Gossip("b", ("a",))
    >>> there.end(7)
    True
    >>> here.hear(there.tell(3)), here.ended, here.last_ticks
    (True, True, [7])
    """

    def __init__(
        self, site: str, elsewhere: tuple[str, ...], known: Mapping[str, SiteNews] = NO_NEWS
    ) -> None:
        self._site = site
        self._elsewhere = elsewhere
        sites = (site, *elsewhere) if elsewhere else ()
        self._known = {name: known.get(name, SiteNews(-1)) for name in sites}
        self._grew = dict.fromkeys(elsewhere, datetime.now(UTC))
        self._pulse = -1
        self._met = False

    def hear(self, news: Mapping[str, SiteNews]) -> bool:
        """Take news in; tells whether a site's last tick became known by it."""
        if not self._met and self._site in news:
            # Others may know more of this site than it does itself since it was restored.
            self._met = True
            self._pulse = news[self._site].round
        taken = [self._take(site, heard) for site, heard in news.items() if site in self._known]
        return any(taken)

    def end(self, last_tick: int) -> bool:
        """Note that this site's sources have ended; tells whether that is new."""
        return bool(self._elsewhere) and self._take(self._site, SiteNews(-1, last_tick))

    def _take(self, site: str, heard: SiteNews) -> bool:
        known = self._known[site]
        if heard.round > known.round:
            known = known._replace(round=heard.round)
            if site in self._grew:
                self._grew[site] = datetime.now(UTC)
        ends = heard.last_tick is not None and heard.last_tick > _tick(known)
        self._known[site] = known._replace(last_tick=heard.last_tick) if ends else known
        return ends

    def tell(self, round: int) -> Mapping[str, SiteNews]:
        """Give the news to send in a round, as they stand."""
        if not self._elsewhere:
            return NO_NEWS
        own = self._known[self._site]
        return self._known | {self._site: own._replace(round=max(round, own.round))}

    def beat(self, round: int) -> Mapping[str, SiteNews]:
        """Give the news, with a round above all that was said of this site: a sign of life."""
        self._pulse = max(self._pulse + 1, round)
        return self.tell(self._pulse)

    @classmethod
    def of(cls, plan: NodePlan, node: NodeId, state: Mapping[str, Any] | None) -> "Gossip":
        """Make a node's, from its snapshot if there is one; a lone companion hears nobody."""
        elsewhere = () if node in plan.lone else plan.elsewhere
        return cls(plan.site, elsewhere, state.get("sites", NO_NEWS) if state else NO_NEWS)

    @property
    def last_ticks(self) -> list[int]:
        """The last ticks of the sites known to end."""
        return [news.last_tick for news in self._known.values() if news.last_tick is not None]

    @property
    def ended(self) -> bool:
        """Whether all other sites are known to end."""
        return all(self._known[site].last_tick is not None for site in self._elsewhere)

    def awaits(self, since: datetime) -> bool:
        """Tell whether another site has not ended and has given a sign of life since."""
        return any(
            self._known[site].last_tick is None and self._grew[site] > since
            for site in self._elsewhere
        )

    def export(self) -> dict[str, SiteNews]:
        """Give what is known, for a snapshot."""
        return dict(self._known)


def _tick(news: SiteNews) -> int:
    return -2 if news.last_tick is None else news.last_tick


def with_news(events: Iterable[Any], news: Mapping[str, SiteNews]) -> list[Any]:
    """Put news into the parcels among a node's events."""
    return [
        replace(event, parcel=replace(event.parcel, news=news))
        if news and isinstance(event, Outgoing)
        else event
        for event in events
    ]


def ends_for_joiners(plan: NodePlan, node: NodeId, ends: Mapping[str, int]) -> list[Outgoing]:
    """Tell nodes that joined later which partitions had ended before; one node does, for all.

    Ends are told but once, to all nodes then there. `ends` are those of the snapshot that the
    node is rebuilt from, so that no share of these partitions can still be on its way.
    """
    if not (ends and plan.joiners and node == plan.founders[0]):
        return []
    return [Outgoing(Parcel(node, -1, None, True, ends=dict(ends)), plan.joiners)]
