"""The sections [signal] and [alarm]: windows over raw samples, and severity that has risen."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

__all__ = ["Alarm", "Signal"]

_Count = Annotated[int, Meta(ge=1)]


class Signal(Struct, frozen=True, forbid_unknown_fields=True):
    """Records are raw samples of a sensor; nodes learn windows of them. On with signal.window."""

    window: Annotated[
        _Count | None,
        Meta(
            description="Samples in a window, whose features are the permutation entropies of its "
            "first modes; none: records are learned as they are. The dSVOR paper has 2400. A "
            "window has the label that most of its samples have; none runs over a record that "
            "could not be used."
        ),
    ] = None
    hop: Annotated[
        _Count | None,
        Meta(
            description="Samples from one window to the next. Where it is below signal.window, "
            "windows share samples with those learned before them, and scores flatter."
        ),
    ] = None
    samples: Annotated[
        _Count,
        Meta(
            description="Consecutive samples of one channel that a record holds, as its features; "
            "with 1 each feature is a channel with modes of its own."
        ),
    ] = 1
    modes: Annotated[
        Annotated[int, Meta(ge=1, le=20)],
        Meta(description="Modes, the fastest first: the features of a channel."),
    ] = 5
    trials: Annotated[
        _Count,
        Meta(
            description="Noisy copies of a window over which its modes are averaged. Time goes "
            "with them; features made with other numbers do not compare."
        ),
    ] = 100
    noise: Annotated[
        Annotated[float, Meta(ge=0)],
        Meta(description="Standard deviation of the noise, relative to that of the window."),
    ] = 0.2
    order: Annotated[
        Annotated[int, Meta(ge=2, le=8)],
        Meta(description="Values that the permutation entropy compares."),
    ] = 5
    delay: Annotated[_Count, Meta(description="Samples from one of these values to the next.")] = 1
    method: Annotated[
        Literal["compiled", "library"],
        Meta(
            description="compiled: this project's loops; library: PyEMD and antropy (the extra "
            "signal), the same but for rounding and about 20 times slower."
        ),
    ] = "compiled"


class Alarm(Struct, frozen=True, forbid_unknown_fields=True):
    """A node's predicted rank has risen and stays: tell output.alarms. On with alarm.rise."""

    rise: Annotated[
        _Count | None,
        Meta(
            description="Ranks above a node's baseline that are an alarm; none: no alarms. The "
            "baseline is the highest of its first alarm.stay ranks, and falls when so many in a "
            "row are lower. Another alarm comes when the rank rises as much again."
        ),
    ] = None
    stay: Annotated[
        _Count,
        Meta(
            description="Predictions in a row that must be so high before an alarm is raised, and "
            "below that before it is cleared."
        ),
    ] = 5
    ignore: Annotated[
        Annotated[int, Meta(ge=0)],
        Meta(description="First predictions of a node to ignore, while its learner is new."),
    ] = 0
