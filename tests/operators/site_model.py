"""Sites without an engine: every order of arrival, and crashes anywhere, by a seed.

Keeps to what Bytewax promises: a snapshot holds all that its sources gave before it, parcels on
the feedback queue and letters not yet in the log are lost in a crash.
"""

import pickle
import random

from anabranch.stream import Block, DeadLetter
from operators.items import Ack, Done, Outgoing
from operators.learn import _prepared, make_hub
from operators.paced_source import PacedSource
from operators.place import _cutter
from operators.sites import _keeper, _opener, _PacedLetters, _rounds_ahead, _writer
from operators.synchronous import SynchronousNode
from tests.operators.letter_log import MemoryLog, write


class ModelSite:
    """One site: its nodes, source partitions, letters, and what is on the way."""

    def __init__(self, spread, site, logs, rng, ticks_ahead=4):
        self.spread, self.site, self.logs, self.rng = spread, site, logs, rng
        self.ahead = ticks_ahead
        self.link = spread.link(site, logs)
        self.dead, self.lead = [], 0
        self.saved = [pickle.dumps({"parts": {}, "letters": [None] * len(logs), "nodes": {}})]
        self.start()

    def start(self):
        state = pickle.loads(self.saved[-1])
        self.hub = make_hub(self.spread.plan(self.site).placement)
        self.plan = _prepared(self.spread.plan(self.site), self.link, self.hub, self.ahead)
        self.hub.expect(self.plan.elsewhere)
        names = self.plan.placement.nodes
        self.keys = {node: node for node in names}
        self.pending, self.queue, self.outbox, self.acks, self.done = [], [], [], [], set()
        self.open = _opener(self.link.homes, self.keys, self.hub)
        self.cut = _cutter(self.plan, self.keys)
        self.letters_out = _writer(frozenset(names), False, self.hub)
        self.keep = _keeper(frozenset(names))
        paced = PacedSource(
            self.spread.site_source(self.site), self.hub, self.ahead,
            dict.fromkeys(self.plan.placement.partitions, 0),
        )  # fmt: skip
        self.parts = {n: paced.build_part("", n, state["parts"].get(n)) for n in paced.list_parts()}
        ahead = _rounds_ahead(self.plan, self.ahead)
        letters = _PacedLetters(self.link.source, self.hub, ahead, self.plan.rounds_per_tick)
        self.letters = [
            letters.build_part("", name, offset)
            for name, offset in zip(letters.list_parts(), state["letters"], strict=True)
        ]
        self.nodes = {n: SynchronousNode(self.plan, n, state["nodes"].get(n)) for n in names}
        for node in self.nodes.values():
            events, _ = node.on_notify() if node.notify_at() else node.on_batch([])
            self.emit(events)

    def emit(self, events):
        events = list(events)
        outgoing = [e for e in events if isinstance(e, Outgoing)]
        self.outbox += [letter for _, letter in self.letters_out(outgoing)]
        self.queue += [(to, o.parcel) for o in self.keep(outgoing) for to in o.receivers]
        self.acks += [e for e in events if isinstance(e, Ack)]
        self.done |= {e.node for e in events if isinstance(e, Done)}
        self.dead += [e for e in events if isinstance(e, DeadLetter)]

    # What may happen next; each tells whether anything did.

    def read_source(self):
        live = [name for name, part in self.parts.items() if not part._ended]
        if not live:
            return False
        part = self.parts[self.rng.choice(live)]
        items = part.next_batch() if not part._ended else []
        self.pending += [(node, [share]) for node, share in self.cut(items)]
        self.dead += [d for item in items if isinstance(item, Block) for d in item.dead]
        return bool(items)

    def read_letters(self):
        items = self.rng.choice(self.letters).next_batch()
        self.lead = max([self.lead, *(i.round - self.slowest() for i in items)])
        self.pending += self.open(items)
        return bool(items)

    def slowest(self):
        return min(node.round for node in self.nodes.values())

    def post(self):
        """A parcel comes back from the feedback queue, in any order."""
        if not self.queue:
            return False
        node, parcel = self.queue.pop(self.rng.randrange(len(self.queue)))
        self.pending.append((node, [parcel]))
        return True

    def deliver(self):
        if not self.pending:
            return False
        node, values = self.pending.pop(self.rng.randrange(len(self.pending)))
        self.emit(self.nodes[node].on_batch(list(values))[0])
        return True

    def acknowledge(self):
        if not self.acks:
            return False
        ack = self.acks.pop(self.rng.randrange(len(self.acks)))
        self.hub.acknowledge(ack.node, ack.tick, ack.partition)
        return True

    def flush(self):
        """Some letters reach the log, those of one sender and receiver in order."""
        if not self.outbox:
            return False
        count = self.rng.randint(1, len(self.outbox))
        write(self.logs, self.outbox[:count])
        del self.outbox[:count]
        return True

    def snapshot(self):
        while self.deliver() or self.flush():
            pass
        state = {
            "parts": {name: part.snapshot() for name, part in self.parts.items()},
            "letters": [part.snapshot() for part in self.letters],
            "nodes": {name: node.snapshot() for name, node in self.nodes.items()},
        }
        self.saved.append(pickle.dumps(state))

    def crash(self):
        """Lose all but a snapshot, not always the last."""
        if self.rng.random() < 0.5:
            self.flush()
        del self.saved[self.rng.randint(max(1, len(self.saved) - 3), len(self.saved)) :]
        self.start()

    @property
    def steps(self):
        return (
            self.read_source, self.read_letters, self.post, self.deliver, self.acknowledge,
            self.flush,
        )  # fmt: skip

    @property
    def finished(self):
        return self.done == set(self.nodes)


def play(spread, seed, crashes=0, partitions=2):
    """Run all sites to their end; every choice is the seed's. Returns the sites."""
    rng = random.Random(seed)
    logs = [MemoryLog() for _ in range(partitions)]
    sites = [ModelSite(spread, site, logs, rng) for site in spread.sites]
    left = crashes
    still = 0
    while not all(site.finished for site in sites) or left:
        site = rng.choice(sites)
        chance = rng.random()
        if left and chance < 0.003:
            site.crash()
            left, still = left - 1, 0
        elif crashes and chance < 0.01:
            site.snapshot()
        # A site is quick or slow for a while.
        moved = [rng.choice(site.steps)() for _ in range(rng.choice((1, 3, 30)))]
        still = 0 if any(moved) else still + 1
        assert left or still < 300, "nothing moves any more"
    return sites
