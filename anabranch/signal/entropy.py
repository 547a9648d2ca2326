"""Permutation entropies of the modes of a window: what the dSVOR paper learns bearings from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from math import factorial
from typing import Literal

import numpy as np

from anabranch.errors import ConfigurationError, SampleError
from anabranch.kernels.eemd import mean_modes
from anabranch.kernels.entropy import permutation_entropy
from anabranch.learners.options import check_between, check_choice, check_whole
from anabranch.protocol import Array, freeze

__all__ = ["METHODS", "SIFTS", "EntropyFeatures", "Method", "shortest_window"]

Method = Literal["compiled", "library"]
METHODS: tuple[Method, ...] = ("compiled", "library")
LARGEST_ORDER = 8
"""Of the entropy: its patterns are counted, order! of them."""
MOST_MODES = 20
"""Each needs windows twice as long: so many, two million samples."""
SIFTS = 10
"""Times an envelope is taken off before what is left counts as a mode (Wu and Huang 2009)."""


@dataclass(frozen=True, slots=True)
class EntropyFeatures:
    """Permutation entropy of each of a window's first modes, by ensemble decomposition.

    The window is divided by its standard deviation; its modes are means over `trials` copies, each
    with white noise of standard deviation `noise` of its own. An entropy is a share of its most,
    ln(order!), so in [0, 1]. A window that does not move has entropies of 0.

    Parameters
    ----------
    modes : how many, the fastest first
    trials : copies; the noise left in a mode falls with their root, so that features made with
        other numbers of trials do not compare
    noise : standard deviation of the noise, relative to the window's; 0 decomposes it as it is
    order, delay : of the entropy: values compared, and samples from one to the next
    method : "compiled" (`kernels.eemd`, `kernels.entropy`), or "library": PyEMD and antropy, about
        20 times slower and seconds to load; the same but for rounding as long as a rest has two
        maxima and two minima

    Raises
    ------
    ConfigurationError
        A setting is out of its range, or `method` needs a library that is not installed.

    References
    ----------
    Wu and Huang, Ensemble empirical mode decomposition, Advances in Adaptive Data Analysis 1
    (2009); Bandt and Pompe, Permutation entropy, Physical Review Letters 88 (2002).

    Examples
    --------
    >>> window = np.sin(np.arange(600.0) / 9.0)
    >>> entropies = EntropyFeatures(modes=3, trials=10).of(window, seed=(7, 0))
    >>> entropies.shape, bool(entropies[0] > entropies[2])
    ((3,), True)
    """

    modes: int = 5
    trials: int = 100
    noise: float = 0.2
    order: int = 5
    delay: int = 1
    method: Method = "compiled"

    def __post_init__(self) -> None:
        for name, least in (("modes", 1), ("trials", 1), ("order", 2), ("delay", 1)):
            check_whole(name, getattr(self, name), least)
        check_between("noise", self.noise, 0.0, None)
        check_choice("method", self.method, METHODS)
        for name, least, most in (("modes", 1, MOST_MODES), ("order", 2, LARGEST_ORDER)):
            if getattr(self, name) > most:
                raise ConfigurationError(
                    f"out of range: {name}={getattr(self, name)!r}; allowed: {least} to {most}"
                )
        for name in ("antropy", "PyEMD") if self.method == "library" else ():
            _need(name)

    @property
    def shortest(self) -> int:
        """Samples that a window must have."""
        return shortest_window(self.modes, self.order, self.delay)

    def of(self, window: Array, seed: Sequence[int]) -> Array:
        """Give the entropies (modes,) of a window (n,) of finite samples.

        Parameters
        ----------
        seed : whole numbers from 0 that name the window; the same ones give the same noise

        Raises
        ------
        SampleError
            The window is too short or has a value that is not finite.
        """
        window = np.ascontiguousarray(window, dtype=np.float64)
        if window.ndim != 1 or len(window) < self.shortest:
            raise SampleError(
                f"a window of shape {window.shape}; allowed: (n,), n at least {self.shortest}"
            )
        if not np.isfinite(window).all():
            raise SampleError("a window has a sample that is not finite")
        # By the largest value first: squares then neither vanish nor overflow.
        scaled = window - window.mean()
        largest = float(np.abs(scaled).max())
        if largest <= 1e-12 * float(np.abs(window).max(initial=0.0)):
            return freeze(np.zeros(self.modes))
        scaled /= largest
        rng = np.random.default_rng(list(seed))
        noise = self.noise * rng.standard_normal((self.trials, len(window)))
        return freeze(_BY_METHOD[self.method](scaled / scaled.std(), noise, self))


def shortest_window(modes: int, order: int, delay: int) -> int:
    """Give the samples that a window must have: some for the slowest mode, and for its entropy.

    Each mode is about half as fast as the one before it.

    >>> shortest_window(5, order=5, delay=1)
    64
    """
    return max(2 << modes, (order - 1) * delay + 2)


def _compiled(window: Array, noise: Array, settings: EntropyFeatures) -> Array:
    modes = np.empty((settings.modes, len(window)))
    mean_modes(window, noise, SIFTS, modes)
    counts = np.empty(factorial(settings.order), dtype=np.int64)
    order, delay = settings.order, settings.delay
    return np.array([permutation_entropy(mode, order, delay, counts) for mode in modes])


def _by_library(window: Array, noise: Array, settings: EntropyFeatures) -> Array:
    """PyEMD with what its `EEMD` has no setting for: noise relative to the standard deviation."""
    from antropy import perm_entropy
    from PyEMD import EMD

    decomposition, modes = EMD(FIXE=SIFTS), np.zeros((settings.modes, len(window)))
    for own in noise:
        found = decomposition.emd(window + own, max_imf=settings.modes)[: settings.modes]
        modes[: len(found)] += found / len(noise)
    order, delay = settings.order, settings.delay
    return np.array([perm_entropy(mode, order, delay, normalize=True) for mode in modes])


_BY_METHOD: dict[Method, Callable[[Array, Array, EntropyFeatures], Array]] = {
    "compiled": _compiled,
    "library": _by_library,
}


def _need(name: str) -> None:
    """Refuse to begin without a library; importing it takes seconds, and waits for the first use.

    Raises
    ------
    ConfigurationError
        It is not installed.
    """
    if find_spec(name) is None:
        raise ConfigurationError(
            f'method="library" needs {name}, which is not installed; install anabranch[signal], or '
            'take "compiled"'
        )
