"""The elastic net beside its peers: python -m benchmarks.elastic_net [--quick] [--only ...].

batch: 20 shards of 1,000 rows, from the rows to the parameters, without messages. Ours and
scikit-learn's are each given the loosest tolerance with which they come within a millionth of
the optimum; both get the rows as they are (row by row in memory). online: one process, one
thread. flights: 327,346 flights in time order, 400 a tick, every one predicted before it is
learned, in the loop that `anabranch run` equals bit for bit, and the peers as its baselines.
"""

import argparse
import csv
import gzip
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.linear_model import ElasticNet as Reference

from anabranch.baselines.regression import RiverBayesianLinear, RiverLinear, SklearnSGD
from anabranch.learners import BatchElasticNet
from anabranch.learners.elastic_net_shards import fold_shards, solve_shards
from anabranch.network import node_names
from anabranch.protocol import Array
from anabranch.simulate import Tick
from benchmarks.elastic_net_peers import (
    Pair,
    Step,
    alone,
    blocks_of,
    linear,
    plain_river,
    rls,
    rmse,
    run,
    together,
)
from benchmarks.table import Row, print_rows, write_results

__all__ = ["main"]

FLIGHTS = Path(__file__).parents[2] / "shared/data/regression/flights.csv.gz"
FIELDS = ("dep_delay", "distance", "air_time", "hour", "month", "sched_dep_time")
SHARDS, SHARD_ROWS, U, GAP = 20, 1000, 0.01, 1e-6
AIMS = {10: 1.0, 100: 1.0, 1000: 3.0}
"""Fields -> times of scikit-learn's that it may take."""
ONLINE_FIELDS, BLOCK, FLIGHTS_A_TICK = 9, 100, 400
ROUNDS_A_TICK = (1, 4)
_SKIPPED = 2000
_TOLERANCES = [10.0 ** (-k / 4) for k in range(6, 49)]


def main() -> None:
    """Run the sections, print the tables, write the JSON."""
    args, console, begin = _arguments(), Console(width=118), time.monotonic()
    sections: dict[str, Callable[[], Iterator[Row]]] = {
        "batch": lambda: _batch(1 if args.quick else 7),
        "online": lambda: _online(20_000 if args.quick else 200_000),
        "flights": lambda: _flights(args.flights, 20_000 if args.quick else None),
    }
    rows: list[Row] = []
    for name in args.only or sections:
        if name == "flights" and not args.flights.exists():
            console.print(f"flights: skipped, there is no {args.flights}", highlight=False)
            continue
        found = list(sections[name]())
        print_rows(console, found)
        rows += found
    seconds = round(time.monotonic() - begin, 1)
    path = write_results("elastic-net", rows, quick=args.quick, seconds=seconds)
    console.print(f"{seconds:.0f} s; {path}", highlight=False, soft_wrap=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.elastic_net")
    parser.add_argument("--quick", action="store_true", help="short runs; figures mean little")
    parser.add_argument("--only", nargs="+", choices=("batch", "online", "flights"))
    parser.add_argument("--flights", type=Path, default=FLIGHTS, help="the flights, CSV in gzip")
    return parser.parse_args()


# Batch


def _batch(repeats: int) -> Iterator[Row]:
    for features, times in AIMS.items():
        section = f"batch: {SHARDS} shards of {SHARD_ROWS:,} rows, {features} fields, gap {GAP:g}"
        X, y = _regression(features, SHARDS * SHARD_ROWS, 0.3)
        shards = list(zip(np.split(X, SHARDS), np.split(y, SHARDS), strict=True))
        solvers = {
            "ours": partial(_ours, shards),
            "scikit-learn ElasticNet": partial(_scikit, X, y, False),
            "the same by Gram matrix": partial(_scikit, X, y, True),
        }
        near = (1.0 + GAP) * _objective(*_scikit(X, y, False, 1e-12), X, y)
        loosest = {name: _loosest(solve, X, y, near) for name, solve in solvers.items()}
        seconds: dict[str, list[float]] = {name: [] for name in solvers}
        for _, (name, solve) in product(range(repeats), solvers.items()):
            seconds[name].append(_seconds(partial(solve, loosest[name])))
        own, *peers = ((name, 1e3 * median(found)) for name, found in seconds.items())
        for name, peer in peers:
            wanted = name == "scikit-learn ElasticNet"
            aim = (f"<= {times:g} times", own[1] <= times * peer) if wanted else ("", None)
            yield Row(section, "solve", own[1], "ms", name, peer, *aim)


def _regression(features: int, rows: int, noise: float, seed: int = 0) -> Pair:
    """Normal fields, half of the weights 0, and a level."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    w = np.where(rng.random(features) < 0.5, rng.normal(size=features), 0.0)
    return X, (X * w).sum(axis=1) + 2.0 + noise * rng.normal(size=rows)


def _ours(shards: Sequence[Pair], tolerance: float) -> tuple[Array, float]:
    features = shards[0][0].shape[1]
    learner = BatchElasticNet(features, u1=U, u2=U, scaling="none", relative=tolerance)
    frame, theta, _ = solve_shards(learner.settings, fold_shards(features, shards), 400)
    weights, level = frame.raw(theta)
    return weights, level - float((weights * frame.centre[:-1]).sum())


def _scikit(X: Array, y: Array, gram: bool, tolerance: float) -> tuple[Array, float]:
    model = Reference(alpha=2 * U, l1_ratio=0.5, tol=tolerance, max_iter=100_000, precompute=gram)
    model.fit(X, y)
    return model.coef_, float(model.intercept_)


def _objective(w: Array, b: float, X: Array, y: Array) -> float:
    error = X @ w + b - y
    return float(0.5 * np.mean(error**2) + U * np.abs(w).sum() + 0.5 * U * (w @ w))


def _loosest(
    solve: Callable[[float], tuple[Array, float]], X: Array, y: Array, near: float
) -> float:
    """Give the first tolerance that is good enough; whatever compiles has been compiled then."""
    for tolerance in _TOLERANCES:
        if _objective(*solve(tolerance), X, y) <= near:
            return tolerance
    raise RuntimeError(f"no tolerance down to {_TOLERANCES[-1]:g} gives an objective of {near}")


def _seconds(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


# Online


def _online(rows: int) -> Iterator[Row]:
    section = f"online: {ONLINE_FIELDS} fields, predicted then learned, {BLOCK} rows a tick"
    X, y = _regression(ONLINE_FIELDS, rows, 0.3)
    few = min(rows, 20_000)
    rls(X[:9], y[:9], 1.0)  # compiles
    peers = {
        "River LinearRegression": _rate(plain_river(X[:few], y[:few]), y[:few]),
        "RLS in numba": _rate(lambda: rls(X, y, 1.0), y),
    }
    ours = {
        "one node": _rate(lambda: run(alone(U, ONLINE_FIELDS), blocks_of(X, y, BLOCK)), y),
        "20 nodes, server": _rate(lambda: _together_in_order(X, y), y),
    }
    for (what, own), (name, peer) in product(ours.items(), peers.items()):
        wanted = name == "River LinearRegression"
        aim = (">= 10 times", own[0] >= 10 * peer[0]) if wanted else ("", None)
        yield Row(section, what, own[0], "samples/s", name, peer[0], *aim)
    for (what, own), (name, peer) in product(ours.items(), peers.items()):
        yield Row(section, f"{what}, 1000 x RMSE", 1e3 * own[1], "", name, 1e3 * peer[1])


def _rate(call: Callable[[], Array], y: Array) -> tuple[float, float]:
    """Give samples/s, the median of three, and the RMSE over the second half."""
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        predicted = call()
        seconds.append(time.perf_counter() - begin)
    half = len(y) // 2
    return len(y) / median(seconds), rmse(y[half:], predicted[half:])


def _together_in_order(X: Array, y: Array) -> Array:
    """Deal blocks to 20 nodes in turn; gives the predictions in the order of the rows."""
    blocks = blocks_of(X, y, BLOCK)
    names = node_names(20)
    ticks = [dict(zip(names, blocks[i : i + 20], strict=False)) for i in range(0, len(blocks), 20)]
    found = together(ticks, names, U)
    return np.concatenate([found[n][i // 20] for i, n in enumerate(names * len(ticks))])


# Flights


def _flights(path: Path, most: int | None) -> Iterator[Row]:
    X, y, groups = _read(path, most)
    pooled = {name: run(make(), blocks_of(X, y, FLIGHTS_A_TICK)) for name, make in _MODELS.items()}
    for group, labels in groups.items():
        masks = {name: labels == name for name in sorted(set(labels.tolist()))}
        ticks = list(_ticks(X, y, masks))
        found: dict[str, Array] = {}
        for name, make in _MODELS.items():
            found |= {f"{name}, local": _local(make, ticks, masks), f"{name}, pooled": pooled[name]}
        errors = {name: rmse(y[_SKIPPED:], out[_SKIPPED:]) for name, out in found.items()}
        section = f"flights: {len(y):,}, RMSE after the first {_SKIPPED:,}, by {group}"
        for u, rounds in product((U, 0.0), ROUNDS_A_TICK):
            ours = _gather(together(ticks, list(masks), u, rounds), masks)
            error = rmse(y[_SKIPPED:], ours[_SKIPPED:])
            figure = f"together, u = {u:g}, {rounds} a tick"
            for name, peer in errors.items():
                if not name.startswith("ours") or name.startswith(f"ours u = {u:g},"):
                    yield Row(section, figure, error, "min", name, peer)


def _read(path: Path, most: int | None) -> tuple[Array, Array, dict[str, Any]]:
    """Give fields, delay on arrival, and for carrier and origin the name of each row's node."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))[:most]
    X = np.array([[float(row[field]) for field in FIELDS] for row in rows])
    y = np.array([float(row["arr_delay"]) for row in rows])
    return X, y, {key: np.array([row[key] for row in rows]) for key in ("carrier", "origin")}


def _ticks(X: Array, y: Array, masks: Mapping[str, Any]) -> Iterator[Tick]:
    for start in range(0, len(y), FLIGHTS_A_TICK):
        part = slice(start, start + FLIGHTS_A_TICK)
        rows = {name: np.nonzero(mask[part])[0] + start for name, mask in masks.items()}
        yield {name: (X[row], y[row]) for name, row in rows.items() if len(row)}


def _local(make: Callable[[], Step], ticks: Sequence[Tick], masks: Mapping[str, Any]) -> Array:
    """Let every node learn alone."""
    steps = {name: make() for name in masks}
    found: dict[str, list[Array]] = {name: [] for name in masks}
    for tick in ticks:
        for name, (X, y) in tick.items():
            found[name].append(steps[name](X, y))
    return _gather(found, masks)


def _gather(found: Mapping[str, Sequence[Array]], masks: Mapping[str, Any]) -> Array:
    """Put the nodes' predictions into the order of the rows."""
    out = np.empty(len(next(iter(masks.values()))))
    for name, mask in masks.items():
        out[mask] = np.concatenate(found[name])
    return out


_MODELS: Mapping[str, Callable[[], Step]] = {
    f"ours u = {U:g}": lambda: alone(U, len(FIELDS)),
    "ours u = 0": lambda: alone(0.0, len(FIELDS)),
    "River LinearRegression": lambda: RiverLinear(len(FIELDS)).predict_then_learn,
    "River LinearRegression, step .001": lambda: linear(0.001),
    "River BayesianLinearRegression": lambda: RiverBayesianLinear(len(FIELDS)).predict_then_learn,
    "scikit-learn SGDRegressor": lambda: SklearnSGD(len(FIELDS)).predict_then_learn,
}


if __name__ == "__main__":
    main()
