"""Synthetic vibration of a rolling bearing: a shaft, noise, and impacts that ring."""

import numpy as np
from scipy.signal import fftconvolve

from anabranch.errors import ConfigurationError
from anabranch.protocol import Array

__all__ = ["LEVELS", "RATE", "vibration"]

RATE = 12_000.0
"""Samples a second."""
LEVELS = 4
"""Severities: 1 for a sound bearing, to 4."""
_SHAFT, _IMPACTS, _RINGS, _DECAY = 30.0, 162.0, 800.0, 300.0
_AMPLITUDES = (0.0, 2.0, 5.0, 14.0)


def vibration(level: int, samples: int, seed: int = 0) -> Array:
    r"""Give the acceleration of a bearing of a severity, (samples,), in arbitrary units.

    x(t) = .2 sin(2 pi 30 t + phase) + white noise of deviation 1 + a sum_k s_k r(t - t_k), with
    r(t) = exp(-300 t) sin(2 pi 800 t), impacts t_k about 162 times a second (1 % of slip), of
    strengths s_k around 1, and a = 0, 2, 5, 14 by level. The stronger the impacts, the more
    regular are the slower modes.

    Parameters
    ----------
    level : 1 to `LEVELS`
    seed : decides every sample, with the level

    Raises
    ------
    ConfigurationError
        There is no such level.

    >>> vibration(4, 2400).std() > 1.3 * vibration(1, 2400).std()
    np.True_
    """
    if not 1 <= level <= LEVELS:
        raise ConfigurationError(f"no severity: level={level}; allowed: 1 to {LEVELS}")
    rng = np.random.default_rng([seed, level])
    t = np.arange(samples) / RATE
    signal = 0.2 * np.sin(2.0 * np.pi * (_SHAFT * t + rng.random())) + rng.normal(size=samples)
    turns = 1.0 + 0.01 * rng.normal(size=int(_IMPACTS * samples / RATE) + 2)
    at = ((np.cumsum(turns) - rng.random()) / _IMPACTS * RATE).astype(np.int64)
    impacts = np.zeros(samples)
    at = at[at < samples]
    impacts[at] = _AMPLITUDES[level - 1] * (1.0 + 0.2 * rng.normal(size=len(at)))
    ring = np.arange(int(6.0 / _DECAY * RATE)) / RATE
    ringing = np.exp(-_DECAY * ring) * np.sin(2.0 * np.pi * _RINGS * ring)
    signal += fftconvolve(impacts, ringing)[:samples]
    return signal
