"""A changing network without an engine: every order of arrival, crashes and changes, by a seed.

Keeps to what Bytewax promises: a snapshot holds all that its sources gave before it, parcels on
the feedback queue are lost in a crash. The network is changed when the job goes on from a snapshot.
"""

import pickle
import random
from dataclasses import replace
from functools import partial

import numpy as np

from anabranch.exchange import Policy
from anabranch.learners import NPSVOR, ElasticNet
from anabranch.network import Eras, combination_weights, random_by_degree, star
from anabranch.placement import Placement
from operators.boundary import first_free_round
from operators.items import Ack, Done, Final, Outgoing, Report
from operators.learn import _prepared, make_hub
from operators.paced_source import PacedSource
from operators.place import _cutter
from operators.scoring import Scoring
from operators.synchronous import SynchronousNode
from tests.operators.toy import ToySource
from tests.operators.toy_job import toy_plan

HUB = "n00"
"""Of elastic nets."""


def network(names, seed):
    """A connected graph over some names."""
    if len(names) < 3:
        edges = [(names[0], names[1])] if len(names) == 2 else []
        from anabranch.network import Graph

        return combination_weights(Graph.of(names, edges))
    degree = min(3, len(names) - 1)
    return combination_weights(random_by_degree(names, degree, seed=seed))


def around(names, seed):
    """A star around the hub."""
    others = [name for name in names if name != HUB]
    return combination_weights(star([HUB, *others])) if others else network(names, seed)


def another(eras, round, rng, most=8, hub=None, build=network):
    """Add a network from a round on: some leave, but no hub, some join, and edges are others."""
    nodes = [node for node in eras.newest.graph.nodes if node != hub]
    leave = rng.sample(nodes, rng.randint(0, min(3, len(nodes) - (hub is None))))
    kept = [node for node in eras.newest.graph.nodes if node not in leave]
    count = rng.randint(0, max(0, most - len(kept)))
    fresh = rng.sample([f"m{i:02d}" for i in range(40) if f"m{i:02d}" not in eras.nodes], count)
    return eras.then({round: build(sorted([*kept, *fresh]), rng.randrange(1000))})


def with_eras(plan, eras):
    """Give a plan for the newest network of some."""
    placement = Placement(eras.newest.graph.nodes, plan.placement.rule, plan.placement.partitions)
    return replace(plan, weights=eras.newest, placement=placement, eras=eras)


def content(model):
    """Give a model as what can be compared."""
    return {k: v.tobytes() if isinstance(v, np.ndarray) else v for k, v in model.items()}


class Model:
    """A job: its nodes, source partitions, scores, and what is on the way.

    `another` makes it another network.
    """

    def __init__(self, source, plan, rng, ahead=4, another=another):
        self.source, self.plan, self.rng, self.ahead = source, plan, rng, ahead
        self.another = another
        self.slow = None
        self.state = pickle.dumps({"parts": {}, "nodes": {}, "scores": None, "gave": ([], {})})
        self.start()

    def start(self):
        state = pickle.loads(self.state)
        self.hub = make_hub(self.plan.placement, lone=self.plan.lone)
        plan = _prepared(self.plan, None, self.hub, self.ahead)
        self.cut = _cutter(plan, {name: name for name in plan.members})
        self.pending, self.queue, self.acks, self.done = [], [], [], set()
        homes = dict.fromkeys(plan.placement.partitions, 0)
        paced = PacedSource(self.source, self.hub, self.ahead, homes)
        self.parts = {n: paced.build_part("", n, state["parts"].get(n)) for n in homes}
        count = len(plan.placement.nodes)
        self.scoring = Scoring(plan.task, count, False, state["scores"], eras=plan.eras)
        self.rows, self.finals = state["gave"]
        self.nodes = {n: SynchronousNode(plan, n, state["nodes"].get(n)) for n in plan.members}
        for node in self.nodes.values():
            self.emit(node.on_notify()[0] if node.notify_at() else node.on_batch([])[0])

    def emit(self, events):
        for event in events:
            if isinstance(event, Outgoing):
                self.queue += [(to, event.parcel) for to in event.receivers]
            elif isinstance(event, Ack):
                self.acks.append(event)
            elif isinstance(event, Done):
                self.done.add(event.node)
            elif isinstance(event, Report):
                self.rows += self.scoring.on_batch([event])[0]
            elif isinstance(event, Final):
                assert event.node not in self.finals, "a node gives its model twice"
                self.finals[event.node] = content(event.model)

    def read(self):
        part = self.parts[self.rng.choice(list(self.parts))]
        items = [] if part._ended else part.next_batch()
        for node, share in self.cut(items):
            self.pending.append((node, share))
        return bool(items)

    def post(self):
        """A parcel comes back from the feedback queue, in any order."""
        parcel = self.pick(self.queue)
        self.pending += [parcel] if parcel else []
        return parcel is not None

    def deliver(self):
        item = self.pick(self.pending)
        if item:
            self.emit(self.nodes[item[0]].on_batch([item[1]])[0])
        return item is not None

    def pick(self, items):
        """Take out one of some items, seldom one for the node that is slow for a while."""
        place = self.rng.randrange(len(items)) if items else 0
        if not items or (items[place][0] == self.slow and self.rng.random() < 0.98):
            return None
        return items.pop(place)

    def acknowledge(self):
        if not self.acks:
            return False
        ack = self.acks.pop(self.rng.randrange(len(self.acks)))
        self.hub.acknowledge(ack.node, ack.tick, ack.partition)
        return True

    def snapshot(self):
        while self.pending:
            self.deliver()
        state = {
            "parts": {name: part.snapshot() for name, part in self.parts.items()},
            "nodes": {name: node.snapshot() for name, node in self.nodes.items()},
            "scores": self.scoring.snapshot(),
            "gave": (self.rows, self.finals),
        }
        self.state = pickle.dumps(state)

    def resume(self, change):
        """Go on from the last snapshot, perhaps with another network."""
        states = pickle.loads(self.state)["nodes"].values()
        if change:
            each = self.plan.rounds_per_tick
            eras = self.plan.eras or Eras.of(self.plan.weights)
            first = max(first_free_round(states, each), eras.steps[-1][0] + each)
            self.plan = with_eras(self.plan, self.another(eras, first, self.rng))
        self.start()

    @property
    def over(self):
        return all(len(node.ends) == len(self.parts) for node in self.nodes.values())

    @property
    def finished(self):
        return self.done == set(self.nodes)


def play(model, crashes, changes):
    """Run to the end; every choice is the model's. A change is not made to a stream that ended."""
    rng, still = model.rng, 0
    while not model.finished:
        chance = rng.random()
        if crashes and chance < 0.03:
            change = bool(changes) and not model.over and rng.random() < 0.7
            crashes, changes = crashes - 1, changes - change
            model.resume(change)
        elif chance < 0.1:
            model.snapshot()
        elif chance < 0.2:
            model.slow = rng.choice([None, *model.nodes])
        steps = (model.read, model.post, model.deliver, model.acknowledge)
        moved = [rng.choice(steps)() for _ in range(rng.choice((1, 3, 30)))]
        still = 0 if any(moved) else still + 1
        assert still < 500, "nothing moves any more"


def random_model(seed, build=network, **options):
    """A job of up to three partitions under some rule, rounds and policy."""
    rng = random.Random(seed)
    rows = [rng.choice((0, 20, 70, 120)) for _ in range(rng.randint(1, 3))]
    source = ToySource(rows, rng.choice((3, 5)))
    policy = rng.choice((Policy(), Policy(), Policy(every=3), Policy("event", tolerance=0.1)))
    plan = toy_plan(
        source.names, rng.choice(("round-robin", "partition", "hash")), policy=policy,
        rounds_per_tick=rng.choice((1, 1, 2)), final_rounds=rng.choice((0, 3)), report_every=10,
    )  # fmt: skip
    eras = Eras.of(build([f"n{i:02d}" for i in range(rng.randint(1, 6))], seed % 1000))
    return Model(source, with_eras(plan, eras), rng, **options)


def elastic_model(seed, shape):
    """The same with elastic nets."""

    def make(node):
        return ElasticNet(3, shape=shape, role="hub" if node == HUB else "node")

    build = around if shape == "server" else network
    model = random_model(seed, build, another=partial(another, hub=HUB, build=build))
    model.plan = replace(model.plan, make=make, restore=ElasticNet.restore, task="regression")
    model.start()
    return model


def npsvor_model(seed):
    """The same with NPSVOR."""

    def make(node):
        return NPSVOR(3, 2)

    model = random_model(seed)
    model.plan = replace(model.plan, make=make, restore=NPSVOR.restore, task="ordinal")
    model.start()
    return model
