"""What is known of the ordinal sets: mean absolute errors over their first holdouts."""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["HOLDOUTS", "KNOWN", "Known"]

HOLDOUTS = 10
"""Known values are means over the first so many."""


@dataclass(frozen=True, slots=True)
class Known:
    """Ranks and rows of a set, and mean absolute test errors known for it (papers/dsvor.md).

    `tuned` is SVORIM with hyperparameters chosen by cross-validation; those of `svorim`,
    `dsvor` and `local` are equal: gamma = 1/K, C = 1000/N, and D = 200.
    """

    ranks: int
    rows: int
    logistic_at: float
    logistic_it: float
    tuned: float | None
    svorim: float | None
    dsvor: float
    linear: float
    local: float


KNOWN: Mapping[str, Known] = {
    "toy": Known(5, 300, 1.007, 1.003, 0.051, 0.072, 0.068, 0.953, 0.455),
    "tae": Known(3, 151, 0.616, 0.579, 0.500, 0.500, 0.557, 0.644, 0.767),
    "contact-lenses": Known(3, 24, 0.333, 0.383, 0.467, 0.467, 0.453, 0.406, 0.717),
    "newthyroid": Known(3, 215, 0.051, 0.051, 0.053, 0.073, 0.082, 0.044, 0.266),
    "pyrim10": Known(10, 74, 1.321, 1.529, 1.271, 1.512, 1.591, 1.498, 2.850),
    "balance-scale": Known(3, 625, 0.099, 0.195, 0.039, 0.045, 0.048, 0.099, 0.326),
    "ESL": Known(9, 488, 0.312, 0.321, 0.335, 0.350, 0.344, 0.310, 0.660),
    "SWD": Known(4, 1000, 0.439, 0.439, 0.435, 0.428, 0.440, 0.460, 0.593),
    "ERA": Known(9, 1000, 1.201, 1.265, 1.224, 1.321, 1.259, 1.242, 1.690),
    "eucalyptus": Known(5, 736, 0.358, 0.360, 0.378, 0.385, 0.482, 0.420, 0.933),
    "winequality-red": Known(6, 1599, 0.439, 0.438, 0.407, 0.414, 0.427, 0.447, 0.604),
    "abalone5": Known(5, 4177, 0.679, 0.762, 0.627, 0.634, 0.646, 0.682, 0.726),
    "california5": Known(5, 20640, 0.574, 0.582, None, None, 0.547, 0.572, 0.567),
}
"""By name, the small sets first."""
