"""Windows and alarms as a job asks for them."""

from anabranch.alarms import AlarmRule
from anabranch.signal import EntropyFeatures, WindowPlan
from pipelines.config import Job

__all__ = ["alarm_rule", "window_plan"]


def window_plan(job: Job) -> WindowPlan | None:
    """Give how a job cuts its samples into windows; None where it learns records as they are.

    Raises
    ------
    ConfigurationError
        A library of the extra `signal` is missing.
    """
    signal = job.signal
    if signal.window is None:
        return None
    features = EntropyFeatures(
        modes=signal.modes,
        trials=signal.trials,
        noise=signal.noise,
        order=signal.order,
        delay=signal.delay,
        method=signal.method,
    )
    hop = signal.window if signal.hop is None else signal.hop
    return WindowPlan(signal.window, hop, signal.samples, features, job.job.seed)


def alarm_rule(job: Job) -> AlarmRule | None:
    """Give when a job's nodes raise an alarm; None where they raise none."""
    alarm = job.alarm
    return None if alarm.rise is None else AlarmRule(alarm.rise, alarm.stay, alarm.ignore)
