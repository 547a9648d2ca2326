"""The DOML paper's tables beside what comes out here, and how the algorithm behaves."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from anabranch.reproduce import doml_behaviour as behaviour
from anabranch.reproduce import doml_literal as literal
from anabranch.reproduce import doml_practical as practical
from anabranch.reproduce import doml_windows as windows
from anabranch.reproduce.doml_bytes import byte_rows, byte_table
from anabranch.reproduce.doml_data import LabelSplit, standardised
from anabranch.reproduce.doml_paper import QUICK
from anabranch.reproduce.doml_table import Row, Table

__all__ = ["Extent", "Job", "jobs", "reproduce", "tables"]

Splits = Mapping[str, LabelSplit]
_SOME = ("ring", "random")
"""Graphs for what is not looked at on all."""


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is run.

    Attributes
    ----------
    shuffles : random orders over which the quick sets' practical scores are means; the other
        sets have one
    nodes : sizes of network beside three
    rounds : of exchange, for convergence
    graphs, delays : for convergence and late messages; scene, which is
        slower, has the first delay only, on ring and random graphs
    windows : newest rows kept, 0 for all
    volumes : sets whose messages are weighed
    """

    shuffles: int = 3
    nodes: Sequence[int] = (20, 100)
    rounds: int = 1000
    graphs: Sequence[str] = behaviour.GRAPHS
    delays: Sequence[int] = (1, 10)
    windows: Sequence[int] = (20, 100, 0)
    volumes: Sequence[str] = ("emotions", "yeast")

    @classmethod
    def quick(cls) -> "Extent":
        """Give an extent of less than a minute, for the quick sets."""
        return cls(1, (20,), 200, ("ring", "star"), (1,), (100,), ("emotions",))


@dataclass(frozen=True, slots=True)
class Job:
    """A piece of work: the table it gives rows of, what it is, and how to run it."""

    table: str
    what: str
    rows: Callable[[], Sequence[Row]]


def jobs(splits: Splits, extent: Extent) -> Iterator[Job]:
    """Give what there is to do with these sets, table by table."""
    for name, split in splits.items():
        quick = name in QUICK
        yield Job("knn", f"{name}, ML-kNN", partial(literal.knn_rows, split))
        yield Job("literal", f"{name}, three nodes", partial(literal.literal_rows, split))
        sizes = [n for n in extent.nodes if n < 100 or name in literal.ARTEFACT]
        yield Job("nodes", f"{name}, more nodes", partial(literal.node_rows, split, sizes))
        shuffles = extent.shuffles if quick else 1
        yield Job(
            "practical", f"{name}, shuffled", partial(practical.practical_rows, split, shuffles)
        )
    if "scene" in splits:
        yield Job("sorted", "scene by class", partial(practical.sorted_rows, splits["scene"]))
    yield from _convergence(splits, extent)
    if "yeast" in splits:
        scaled = standardised(splits["yeast"].shuffled(0))
        yield Job("windows", "yeast, windows", partial(windows.window_rows, scaled, extent.windows))
        yield Job("drift", "yeast, drift", partial(windows.drift_rows, scaled))
    for name in extent.volumes:
        if name in splits:
            yield Job("bytes", f"{name}, forms of messages", partial(byte_rows, splits[name]))


def _convergence(splits: Splits, extent: Extent) -> Iterator[Job]:
    for name in ("emotions", "scene"):
        if name not in splits:
            continue
        split, rounds = standardised(splits[name].shuffled(0)), extent.rounds
        graphs = partial(behaviour.graph_rows, split, rounds=rounds)
        delays = extent.delays if name == "emotions" else extent.delays[:1]
        late = partial(behaviour.delay_rows, split, delays=delays, rounds=rounds)
        for graph in extent.graphs:
            yield Job("graphs", f"{name}, {graph}", partial(graphs, (graph,)))
            if name == "emotions" or graph in _SOME:
                yield Job("delay", f"{name}, {graph}, late messages", partial(late, (graph,)))
        some = [graph for graph in _SOME if graph in extent.graphs]
        lossy = partial(behaviour.loss_rows, split, some, rounds=rounds)
        yield Job("loss", f"{name}, lost messages", lossy)


def tables(found: Mapping[str, Sequence[Row]], extent: Extent) -> list[Table]:
    """Put rows, by the table they are of, into tables with captions and notes."""
    makers: Mapping[str, Callable[[Sequence[Row]], Table]] = {
        "knn": literal.knn_table,
        "literal": literal.literal_table,
        "nodes": literal.nodes_table,
        "practical": practical.practical_table,
        "sorted": practical.sorted_table,
        "graphs": partial(behaviour.graph_table, rounds=extent.rounds),
        "delay": partial(behaviour.delay_table, rounds=extent.rounds),
        "loss": partial(behaviour.loss_table, rounds=extent.rounds),
        "windows": windows.window_table,
        "drift": windows.drift_table,
        "bytes": byte_table,
    }
    return [make(found[key]) for key, make in makers.items() if found.get(key)]


def reproduce(
    splits: Splits,
    extent: Extent | None = None,
    tell: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> list[Table]:
    """Run everything that these sets allow.

    Parameters
    ----------
    splits : by the names of `doml_paper.SETS`; sets that are not there are left out
    extent : how much; everything unless given
    tell : called before each piece of work with what it is, its number from 0, and of how many
    """
    extent = extent or Extent()
    work, found = list(jobs(splits, extent)), dict[str, list[Row]]()
    for done, job in enumerate(work):
        tell(job.what, done, len(work))
        found.setdefault(job.table, []).extend(job.rows())
    return tables(found, extent)
