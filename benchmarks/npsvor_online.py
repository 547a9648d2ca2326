"""Online NPSVOR on real texts: python -m benchmarks.npsvor_online [--quick] [--sets SET ...].

scores: prequential MAE on hashed uni- and bigrams (2**18), shuffled by seed 0: one node, ten that
exchange every row or every ten, plain averages, and alone; bytes a row; nodes by domain or author.
speed: rows a second of this thread's time beside River's, rows hashed before, and hashing included.
"""

import argparse
import gzip
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from river import linear_model, multiclass

from anabranch.features.hashing import TextHasher
from anabranch.learners import NPSVOR
from anabranch.network import Graph, combination_weights, node_names
from anabranch.network.builders import build_graph
from anabranch.protocol import Array
from anabranch.simulate import simulate
from anabranch.sparse import SparseRows
from benchmarks.npsvor_sets import DATA, REAL
from benchmarks.table import Row, print_rows, write_results

__all__ = ["main"]

TABLE: Mapping[str, Mapping[str, float]] = {
    "amazon4": {"one node": 0.625, "every row": 0.624, "every 10": 0.676, "plain average, every 10":
                0.872, "alone": 0.830},
    "moviereview": {"one node": 0.449, "every row": 0.456, "every 10": 0.482,
                    "plain average, every 10": 0.567, "alone": 0.601},
    "semeval": {"one node": 0.432, "every row": 0.433, "every 10": 0.435, "plain average, every 10":
                0.505, "alone": 0.485},
    "largemovie": {"one node": 1.090, "every row": 1.090, "every 10": 1.109, "alone": 1.300},
}  # fmt: skip
"""What an earlier trial gave, without stop words; ours has all words."""
Tick = dict[str, Any]
"""Each node's rows."""
GROUPS = {"amazon4": 1, "moviereview": 1}
"""Sets with a column that tells the domain or the author."""
NODES = 10
QUICK, TIMED, BLOCK, REPEATS = 600, 4000, 100, 3
SECONDS = 20.0


@dataclass(frozen=True)
class Texts:
    """A set: rows, ranks, groups and the texts themselves, shuffled."""

    name: str
    X: SparseRows
    y: Array
    group: Array
    texts: list[str]

    @property
    def ranks(self) -> int:
        return int(self.y.max())


def load(name: str, most: int | None) -> Texts:
    """Read a set and hash its texts."""
    with gzip.open(DATA / REAL[name], "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    order = np.random.default_rng(0).permutation(len(rows))[:most]
    texts = [rows[i][-1] for i in order]
    y = np.array([float(rows[i][0]) for i in order])
    group = np.array([rows[i][GROUPS.get(name, 0)] for i in order])
    return Texts(name, TextHasher(bits=18, ngrams=2).rows(texts), y, group, texts)


def mae(found: Mapping[str, list[Array]], truth: Mapping[str, list[Array]]) -> float:
    """Give the mean |predicted - true| over all nodes."""
    errors = [np.abs(p - t) for n in truth for p, t in zip(found[n], truth[n], strict=True)]
    return float(np.concatenate(errors).mean())


def dealt(data: Texts, names: tuple[str, ...], each: int) -> Iterator[Tick]:
    """Deal rows to the nodes in turn, `each` to one at a time."""
    for start in range(0, len(data.y), each * len(names)):
        parts = [slice(start + i * each, start + (i + 1) * each) for i in range(len(names))]
        yield {n: (data.X[p], data.y[p]) for n, p in zip(names, parts, strict=True)}


def grouped(data: Texts) -> Iterator[Tick]:
    """Give each group's rows to a node of its own, one at a time."""
    places = [np.flatnonzero(data.group == one) for one in np.unique(data.group)]
    names = node_names(len(places))
    for t in range(max(map(len, places))):
        one = {n: p[t : t + 1] for n, p in zip(names, places, strict=True) if t < len(p)}
        yield {n: (data.X[p], data.y[p]) for n, p in one.items()}


def together(
    data: Texts, graph: Graph, ticks: Iterator[Tick], **options: Any
) -> tuple[float, float]:
    """Let nodes exchange; give the error, and the bytes that a row costs a neighbour."""
    nodes = {n: NPSVOR(data.X.features, data.ranks, **options) for n in graph.nodes}
    run = simulate(nodes, combination_weights(graph), ticks)
    receivers = 2 * len(graph.edges) / len(graph.nodes)
    return mae(run.predicted, run.truth), run.bytes / len(data.y) / max(1.0, receivers)


def alone(data: Texts, ticks: Iterator[Tick]) -> float:
    """Let nodes learn without hearing of each other."""
    nodes: dict[str, NPSVOR] = {}
    found: dict[str, list[Array]] = {}
    truth: dict[str, list[Array]] = {}
    for tick in ticks:
        for name, (X, y) in tick.items():
            node = nodes.setdefault(name, NPSVOR(data.X.features, data.ranks))
            node.combine(0, {}, {})
            found.setdefault(name, []).append(node.predict_then_learn(X, y))
            truth.setdefault(name, []).append(y)
    return mae(found, truth)


def averaged(data: Texts, each: int) -> float:
    """Average the planes of all nodes after every tick, and add their sums of squares up."""
    names, p = node_names(NODES), data.ranks
    nodes = {n: NPSVOR(data.X.features, p) for n in names}
    base = np.zeros_like(nodes[names[0]]._table.values)
    found: dict[str, list[Array]] = {n: [] for n in names}
    truth: dict[str, list[Array]] = {n: [] for n in names}
    for tick in dealt(data, names, each):
        total = np.zeros_like(base)
        for name, (X, y) in tick.items():
            node = nodes[name]
            node.combine(0, {}, {})
            found[name].append(node.predict_then_learn(X, y))
            truth[name].append(y)
            total += node._table.values - base
        total[:, :p] /= NODES
        base += total
        for node in nodes.values():
            node._table.values[:] = base
    return mae(found, truth)


def score_rows(names: Sequence[str], quick: bool) -> Iterator[Row]:
    """Give the table, set by set."""
    for name in names:
        data = load(name, QUICK if quick else None)
        each = len(data.X.indices) / len(data.y)
        section = f"{name}: {len(data.y):,} rows of {each:.0f} features"
        graph = build_graph("complete", node_names(1))
        one, _ = together(data, graph, dealt(data, graph.nodes, BLOCK))
        yield _score(section, name, "one node", one)
        yield from _network_rows(section, data, one, quick)
        if name in GROUPS:
            yield from _group_rows(section, data, one)


def _network_rows(section: str, data: Texts, one: float, quick: bool) -> Iterator[Row]:
    names = node_names(NODES)
    complete, ring = build_graph("complete", names), build_graph("ring", names)
    apart = alone(data, dealt(data, names, 10))
    yield _score(section, data.name, "alone", apart)
    # of few rows, what nodes do not know yet weighs more
    near = 0.1 if quick else 0.01
    close = ("< one node + .1" if quick else "< one node + .01", one + near)
    for label, each, graph, options, aim in (
        ("every row", 1, complete, {}, close),
        ("every row, float16", 1, complete, {"wire": "half"}, close),
        ("every row, on a ring", 1, ring, {}, close),
        ("every 10", 10, complete, {}, ("< alone", apart)),
    ):
        error, size = together(data, graph, dealt(data, names, each), **options)
        yield _score(section, data.name, label, error, *aim)
        if graph is complete:
            yield Row(section, f"{label}: to a neighbour", size * each, "bytes a message")
    if data.name != "largemovie":
        yield _score(section, data.name, "plain average, every 10", averaged(data, 10))


def _score(
    section: str, name: str, label: str, error: float, aim: str = "", limit: float = np.inf
) -> Row:
    peer = TABLE[name].get(label)
    value = None if peer is None else 1000 * peer
    met = error < limit if aim else None
    return Row(section, label, 1000 * error, "MAE/1000", "trial" if peer else "", value, aim, met)


def _group_rows(section: str, data: Texts, one: float) -> Iterator[Row]:
    count = len(np.unique(data.group))
    graph = build_graph("complete", node_names(count))
    kind = f"{count} nodes by {'domain' if data.name == 'amazon4' else 'author'}"
    error, _ = together(data, graph, grouped(data))
    apart = alone(data, grouped(data))
    unit, peer = "MAE/1000", ("one node", 1000 * one)
    met = error < apart
    yield Row(section, f"{kind}, together", 1000 * error, unit, *peer, "< alone", met)
    yield Row(section, f"{kind}, alone", 1000 * apart, unit, *peer)


def speed_rows(names: Sequence[str], quick: bool) -> Iterator[Row]:
    """Give rows a second, each the median of some runs, beside River's, whose rows are ready."""
    for name in names:
        data = load(name, QUICK if quick else TIMED)
        samples = _samples(data)
        hashed, whole = (_rate(partial(_ours, data, hashing)) for hashing in (False, True))
        for peer, model, most, least in (
            ("River's PAClassifier one-vs-rest", _passive(), 10.0, 4.0),
            ("River's LinearRegression", linear_model.LinearRegression(), 3.0, 1.5),
        ):
            rate = _rate(partial(_river, samples, model), repeats=1)
            for label, ours, aim in (
                ("hashed before", hashed, most),
                ("with hashing", whole, least),
            ):
                told = (f">= {aim:g}x", ours >= aim * rate)
                yield Row(f"speed: {name}", label, ours, "rows/s", peer, rate, *told)


def _samples(data: Texts) -> list[tuple[dict[int, float], int]]:
    ends = data.X.indptr.tolist()
    indices, values = data.X.indices.tolist(), data.X.values.tolist()
    rows = (dict(zip(indices[a:b], values[a:b], strict=True)) for a, b in pairwise(ends))
    return list(zip(rows, data.y.astype(int).tolist(), strict=True))


def _passive() -> Any:
    binary = linear_model.PAClassifier()  # type: ignore[no-untyped-call]
    return multiclass.OneVsRestClassifier(binary)


def _rate(run: Callable[[], int], repeats: int = REPEATS) -> float:
    """Give the median rate of `run`, which tells how many rows it did."""
    rates = []
    for _ in range(repeats):
        begin = time.thread_time()
        rows = run()
        rates.append(rows / (time.thread_time() - begin))
    return float(np.median(rates))


def _ours(data: Texts, hashing: bool) -> int:
    node, hasher = NPSVOR(data.X.features, data.ranks), TextHasher(bits=18, ngrams=2)
    node.combine(0, {}, {})
    for start in range(0, len(data.y), BLOCK):
        part = slice(start, start + BLOCK)
        X = hasher.rows(data.texts[part]) if hashing else data.X[part]
        node.predict_then_learn(X, data.y[part])
    return len(data.y)


def _river(samples: Sequence[tuple[dict[int, float], int]], model: Any) -> int:
    model = model.clone()
    begin = time.thread_time()
    for i, (x, y) in enumerate(samples):
        model.predict_one(x)
        model.learn_one(x, y)
        if time.thread_time() - begin > SECONDS:
            return i + 1
    return len(samples)


SECTIONS: Mapping[str, Callable[[Sequence[str], bool], Iterator[Row]]] = {
    "scores": score_rows,
    "speed": speed_rows,
}


def main() -> None:
    """Run the sections, print the tables, write the JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.npsvor_online")
    parser.add_argument("--quick", action="store_true", help="600 rows of two sets")
    parser.add_argument("--sets", nargs="+", choices=list(TABLE), help="sets to read")
    parser.add_argument("--only", nargs="+", choices=list(SECTIONS), help="sections to run")
    args, console, begin = parser.parse_args(), Console(width=118), time.monotonic()
    if not Path(DATA).exists():
        console.print(f"skipped, there is no {DATA}", highlight=False)
        return
    rows: list[Row] = []
    sets = args.sets or list(TABLE)[: 2 if args.quick else None]
    for name in args.only or SECTIONS:
        found = list(SECTIONS[name](sets, args.quick))
        print_rows(console, found)
        rows += found
    seconds = round(time.monotonic() - begin, 1)
    path = write_results("npsvor_online", rows, quick=args.quick, seconds=seconds)
    console.print(f"{seconds:.0f} s; {path}", highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
