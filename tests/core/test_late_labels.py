"""Samples and labels that wait for each other: who meets, who leaves, and that all is bounded."""

import pickle
import tracemalloc
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.errors import ConfigurationError
from anabranch.late_labels import LateLabels, WaitingLabel, WaitingSample
from anabranch.stream import DeadLetter

Told = tuple[str, int]


def sample(position: int, time: int = 0) -> WaitingSample:
    return WaitingSample("s:0", position, time, bytes(16), position % 4 + 1, 2)


def label(position: int, time: int = 0) -> WaitingLabel:
    return WaitingLabel("l:0", position, time, float(position % 4 + 1))


def told(letters: list[DeadLetter]) -> list[Told]:
    return [(letter.reason, letter.position) for letter in letters]


def test_a_label_finds_its_sample_once() -> None:
    late = LateLabels(limit=3)
    assert late.keep_sample("a", sample(5)) == late.keep_sample("b", sample(6)) == []
    assert late.sample_for("a") == sample(5)
    assert late.sample_for("a") is None
    assert late.has_sample("b")
    assert not late.has_label("b")
    assert told(late.give_up()) == [("label_never_came", 6)]
    assert len(late) == 0


def test_a_sample_finds_its_label_once() -> None:
    late = LateLabels(limit=3)
    assert late.keep_label("a", label(5)) == []
    assert late.has_label("a")
    assert late.label_for("a") == label(5)
    assert late.label_for("a") is None
    assert late.give_up() == []


def test_who_leaves_is_told_with_all_that_is_known() -> None:
    late = LateLabels(limit=1)
    late.keep_sample("a" * 500, sample(5, time=77))
    (letter,) = late.keep_sample("b", sample(6))
    assert (letter.source, letter.partition, letter.position) == ("s", "s:0", 5)
    assert (letter.time, letter.raw) == (77, b"0.0,0.0")
    assert "a" * 90 in letter.detail
    assert len(letter.detail) < 200
    late.keep_label("c", label(2, time=78))
    assert [(x.reason, x.raw, x.time) for x in late.give_up()] == [
        ("label_never_came", b"0.0,0.0", 0),
        ("sample_never_came", b"3.0", 78),
    ]


def test_the_first_of_an_id_stays() -> None:
    late = LateLabels(limit=3)
    late.keep_sample("a", sample(1))
    assert told(late.keep_sample("a", sample(2))) == [("duplicate_id", 2)]
    assert late.sample_for("a") == sample(1)
    late.keep_label("z", label(3))
    assert told(late.keep_label("z", label(4))) == [("duplicate_id", 4)]
    assert late.label_for("z") == label(3)
    assert late.keep_sample("a", sample(9)) == []


def test_time_is_the_newest_seen_and_counts_from_an_arrival() -> None:
    late = LateLabels(limit=10, wait_ms=100)
    late.arrive(1000)
    late.keep_sample("a", sample(1, time=1000))
    assert late.arrive(1100) == []
    # Its own time is long past: it has as long as the others all the same.
    late.keep_sample("b", sample(2, time=5))
    late.keep_label("c", label(3, time=6))
    assert told(late.arrive(1101)) == [("label_never_came", 1)]
    assert late.arrive(900) == late.arrive(1200) == []
    assert told(late.arrive(1201)) == [("label_never_came", 2), ("sample_never_came", 3)]


def test_without_a_time_they_wait_for_as_long_as_there_is_room() -> None:
    late = LateLabels(limit=2)
    late.keep_sample("a", sample(1))
    assert late.arrive(10**15) == []
    assert late.has_sample("a")


@pytest.mark.parametrize(("limit", "wait"), [(0, None), (-1, 5), (1, -1)])
def test_limits_out_of_range_are_refused(limit: int, wait: int | None) -> None:
    with pytest.raises(ConfigurationError, match=r"limit = (0|-1)|wait_ms = -1"):
        LateLabels(limit, wait)


@dataclass
class Model:
    """The same by plain lists, oldest first: [id, clock at arrival, position]."""

    limit: int
    wait: int | None
    clock: int = 0
    samples: list[tuple[str, int, int]] = field(default_factory=list)
    labels: list[tuple[str, int, int]] = field(default_factory=list)

    def step(self, kind: int, name: str, time: int, position: int) -> set[Told]:
        self.clock = max(self.clock, time)
        gone: set[Told] = set()
        for queue, reason in (
            (self.samples, "label_never_came"),
            (self.labels, "sample_never_came"),
        ):
            old = [w for w in queue if self.wait is not None and self.clock - w[1] > self.wait]
            gone |= {(reason, w[2]) for w in old}
            queue[:] = [w for w in queue if w not in old]
        own, other = (self.samples, self.labels) if kind == 0 else (self.labels, self.samples)
        met = [w for w in other if w[0] == name]
        if met:
            other.remove(met[0])
            return gone | {("met", met[0][2])}
        if any(w[0] == name for w in own):
            return gone | {("duplicate_id", position)}
        own.append((name, self.clock, position))
        if len(own) > self.limit:
            gone.add(("sample_never_came" if kind else "label_never_came", own.pop(0)[2]))
        return gone


def step(late: LateLabels, kind: int, name: str, time: int, position: int) -> set[Told]:
    letters = late.arrive(time)
    if kind == 0:
        found = late.label_for(name)
        letters += [] if found else late.keep_sample(name, sample(position, time))
        return {*told(letters), *([("met", found.position)] if found else [])}
    met = late.sample_for(name)
    letters += [] if met else late.keep_label(name, label(position, time))
    return {*told(letters), *([("met", met.position)] if met else [])}


events = st.lists(
    st.tuples(st.integers(0, 1), st.sampled_from("abcdefgh"), st.integers(0, 60)), max_size=80
)


@settings(deadline=None, max_examples=200)
@given(events, st.integers(1, 5), st.none() | st.integers(0, 30), st.integers(0, 80))
def test_it_does_what_plain_lists_do_also_across_a_snapshot(
    stream: list[tuple[int, str, int]], limit: int, wait: int | None, cut: int
) -> None:
    late, model = LateLabels(limit, wait), Model(limit, wait)
    for position, (kind, name, time) in enumerate(stream):
        if position == cut:
            state = pickle.loads(pickle.dumps(late.export()))
            late = LateLabels(limit, wait)
            late.restore(state)
            assert late.export() == state
        assert step(late, kind, name, time, position) == model.step(kind, name, time, position)
        assert len(late) == len(model.samples) <= limit
    left = {("label_never_came", w[2]) for w in model.samples}
    left |= {("sample_never_came", w[2]) for w in model.labels}
    assert set(told(late.give_up())) == left


def test_a_snapshot_does_not_change_afterwards() -> None:
    late = LateLabels(limit=3, wait_ms=10)
    late.keep_sample("a", sample(1))
    late.keep_label("b", label(2))
    state = late.export()
    before = pickle.dumps(state)
    late.sample_for("a")
    late.arrive(10_000)
    late.keep_sample("c", sample(3))
    assert pickle.dumps(state) == before


def test_a_smaller_limit_is_kept_after_a_restart() -> None:
    late, smaller = LateLabels(limit=9), LateLabels(limit=3)
    for position in range(9):
        late.keep_sample(str(position), sample(position))
    smaller.restore(late.export())
    gone = smaller.keep_sample("new", sample(9))
    assert [letter.position for letter in gone] == [0, 1, 2, 3, 4, 5, 6]
    assert len(smaller) == 3


def test_memory_is_flat_whatever_never_meets() -> None:
    late = LateLabels(limit=200, wait_ms=50)

    def run(start: int, count: int) -> int:
        letters = 0
        for i in range(start, start + count):
            letters += len(late.arrive(i // 10))
            letters += len(late.keep_sample(f"s{i}", sample(i)))
            letters += len(late.keep_label(f"l{i}", label(i)))
            if i % 3 == 0:
                assert late.sample_for(f"s{i}") is not None
        return letters

    run(0, 5000)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    told = run(5000, 50_000)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert told == pytest.approx(50_000 * 5 / 3, abs=600)
    assert len(late) <= 200
    assert grown < 300_000  # what 50,000 of them would take is more than 20 MB
