"""A toy job spread over sites: which site hosts which nodes and reads which partitions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from anabranch.exchange import Policy
from anabranch.network import build_graph, combination_weights, node_names
from anabranch.placement import Placement
from anabranch.simulate import simulate
from operators.sites import ParameterLink
from tests.operators.flows import joined
from tests.operators.letter_log import LogSink, LogSource
from tests.operators.toy import ToyLearner, ToySource
from tests.operators.toy_job import toy_plan


class SiteSource(ToySource):
    """The partitions of one site, named among those of all."""

    def __init__(self, whole, parts):
        super().__init__(whole.rows, whole.per_tick)
        self.block = whole.block
        self.parts = list(parts)

    def list_parts(self):
        return self.parts


@dataclass
class Spread:
    """Partitions of given lengths, dealt to sites; nodes in blocks or dealt out."""

    rows: tuple[tuple[int, ...], ...]
    graph: str = "random"
    nodes: int = 7
    dealt: bool = False
    rule: str = "hash"
    policy: Policy = field(default_factory=Policy)
    final_rounds: int = 0
    per_tick: int = 7
    rounds_per_tick: int = 1
    make: Callable = lambda node: ToyLearner(3)
    source_of: Callable = ToySource
    options: Mapping = field(default_factory=dict)

    def __post_init__(self):
        names = node_names(self.nodes)
        options = {"degree": 3, "seed": 1} if self.graph == "random" else {}
        self.weights = combination_weights(build_graph(self.graph, names, **options))
        count = len(self.rows)
        cut = [names[i::count] if self.dealt else names[i * len(names) // count :
               (i + 1) * len(names) // count] for i in range(count)]  # fmt: skip
        self.sites = {f"s{i}": tuple(nodes) for i, nodes in enumerate(cut)}
        self.source = self.source_of([n for site in self.rows for n in site], self.per_tick)
        ends = np.cumsum([0, *map(len, self.rows)])
        self.parts = {
            site: self.source.names[ends[i] : ends[i + 1]] for i, site in enumerate(self.sites)
        }

    def plan(self, site):
        placement = Placement(self.sites[site], self.rule, tuple(self.parts[site]))
        plan = toy_plan((), policy=self.policy, final_rounds=self.final_rounds)
        return replace(
            plan, weights=self.weights, placement=placement, make=self.make,
            rounds_per_tick=self.rounds_per_tick, **self.options,
        )  # fmt: skip

    def site_source(self, site):
        return SiteSource(self.source, self.parts[site])

    def link(self, site, logs, process=0, processes=1):
        source = LogSource(logs, self.sites[site])
        return ParameterLink(source, LogSink(logs, process, processes), site, self.sites)

    def reference(self):
        """Run the whole job in the reference loop."""
        placements = [self.plan(s).placement for s in self.sites for _ in self.parts[s]]
        ticks = max(-(-n // self.per_tick) for n in self.source.rows)
        learners = {node: self.make(node) for node in self.weights.graph.nodes}
        return simulate(
            learners, self.weights, [self._tick(placements, t) for t in range(ticks)],
            final_rounds=self.final_rounds, policy=self.policy,
            rounds_per_tick=self.rounds_per_tick,
        )  # fmt: skip

    def _tick(self, placements, number):
        shares = {}
        for part, (total, placement) in enumerate(zip(self.source.rows, placements, strict=True)):
            start = number * self.per_tick
            count = min(self.per_tick, total - start)
            if count > 0:
                block = self.source.block(part, number, start, count)
                for node, share in placement.shares(block).items():
                    shares.setdefault(node, []).append(share)
        return {node: joined(got) for node, got in shares.items()}
