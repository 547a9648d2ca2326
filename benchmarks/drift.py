"""Drift: how soon it is found, how often wrongly, and what the policies are worth.

python -m benchmarks.drift [--quick] [--only SECTION ...]. Twenty nodes on a random graph, of
which one, five neighbours, or all drift, at once or over 1,000 samples of each, after 2,000
(policies: over 600 after 1,500, with the first 1,000 the same for all). KSWIN looks at means of 5
samples, the others at those of 20.
Figures are of seeded streams in the reference loop, so that how fast the machine is does not
matter; only the section "cost" needs a quiet one.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from anabranch.drift import DETECTORS, Change, DriftRule, NodeWatch
from anabranch.protocol import Array
from benchmarks.drift_streams import (
    NAMES,
    SITES,
    Begun,
    Told,
    begun,
    dsvor,
    go_on,
    look,
    run,
    trials,
)
from benchmarks.sections import run_sections
from benchmarks.table import Row

__all__ = ["main"]

_CALM = 200_000
_RULES = [DriftRule(name, every=5 if name == "kswin" else 20, nodes=20) for name in DETECTORS]


def main() -> None:
    """Run the sections, print the table, write the JSON."""
    run_sections("drift", _SECTIONS, 130)


def _delays(quick: bool) -> Iterator[Row]:
    """From the first drifting sample of a node until it is told, over all nodes that drift."""
    trial = dsvor()
    for reach, sites in SITES.items():
        for ramp in (0, 1000):
            seeds = range(1 if quick else 3)
            runs = [run(replace(trial, seed=seed), sites, ramp, None) for seed in seeds]
            for rule in _RULES:
                section = f"delay: {reach}, {'gradual' if ramp else 'sudden'}"
                yield from _found(section, rule, runs, sites, trial.per)


def _found(
    section: str, rule: DriftRule, runs: list[Told], sites: list[int], per: int
) -> Iterator[Row]:
    delays: list[float] = []
    starts: list[float] = []
    right, drifting = 0, {NAMES[site] for site in sites}
    reach = {1: "node", len(NAMES): "network"}.get(len(sites), "neighbourhood")
    for told in runs:
        first = told.begin // per
        changes, drifts = look(told.simulation, rule)
        nodes: dict[str, Change] = {}
        for change in changes:
            if change.kind == "begin" and change.round >= first and change.node in drifting:
                nodes.setdefault(change.node, change)
        delays += [(found.round - first + 1) * per for found in nodes.values()]
        starts += [(found.since - first) * per for found in nodes.values()]
        right += any(drift.scope == reach for drift in drifts if drift.round >= first)
    who, unit, wanted = rule.detector, "samples of node", len(runs) * len(sites)
    yield Row(section, f"{who}: nodes found", len(delays), "nodes", "drifting", wanted)
    yield Row(section, f"{who}: right verdict", right, "runs", "runs", len(runs))
    if delays:
        yield Row(section, f"{who}: median delay", float(np.median(delays)), unit)
        yield Row(section, f"{who}: longest delay", max(delays), unit)
        yield Row(section, f"{who}: median since, from the truth", float(np.median(starts)), unit)


def _calm(quick: bool) -> Iterator[Row]:
    """False alarms where nothing drifts: in the network, and at 20 nodes of as many samples."""
    for each, section in ((_CALM // len(NAMES), f"calm: {_CALM:,} samples in all"),
                          (_CALM, f"calm: {_CALM:,} samples a node")):  # fmt: skip
        if each == _CALM and quick:
            return
        trial = replace(dsvor(), rows=each, begin=each)
        errors = run(trial, [], 0, None).errors()
        for rule in _RULES:
            if rule.detector == "kswin" and each == _CALM:
                continue  # hours of Kolmogorov-Smirnov tests
            alarms = sum(_alarms(rule, values) for values in errors.values())
            aim = ("<= 2", alarms <= 2) if each < _CALM else ("", None)
            yield Row(section, f"{rule.detector}: false alarms", alarms, "alarms", "", None, *aim)


def _alarms(rule: DriftRule, errors: Array) -> int:
    watch, zeros, found = NodeWatch(rule, "n00"), np.zeros(rule.every), 0
    for at in range(0, len(errors) - rule.every + 1, rule.every):
        watch.see(zeros, errors[at : at + rule.every])
        found += sum(change.kind == "begin" for change in watch.close(at))
    return found


def _policies(quick: bool) -> Iterator[Row]:
    """Mean error from the drift on, with a policy beside "log"; then where nothing drifts."""
    for trial, policies in trials().items():
        seeds = [begun(replace(trial, seed=seed)) for seed in range(1 if quick else 3)]
        for reach, sites in (*SITES.items(), ("none", [])):
            for ramp in (0, 600) if sites else (0,):
                how = f", {'gradual' if ramp else 'sudden'}" if sites else ""
                section = f"policy: {trial.name}: {reach}{how}"
                yield from _worth(section, seeds, policies, sites, ramp)


def _worth(
    section: str, seeds: list[Begun], policies: tuple[str, ...], sites: list[int], ramp: int
) -> Iterator[Row]:
    found: dict[str, Array] = {}
    for policy in ("log", *policies):
        rule = DriftRule("page-hinkley", policy, nodes=len(NAMES))  # type: ignore[arg-type]
        runs = [go_on(seed, sites, ramp, rule) for seed in seeds]
        found[policy] = np.mean([told.means(sites or [*range(len(NAMES))]) for told in runs], 0)
    base, unit = found["log"], seeds[0].trial.unit
    for policy in policies:
        own = found[policy]
        aim = _aim(float(own[0] / base[0]), len(sites))
        who = "drifting nodes" if sites else "all nodes"
        yield Row(section, f"{policy}: error, {who}", own[0], unit, "log", base[0], *aim)
        if 0 < len(sites) < len(NAMES):
            yield Row(section, f"{policy}: error, all nodes", own[1], unit, "log", base[1])


def _aim(ratio: float, sites: int) -> tuple[str, bool | None]:
    if sites == len(NAMES):
        return "less", ratio < 1.0
    return ("<= 1 % more", ratio <= 1.01) if not sites else ("", None)


def _cost(quick: bool) -> Iterator[Row]:
    """CPU time that watching takes, a sample, in shares of one and of a hundred samples."""
    count = 2_000 if quick else 40_000
    errors = (np.random.default_rng(0).random(count) < 0.2).astype(float)
    for rule in _RULES:
        for block in (1, 100):
            watch, zeros = NodeWatch(rule, "n00"), np.zeros(block)
            begin = time.process_time()
            for at in range(0, count, block):
                watch.see(zeros, errors[at : at + block])
                watch.close(at)
            took = 1e6 * (time.process_time() - begin) / count
            yield Row("cost", f"{rule.detector}, {block} samples at once", took, "us a sample")


_SECTIONS: dict[str, Callable[[bool], Iterator[Row]]] = {
    "delays": _delays,
    "calm": _calm,
    "policies": _policies,
    "cost": _cost,
}

if __name__ == "__main__":
    main()
