"""Sites in asynchronous time: nobody waits for a site, but all end together if they live."""

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from anabranch.evaluation import disagreement
from anabranch.exchange import Policy
from anabranch.letters import SiteNews
from anabranch.stream import End
from operators.asynchronous import AsynchronousNode
from operators.gossip import Gossip
from operators.items import Outgoing, Parcel
from tests.operators.letter_log import LogSource, MemoryLog
from tests.operators.site_flows import run_sites
from tests.operators.spread import Spread
from tests.operators.toy import ToyPartition

QUICK = {
    "mode": "asynchronous",
    "idle_every": timedelta(seconds=0.02),
    "stale_after": timedelta(seconds=5),
}


def weights(ran):
    """Give the parameters that all sites' nodes ended with."""
    return [f.model["w"] for it in ran.values() for f in it.finals if f.learner == "cooperative"]


def samples(ran):
    return sum(site.final_row()["samples"] for site in ran.values())


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    "policy", [Policy(), Policy("event", tolerance=0.05)], ids=["every", "event"]
)
def test_every_sample_is_learned_once_and_sites_agree(policy, workers):
    spread = Spread(((400, 90), (300,), (0,)), graph="ring", policy=policy, final_rounds=5)
    ran = run_sites(spread, workers=workers, **QUICK)
    assert samples(ran) == 790
    assert len(weights(ran)) == 7
    assert disagreement(weights(ran)).max < 0.1


def test_a_site_that_never_comes_stops_nobody():
    spread = Spread(((200,), (300,)))
    ran = run_sites(spread, only=["s0"], **QUICK | {"stale_after": timedelta(seconds=0.3)})
    assert samples(ran) == 200
    assert ran["s0"].hub.sites["s1"].round == -1


def test_a_site_waits_for_a_slower_one_that_lives(monkeypatch):
    # The slow one takes longer than `stale_after`: were it not awaited, nobody would.
    spread = Spread(((20,), (1200,)), final_rounds=5)
    pull = ToyPartition.next_batch

    def slowly(part):
        if part.name == "p01":
            time.sleep(0.02)
        return pull(part)

    monkeypatch.setattr(ToyPartition, "next_batch", slowly)
    log = MemoryLog()
    ran = run_sites(spread, logs=[log], **QUICK | {"stale_after": timedelta(seconds=1.5)})
    assert samples(ran) == 1220
    assert disagreement(weights(ran)).max < 0.1
    sent = [i for i in log.letters if i.sender in spread.sites["s0"]]
    last = [i for i in sent if i.last]
    assert {i.sender for i in last} == {i.sender for i in sent}
    assert all(i.news["s1"].last_tick == 171 for i in last)


def test_letters_stand_on_their_own():
    # Who reads the newest letter only must find parameters in it.
    spread = Spread(((600,), (600,)), policy=Policy("event", tolerance=0.2))
    log = MemoryLog()
    run_sites(spread, logs=[log], **QUICK)
    assert all(i.message is not None and not i.unchanged for i in log.letters)
    pairs = {(i.sender, i.receiver) for i in log.letters}
    assert {(i.sender, i.receiver) for i in log.letters if i.last} == pairs


def test_a_site_that_returns_reads_the_newest_letters_only():
    spread = Spread(((300,), (300,)))
    log = MemoryLog()
    run_sites(spread, logs=[log], **QUICK)
    part = LogSource([log], spread.sites["s1"]).build_part("", "params:0", None)
    (one, *_) = letters = part.read(None)
    to_same = [i for i in log.letters if (i.sender, i.receiver) == (one.sender, one.receiver)]
    assert one == to_same[-1]
    assert len(to_same) > 5
    assert len({(i.sender, i.receiver) for i in letters}) == len(letters)


# Nodes


def node(policy=None, **options):
    spread = Spread(((90,), (60,)), policy=policy or Policy())
    plan = spread.link("s0", []).spread(spread.plan("s0"))
    plan = replace(plan, **{**QUICK, **options})
    return AsynchronousNode(plan, spread.sites["s0"][0], None), spread


def told(events):
    (parcel,) = {id(e.parcel): e.parcel for e in events if isinstance(e, Outgoing)}.values()
    return parcel


def test_a_node_that_does_not_move_speaks_in_full_twice_while_it_would_become_stale():
    it, _ = node(Policy("event", tolerance=9.0), stale_after=timedelta(hours=1))
    assert told(it.on_notify()[0]).message is not None
    assert told(it.on_notify()[0]).unchanged
    it.spoke_at -= timedelta(minutes=31)
    assert told(it.on_notify()[0]).message is not None
    assert told(it.on_notify()[0]).unchanged


def test_a_node_of_the_only_site_need_not():
    it, _ = node(Policy("event", tolerance=9.0), stale_after=timedelta(milliseconds=1))
    it.plan = it.core.plan = replace(it.plan, elsewhere=())
    it.gossip = Gossip("s0", ())
    assert told(it.on_notify()[0]).message is not None
    time.sleep(0.01)
    parcel = told(it.on_notify()[0])
    assert parcel.unchanged
    assert parcel.news == {}


def test_a_node_without_samples_waits_for_sites_that_live_and_for_no_other():
    it, spread = node(stale_after=timedelta(hours=1))
    there = spread.sites["s1"][0]
    it.on_batch([End("p00", -1)])
    for _ in range(20):
        it.on_notify()
    assert not it.done
    it.on_batch([Parcel(there, 30, None, news={"s1": SiteNews(30, 8)})])
    for _ in range(20):
        it.on_notify()
    assert it.done


def test_a_rebuilt_node_knows_which_sites_end():
    it, spread = node()
    it.on_batch([Parcel(spread.sites["s1"][0], -1, None, True, news={"s1": SiteNews(30, 8)})])
    rebuilt = AsynchronousNode(it.plan, it.core.node, it.snapshot())
    assert rebuilt.gossip.ended
    assert rebuilt.heard == {}  # news alone are no parameters


def test_a_silent_site_is_not_awaited():
    it, _ = node(stale_after=timedelta(milliseconds=1))
    time.sleep(0.01)
    it.on_batch([End("p00", -1)])
    for _ in range(20):
        it.on_notify()
    assert it.done


# Gossip


def moment():
    time.sleep(0.002)
    return datetime.now(UTC)


def test_only_growing_news_are_a_sign_of_life():
    gossip = Gossip("a", ("b", "c"))
    gossip.hear({"b": SiteNews(5), "c": SiteNews(5)})
    since = moment()
    assert not gossip.awaits(since)
    gossip.hear({"b": SiteNews(5), "c": SiteNews(4), "a": SiteNews(99), "d": SiteNews(7)})
    assert not gossip.awaits(since)
    gossip.hear({"b": SiteNews(6)})
    assert gossip.awaits(since)
    gossip.hear({"b": SiteNews(7, 3)})
    assert not gossip.awaits(since)
    assert gossip.last_ticks == [3]
    assert not gossip.ended
    assert gossip.hear({"c": SiteNews(0, -1)})
    assert gossip.ended


def test_news_may_come_late_and_twice():
    told = [{"b": SiteNews(3)}, {"b": SiteNews(9, 2), "c": SiteNews(1)}, {"b": SiteNews(4)}]
    gossips = []
    for order in ([0, 1, 2], [2, 1, 0, 1], [1, 0, 2, 2]):
        gossip = Gossip("a", ("b", "c"))
        ends = [gossip.hear(told[i]) for i in order]
        assert ends.count(True) == 1
        gossips.append(gossip.export())
    assert gossips[0] == gossips[1] == gossips[2]
    assert Gossip("a", ("b", "c"), gossips[0]).export() == gossips[0]


def test_a_restored_site_is_alive_to_those_who_knew_it_further_on():
    old, other = Gossip("a", ("b",)), Gossip("b", ("a",))
    saved = old.export()
    for round in range(1000):
        other.hear(old.beat(round))
    restored = Gossip("a", ("b",), saved)
    since = moment()
    other.hear(restored.beat(0))
    assert not other.awaits(since)
    restored.hear(other.beat(7))
    other.hear(restored.beat(1))
    assert other.awaits(since)


def test_what_is_told_and_what_a_lone_site_tells():
    gossip = Gossip("a", ("b",))
    assert gossip.end(4)
    assert not gossip.end(4)
    assert gossip.tell(7) == {"a": SiteNews(7, 4), "b": SiteNews(-1, None)}
    assert Gossip("a", ()).tell(3) == {}
    assert not Gossip("a", ()).end(3)
    assert Gossip("a", ()).ended
    assert Gossip("a", ()).last_ticks == []
