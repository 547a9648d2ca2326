"""Law 1 across sites: nodes spread over sites end as one job does, bit for bit."""

import pickle

import pytest

from anabranch.errors import ConfigurationError, MessageError
from anabranch.exchange import Policy
from anabranch.letters import Letter, SiteNews
from anabranch.protocol import Message, freeze
from anabranch.stream import DeadLetter
from operators.hub import Hub
from operators.items import Outgoing, Parcel
from operators.learn import make_hub
from operators.sites import ParameterLink, _PacedLetters, _rounds_ahead
from operators.synchronous import SynchronousNode
from tests.operators.label_toy import GrowingSource, LabelToy
from tests.operators.letter_log import LogSource, MemoryLog
from tests.operators.site_flows import run_sites
from tests.operators.site_model import play
from tests.operators.spread import Spread
from tests.operators.toy import ToyLearner

SPREADS = {
    "two": Spread(((60,), (90,))),
    "uneven": Spread(((7,), (0, 200)), dealt=True, final_rounds=2),
    "ring of three, each node its partition": Spread(
        ((60, 0), (90,), (10, 40)), graph="ring", rule="partition"
    ),
    "star, every third round": Spread(
        ((60, 0), (90,), (10, 40)), graph="star", policy=Policy(every=3), dealt=True
    ),
    "ends before any exchange": Spread(
        ((), (90,), (0,)), graph="path", rule="partition", policy=Policy(every=50)
    ),
    "nothing to learn": Spread(((0,), (0, 0)), graph="ring", policy=Policy(every=50)),
    "five rounds a tick": Spread(((60,), (0, 90)), rounds_per_tick=5, final_rounds=1),
    "two rounds a tick, every third round": Spread(
        ((60, 0), (90,), (10, 40)), graph="path", rule="partition", policy=Policy(every=3),
        rounds_per_tick=2,
    ),
    "three rounds a tick, ends before any exchange": Spread(
        ((), (90,), (0,)), graph="ring", policy=Policy(every=100), rounds_per_tick=3
    ),
    "labels that grow": Spread(
        ((90,), (70,)), source_of=GrowingSource, make=lambda node: LabelToy(3),
        options={"task": "multilabel", "restore": LabelToy.restore}, rounds_per_tick=2,
    ),
    "when moved": Spread(((21,), (0, 300)), policy=Policy("event", tolerance=0.05)),
    "four, warming up": Spread(
        ((30,), (61,), (7,), (0,)), graph="grid", nodes=9, final_rounds=1,
        policy=Policy("event", every=2, tolerance=0.1, always_until=5),
    ),
}  # fmt: skip


def check(truth, nodes):
    """Compare (learner weights, rounds, messages, bytes) of all nodes with the loop's."""
    for node, (w, rounds, _, _) in nodes.items():
        assert w == truth.learners[node].w.tobytes(), node
        assert rounds == truth.rounds
    assert nodes.keys() == truth.learners.keys()
    assert sum(n[2] for n in nodes.values()) == truth.messages
    assert sum(n[3] for n in nodes.values()) == truth.bytes


@pytest.mark.parametrize("crashes", [0, 3, 10])
@pytest.mark.parametrize("spread", SPREADS.values(), ids=SPREADS.keys())
def test_any_order_of_arrival_and_crashes_anywhere(spread, crashes):
    truth = spread.reference()
    for seed in range(3):
        sites = play(spread, seed, crashes, partitions=1 + seed % 2)
        nodes = {node: it for site in sites for node, it in site.nodes.items()}
        found = {
            n: (it.core.learner.w.tobytes(), it.round, it.core.messages, it.core.bytes)
            for n, it in nodes.items()
        }
        check(truth, found)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    "name",
    ["uneven", "ring of three, each node its partition", "five rounds a tick", "labels that grow"],
)
def test_flows_of_sites_end_as_one_job(name, workers):
    spread = SPREADS[name]
    ran = run_sites(spread, workers=workers)
    truth = spread.reference()
    models, rows = {}, []
    for site in ran.values():
        rows.append(site.final_row())
        models |= {node: w for node, w in site.models.items() if node != "pooled"}
        assert site.dead == []
    assert models == {node: it.w.tobytes() for node, it in truth.learners.items()}
    assert [row["round"] + 1 for row in rows] == [truth.rounds] * len(ran)
    assert sum(row["messages"] for row in rows) == truth.messages
    assert sum(row["bytes"] for row in rows) == truth.bytes
    assert sum(row["samples"] for row in rows) == sum(spread.source.rows)


def test_what_was_heard_of_sites_is_there_for_the_status():
    spread = SPREADS["uneven"]
    ran = run_sites(spread)
    rounds = spread.reference().rounds
    for site, other in (("s0", "s1"), ("s1", "s0")):
        assert ran[site].hub.sites.keys() == {other}
        assert ran[site].hub.sites[other].round == rounds - 1


def test_a_site_is_heard_when_it_speaks_and_when_others_tell_news_of_it():
    hub = Hub(0, 1, 1, {})
    hub.expect(["b", "c"])
    start = dict(hub.sites)
    assert [heard.round for heard in start.values()] == [-1, -1]
    hub.hear("b", {"b": SiteNews(4), "c": SiteNews(9), "unknown": SiteNews(1)})
    told = dict(hub.sites)
    assert {site: heard.round for site, heard in told.items()} == {"b": 4, "c": 9}
    hub.hear("b", {"b": SiteNews(3), "c": SiteNews(8)})
    assert hub.sites["c"] == told["c"]
    assert hub.sites["b"].round == 4
    assert hub.sites["b"].at >= told["b"].at > start["b"].at
    assert not hub.sites["c"].ended
    hub.hear("b", {"c": SiteNews(8, 7)})
    assert (hub.sites["c"].round, hub.sites["c"].ended) == (9, True)


def test_refused_letters_are_dead_letters_and_are_counted():
    spread = Spread(((30,), (30,)))
    strange = [DeadLetter(reason, "no", "params", "params:0", i, b"") for i, reason in
               enumerate(["other_run", "other_run", "malformed_message"])]  # fmt: skip
    log = MemoryLog()
    log.append(strange)
    ran = run_sites(spread, logs=[log], ticks_ahead=1)
    for site in ran.values():
        assert site.dead == strange
        assert site.hub.refused == {"other_run": 2, "malformed_message": 1}


class Picky(ToyLearner):
    """Refuses all messages of round 2."""

    def combine(self, round, inbox, weights):
        if round == 2 and inbox:
            self.check_message(None)
        super().combine(round, inbox, weights)

    def check_message(self, message):
        raise MessageError("not this time")


def test_messages_that_a_learner_refuses_are_counted_too():
    spread = Spread(((30,), (30,)), make=lambda node: Picky(3))
    ran = run_sites(spread)
    for name, site in ran.items():
        degree = sum(spread.weights.graph.degree(node) for node in spread.sites[name])
        assert site.hub.refused == {"refused_message": degree}
        assert [letter.reason for letter in site.dead] == ["refused_message"] * degree


class Addressing(ToyLearner):
    """Tells each neighbour something else."""

    def __init__(self, neighbours):
        super().__init__(3)
        self.neighbours = neighbours

    def messages(self, round):
        return [
            Message({"w": freeze(self.w * (1 + place / 100))}, to=neighbour)
            for place, neighbour in enumerate(self.neighbours)
        ]


def test_a_letter_to_one_neighbour_reaches_that_one():
    spread = Spread(((40,), (40,)), graph="ring")
    neighbours = {n: spread.weights.graph.neighbours(n) for n in spread.weights.graph.nodes}
    spread.make = lambda node: Addressing(neighbours.get(node, ()))
    truth = spread.reference()
    ran = run_sites(spread)
    models = {n: w for site in ran.values() for n, w in site.models.items() if n != "pooled"}
    assert models == {node: it.w.tobytes() for node, it in truth.learners.items()}


# Reading ahead


def test_letters_are_read_a_bounded_number_of_rounds_ahead():
    spread = Spread(((60,), (60,)))
    plan = spread.link("s0", []).spread(spread.plan("s0"))
    ahead = _rounds_ahead(plan, 4)
    log = MemoryLog()
    there, here = spread.sites["s1"][0], spread.sites["s0"][0]
    log.append([Letter(there, here, round, None) for round in range(500)])
    hub = make_hub(plan.placement)
    paced = _PacedLetters(LogSource([log], spread.sites["s0"]), hub, ahead)
    part = paced.build_part("", "params:0", None)
    assert [letter.round for letter in part.next_batch()] == list(range(ahead))
    assert part.next_batch() == []
    for node in spread.sites["s0"]:
        hub.acknowledge(node, 9, None)
    assert [letter.round for letter in part.next_batch()] == list(range(ahead, ahead + 10))
    assert part.snapshot() == ahead + 10
    hub.halt.set()
    with pytest.raises(StopIteration):
        part.next_batch()


# Nodes


def rebuilt_with_news():
    spread = Spread(((90,), (60,)))
    plan = spread.link("s0", []).spread(spread.plan("s0"))
    node = SynchronousNode(plan, spread.sites["s0"][0], None)
    news = {"s1": SiteNews(12, 8)}
    events, _ = node.on_batch([Parcel(spread.sites["s1"][0], -1, None, True, news=news)])
    return node, events, SynchronousNode(plan, node.core.node, node.snapshot())


def test_a_node_tells_at_once_that_a_site_ends():
    node, events, _ = rebuilt_with_news()
    (word,) = events
    assert isinstance(word, Outgoing)
    assert word.receivers == node.core.neighbours
    assert (word.parcel.round, word.parcel.message) == (-1, None)
    assert word.parcel.news["s1"] == SiteNews(12, 8)
    again, _ = node.on_batch([Parcel("n01", -1, None, True, news=word.parcel.news)])
    assert again == []


def test_a_rebuilt_node_knows_which_sites_end_and_tells_it_again():
    _, (word,), rebuilt = rebuilt_with_news()
    assert rebuilt.gossip.ended
    events, _ = rebuilt.on_notify()
    assert word in events


def test_news_travel_with_parcels_between_processes_and_into_snapshots():
    news = {"a": SiteNews(4), "b": SiteNews(2, -1)}
    assert pickle.loads(pickle.dumps(Parcel("n", 3, None, news=news))).news == news
    assert pickle.loads(pickle.dumps(Parcel("n", 3, None))) == Parcel("n", 3, None)


# Links


def link(sites, site="a"):
    return ParameterLink(None, None, site, sites)


def test_a_link_must_fit_the_plan():
    with pytest.raises(ConfigurationError, match="'c' is not in the network; allowed: \\['a', 'b'"):
        link({"a": ("x",), "b": ("y",)}, "c")
    with pytest.raises(ConfigurationError, match="two sites: \\['x'\\]"):
        link({"a": ("x", "z"), "b": ("y", "x")})
    spread = Spread(((1,), (1,)))
    with pytest.raises(ConfigurationError, match="samples are placed on"):
        ParameterLink(None, None, "s0", spread.sites).spread(spread.plan("s1"))
    with pytest.raises(ConfigurationError, match="nodes without a site: \\['n0"):
        ParameterLink(None, None, "s0", {"s0": spread.sites["s0"]}).spread(spread.plan("s0"))
