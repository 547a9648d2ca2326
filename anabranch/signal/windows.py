"""Windows over the raw samples of a sensor, and what is known of them as rows to learn."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from anabranch.learners.options import check_whole
from anabranch.protocol import Array, freeze
from anabranch.signal.entropy import EntropyFeatures
from anabranch.signal.track import Samples, Track, Window
from anabranch.stream import Block, DeadLetter, features_text, source_of

__all__ = ["WindowPlan", "Windower"]


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """How windows are cut and described.

    Parameters
    ----------
    window : samples in a window
    hop : samples from the beginning of a window to that of the next; windows overlap where it is
        smaller than `window`, and leave samples out where it is larger
    samples : consecutive samples of one channel that a record holds; with 1 each column of a
        record is a channel of its own
    features : what is computed of a window, channel by channel
    seed : of the features' noise, which depends on partition, key and number of a window too

    Raises
    ------
    ConfigurationError
        A number is too small, or windows are shorter than `features` can do with.
    """

    window: int = 2400
    hop: int = 2400
    samples: int = 1
    features: EntropyFeatures = field(default_factory=EntropyFeatures)
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("hop", 1), ("samples", 1), ("window", self.features.shortest)):
            check_whole(name, getattr(self, name), least)

    def names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Give the names of a row's features, from those of a record's columns.

        >>> WindowPlan(features=EntropyFeatures(modes=2)).names(("x", "y"))
        ('x.mode1', 'x.mode2', 'y.mode1', 'y.mode2')
        >>> WindowPlan(samples=2, features=EntropyFeatures(modes=2)).names(("s0", "s1"))
        ('mode1', 'mode2')
        """
        modes = [f"mode{number + 1}" for number in range(self.features.modes)]
        if self.samples > 1 or len(columns) == 1:
            return tuple(modes)
        return tuple(f"{column}.{mode}" for column in columns for mode in modes)


class _Made(NamedTuple):
    key: str | None
    window: Window
    x: Array


class Windower:
    """Turns the blocks of one partition into blocks of windows, tick by tick.

    Windows run over ticks. Where records name their nodes, each node's samples have windows of
    their own. A window has the label that most of its samples have, of equally many the one seen
    last, and the position, time and node of its last sample. It is held back if all its samples
    are; one of which some are held back is neither learned nor scored. No window runs over a record
    that could not be used: the samples before it that are in no whole window are left out, and the
    next window begins after it. A sample that is not finite does so to windows of its own node;
    a record that could not be read, whose node is not known, to those of all nodes of the
    partition.

    Parameters
    ----------
    plan : how windows are cut and described
    partition : whose blocks these are
    state : what `export` gave, to go on from there

    Examples
    --------
    >>> plan = WindowPlan(window=64, hop=32, features=EntropyFeatures(modes=2, trials=2))
    >>> X = np.sin(np.arange(100.0))[:, None]
    >>> made = Windower(plan, "a").take(Block("a", 0, X, np.ones(100), np.arange(100)))
    >>> made.X.shape, made.positions.tolist()
    ((2, 2), [63, 95])
    """

    def __init__(
        self, plan: WindowPlan, partition: str, state: Mapping[str | None, Any] | None = None
    ) -> None:
        self.plan = plan
        self.partition = partition
        self._tracks = {key: Track.restore(one) for key, one in (state or {}).items()}

    def take(self, block: Block) -> Block:
        """Give the windows that a block completes, as a block of the same tick."""
        refused = _not_finite(block)
        letters = [*block.dead, *refused.values()]
        rows = {letter.position: row for row, letter in refused.items()}
        made: list[_Made] = []
        start = 0
        for position in sorted(letter.position for letter in letters):
            stop, after = (
                int(np.searchsorted(block.positions, position, side)) for side in ("left", "right")
            )
            made.extend(self._windows(block, np.arange(start, stop)))
            self._restart(block.keys, rows.get(position))
            start = after
        made.extend(self._windows(block, np.arange(start, len(block.y))))
        return self._block(block, made, tuple(letters))

    def _restart(self, keys: list[str] | None, row: int | None) -> None:
        """Begin anew after a bad record: windows of the row's node, of all where none is known."""
        hit: Iterable[str | None] = self._tracks
        if keys is not None and row is not None:
            hit = {keys[row]} & self._tracks.keys()
        for key in hit:
            self._tracks[key].restart()

    def end(self) -> Block | None:
        """Give the last words on sensors that had samples but no window, as a block without rows.

        Its tick is -1: there is nothing to learn from it.
        """
        empty = [(key, track) for key, track in self._tracks.items() if track.number == 0]
        if not empty:
            return None
        letters = tuple(self._no_window(key, track) for key, track in empty)
        none = freeze(np.empty(0))
        rows = freeze(np.empty((0, 0)))
        return Block(self.partition, -1, rows, none, none.astype(np.int64), dead=letters)

    def _no_window(self, key: str | None, track: Track) -> DeadLetter:
        sensor = self.partition if key is None else key
        left, position = track.left
        return DeadLetter(
            "no_window",
            f"{sensor} gave no window: {left:,} samples are left, signal.window is "
            f"{self.plan.window:,}",
            source_of(self.partition), self.partition, position, b"",
        )  # fmt: skip

    def export(self) -> dict[str | None, Any]:
        """Give the state, plain values and arrays that change no more."""
        return {key: track.export() for key, track in self._tracks.items()}

    def _windows(self, block: Block, rows: Array) -> list[_Made]:
        """Give the windows that consecutive rows complete, in the order of their last samples."""
        made: list[_Made] = []
        for key, own in _by_key(block.keys, rows):
            track = self._tracks.setdefault(key, Track())
            samples = _samples(block).rows(own)
            if self.plan.samples > 1:
                samples = samples.repeated(self.plan.samples)
            windows = track.take(samples, self.plan.window, self.plan.hop)
            made.extend(_Made(key, window, self._features(key, window)) for window in windows)
        return sorted(made, key=lambda one: one.window.position)

    def _features(self, key: str | None, window: Window) -> Array:
        place = [
            crc32(text.encode("utf-8", "surrogatepass")) for text in (self.partition, key or "")
        ]
        seed = [self.plan.seed, *place, window.number]
        channels = enumerate(np.ascontiguousarray(window.X.T))
        found = [self.plan.features.of(x, seed=(*seed, number)) for number, x in channels]
        return np.concatenate(found)

    def _block(self, block: Block, made: list[_Made], dead: tuple[DeadLetter, ...]) -> Block:
        width = self.plan.features.modes * (1 if self.plan.samples > 1 else block.X.shape[1])
        windows = [one.window for one in made]
        times = held = None
        if block.times is not None:
            times = freeze(np.array([window.time for window in windows], dtype=np.int64))
        if any(window.held for window in windows):
            held = freeze(np.array([window.held for window in windows]))
        return replace(
            block,
            X=freeze(np.array([one.x for one in made]).reshape(-1, width)),
            y=freeze(np.array([window.y for window in windows], dtype=np.float64)),
            positions=freeze(np.array([window.position for window in windows], dtype=np.int64)),
            keys=None if block.keys is None else [str(one.key) for one in made],
            held=held,
            dead=dead,
            times=times,
        )


def _samples(block: Block) -> Samples:
    held = np.zeros(len(block.y), dtype=bool) if block.held is None else block.held
    return Samples(block.X, block.y, block.positions, held, block.times)


def _by_key(keys: list[str] | None, rows: Array) -> list[tuple[str | None, Array]]:
    """Give rows by the node that they name, if they name any."""
    if keys is None:
        return [(None, rows)]
    named: dict[str, list[int]] = {}
    for row in rows.tolist():
        named.setdefault(keys[row], []).append(row)
    return [(key, np.array(own)) for key, own in sorted(named.items())]


def _not_finite(block: Block) -> dict[int, DeadLetter]:
    """Give the rows that are not finite, with their dead letters."""
    where = (source_of(block.partition), block.partition)
    return {
        row: DeadLetter(
            "refused", "a sample is not finite", *where, int(block.positions[row]),
            features_text(block.X, row),
        )
        for row in np.flatnonzero(~np.isfinite(block.X).all(axis=1)).tolist()
    }  # fmt: skip
