"""One node's errors: drift is found soon, once, since when it began, and calm raises no alarm."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.drift import DETECTORS, Change, DriftRule, NodeWatch, errors_of
from anabranch.errors import ConfigurationError

AT = 4000


def errors(shares, seed=0):
    """Draw an error of 0 or 1 a sample, by its share."""
    return (np.random.default_rng(seed).random(len(shares)) < shares).astype(float)


def found(rule, drawn, block=20):
    watch = NodeWatch(rule, "n00")
    told: list[Change] = []
    for round in range(len(drawn) // block):
        part = drawn[round * block : (round + 1) * block]
        watch.see(np.zeros(len(part)), part)
        told += watch.close(round)
    return told


def steps(*parts):
    return np.concatenate([np.full(count, share) for share, count in parts])


@pytest.mark.parametrize("detector", DETECTORS)
@pytest.mark.parametrize("seed", range(3))
def test_a_sudden_drift_is_found_and_is_over(detector, seed):
    shares = steps((0.2, AT), (0.7, 1000), (0.2, 1000))
    began, ended = found(DriftRule(detector, nodes=20), errors(shares, seed))
    assert (began.kind, ended.kind) == ("begin", "end")
    most = {"adwin": 160, "page-hinkley": 120, "kswin": 400}[detector]
    assert AT < 20 * (began.round + 1) <= AT + most
    assert abs(20 * began.since - AT) <= 40
    assert began.before == pytest.approx(0.2, abs=0.03)
    assert began.after == pytest.approx(0.7, abs=0.15)
    assert ended.since == began.since
    # KSWIN is late, so that much of the drift was over when it began to wait for its end.
    assert AT + 1000 < 20 * ended.round <= AT + 1000 + 20 * 12


@pytest.mark.parametrize("detector", ["adwin", "page-hinkley"])
def test_a_gradual_drift_is_found(detector):
    shares = np.concatenate([np.full(AT, 0.2), np.linspace(0.2, 0.7, 3000)])
    began = found(DriftRule(detector, nodes=20), errors(shares))[0]
    assert AT < 20 * began.round <= AT + 2000


@pytest.mark.parametrize("detector", DETECTORS)
def test_errors_that_get_smaller_are_none(detector):
    shares = np.concatenate([np.linspace(0.9, 0.2, 3000), np.full(1000, 0.2), np.full(2000, 0.05)])
    assert found(DriftRule(detector, nodes=20), errors(shares)) == []


def test_calm_errors_raise_few_alarms():
    # 20 nodes and 4,000 samples each: as many chunks, at delta, are 0.4 false alarms.
    for detector in ("adwin", "page-hinkley"):
        rule = DriftRule(detector, nodes=20)
        alarms = [found(rule, errors(np.full(4000, 0.25), 100 + node)) for node in range(20)]
        assert sum(map(len, alarms)) <= 2


def test_one_wild_chunk_is_none():
    drawn = np.random.default_rng(0).normal(size=6000)
    drawn[3000:3020] = 1e9
    drawn[4000:4005] = np.nan
    for detector in DETECTORS:
        assert found(DriftRule(detector, nodes=20), drawn) == []


def test_small_rises_add_up_to_a_drift():
    # Each is below the least rise, and is what errors are like from then on.
    shares = steps(*((0.2 * 1.12**k, 8000) for k in range(6)))
    rule = DriftRule("page-hinkley", rise=0.3, every=50)
    began = [c for c in found(rule, errors(shares), 50) if c.kind == "begin"]
    assert began
    assert began[0].before == pytest.approx(0.2, abs=0.02)


def test_a_drift_that_stays_is_over_at_last():
    rule = DriftRule("page-hinkley", settle=30)
    began, ended = found(rule, errors(steps((0.1, AT), (0.8, 3000))))
    assert ended.round == began.round + 30
    assert ended.after == pytest.approx(0.8, abs=0.1)


class Reacting:
    """Notes by how many samples it is told to react."""

    reactions = ("refit",)

    def __init__(self):
        self.told = []

    def react(self, policy, samples):
        self.told.append(samples)


def reactions(shares, **more):
    learner = Reacting()
    for name, value in more.items():
        setattr(learner, name, value)
    watch = NodeWatch(DriftRule("page-hinkley", "refit"), "n00")
    for round, part in enumerate(errors(shares).reshape(-1, 20)):
        watch.see(np.zeros(20), part)
        watch.close(round, learner)
    return learner.told


def test_a_drift_that_lasts_is_reacted_to_every_ten_chunks_until_it_is_settled():
    first, *more = reactions(steps((0.1, AT), (0.8, 3000)))
    assert 20 <= first <= 120
    assert more == [200, 200, 300, 400]


def test_one_that_is_over_is_reacted_to_once_as_by_those_whose_reactions_add_up():
    assert len(reactions(steps((0.1, AT), (0.8, 60), (0.1, 3000)))) == 1
    assert len(reactions(steps((0.1, AT), (0.8, 3000)), once=True)) == 1


@pytest.mark.parametrize("seed", range(2))
def test_kswin_finds_a_drift_that_is_soon_followed_by_means_of_few_samples(seed):
    followed = np.concatenate([np.full(AT, 0.15), np.linspace(0.9, 0.15, 160), np.full(600, 0.15)])
    began = [c for every in (5, 20) for c in found(
        DriftRule("kswin", every=every, nodes=20), errors(followed, seed)
    ) if c.kind == "begin"]  # fmt: skip
    assert [20 * c.since - AT for c in began] == [pytest.approx(0, abs=40)]  # not of 20
    assert 20 * (began[0].round + 1) <= AT + 200


def test_errors_without_noise_wait_for_some():
    began, *_ = found(DriftRule("page-hinkley"), errors(steps((0.0, AT), (0.5, 400))))
    assert (began.kind, 20 * began.since) == ("begin", AT)


@settings(max_examples=15)
@given(st.data())
def test_neither_blocks_nor_snapshots_matter(data):
    rule = DriftRule(data.draw(st.sampled_from(DETECTORS)), nodes=3)
    drawn = errors(steps((0.2, 1500), (0.7, 300), (0.2, 800)), data.draw(st.integers(0, 99)))
    whole = found(rule, drawn, 40)
    watch, told = NodeWatch(rule, "n00"), []
    for round in range(len(drawn) // 40):
        part = drawn[round * 40 : (round + 1) * 40]
        cut = data.draw(st.integers(0, 40)) if round % 10 == 0 else 13
        watch.see(np.zeros(cut), part[:cut])
        watch.see(np.zeros(40 - cut), part[cut:])
        told += watch.close(round)
        if round % 7 == 0:
            state = pickle.loads(pickle.dumps(watch.export()))
            watch = NodeWatch(rule, "n00")
            watch.restore(state)
            assert watch.export() == state
    assert told == whole


def test_the_state_is_plain_and_bounded():
    watch = NodeWatch(DriftRule("adwin"), "n00")
    for round in range(3000):
        watch.see(np.zeros(20), errors(np.full(20, 0.3), round))
        watch.close(round)
    assert len(pickle.dumps(watch.export())) < 8000
    assert b"river" not in pickle.dumps(watch.export())


def test_errors_of_each_kind_of_label():
    assert errors_of(np.array([1, 4]), np.array([3, 4])).tolist() == [2.0, 0.0]
    assert errors_of(np.array([1.5]), np.array([1.0])).tolist() == [0.5]
    assert errors_of(np.zeros((2, 0)), np.zeros((2, 0))).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"detector": "ddm"}, "ddm"),
        ({"policy": "restart"}, "restart"),
        ({"every": 0}, "every=0"),
        ({"delta": 0.0}, "delta=0.0"),
        ({"warm_up": 5}, "warm_up=5"),
        ({"warm_up": 60}, "warm_up=60"),
        ({"most": 1.5}, "most=1.5"),
    ],
)
def test_rules_that_cannot_be(options, message):
    with pytest.raises(ConfigurationError, match=message):
        DriftRule(**{"detector": "adwin", **options})
