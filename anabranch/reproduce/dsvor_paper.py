"""What is known of the dSVOR paper's experiments (papers/dsvor.md).

The paper names two synthetic sets without printing their generators; accuracies and errors on
them are those of an independent program on sets like ours, means over 10 seeds.
"""

from collections.abc import Mapping

__all__ = ["DIMENSIONS", "NODES", "READINGS", "SYNTHETIC", "ZEROS"]

NODES = 20

SYNTHETIC: Mapping[tuple[str, str], tuple[float, float]] = {
    ("linear", "100"): (0.643, 0.366),
    ("linear", "500"): (0.683, 0.322),
    ("linear", "1000"): (0.691, 0.315),
    ("linear", "2000"): (0.692, 0.314),
    ("linear", "local"): (0.670, 0.337),
    ("linear", "centralised"): (0.692, 0.314),
    ("nonlinear", "100"): (0.815, 0.186),
    ("nonlinear", "500"): (0.873, 0.127),
    ("nonlinear", "1000"): (0.874, 0.126),
    ("nonlinear", "2000"): (0.874, 0.126),
    ("nonlinear", "local"): (0.803, 0.198),
    ("nonlinear", "centralised"): (0.875, 0.125),
}
"""(set, rounds or who) -> accuracy and mean absolute error.

Those at 100 rounds belong to the paper's order of steps (the subgradient taken before combining).
"""

DIMENSIONS: Mapping[int, float] = {10: 0.789, 25: 0.866, 50: 0.87, 100: 0.87, 200: 0.874}
"""Random features D -> accuracy on set 2."""

ZEROS: Mapping[str, float] = {"kept": 0.07, "pruned": 0.55, "optimum": 0.75}
"""Share of weights that are zero on set 2 at alpha = .9: in the nodes, in what they send, and at
the optimum."""

READINGS: Mapping[str, float] = {
    "full regulariser": 0.746,
    "literal order, 100 rounds": 0.815,
    "100 rounds": 0.860,
    "ring, 1/max, literal order": 0.258,
    "ring, 1/max": 0.866,
    "ring": 0.869,
    "path, 1/max, literal order": 0.848,
}
"""Ways to read the paper -> accuracy on set 2. That of a path came without its weights and order:
these are the only ones to give it."""
