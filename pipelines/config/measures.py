"""What the numbers mean that learners tell of themselves, in scores and report."""

from collections.abc import Mapping

__all__ = ["MEANINGS", "measures_of"]

_ORDINAL = {
    "zeros": "Share of the weights sent as zeros, as they are small next to the largest.",
    "dropped": "Share of the kernel's features that are no longer computed.",
}
_ELASTIC = {
    "objective": "Loss and penalty together, which the learner makes small.",
    "gap": "Share of the objective by which it exceeds the least possible, at most.",
    "primal": "Distance of nodes' parameters from the common ones, in z-scores.",
    "dual": "How far the common parameters still move, in z-scores.",
    "loss": "Loss over a node's own samples.",
}
_LEARNERS: Mapping[str, Mapping[str, str]] = {
    "dsvor": _ORDINAL,
    "dsvor-batch": _ORDINAL,
    "elastic-net": _ELASTIC,
    "elastic-net-batch": _ELASTIC,
    "doml": {
        "damping": "Share of a step that is made.",
        "delay": "Steps by which what neighbours say is late.",
        "disagreement": "Distance from the neighbours' parameters, relative to the node's own.",
        "diverging": "1 where steps grow instead of getting small, else 0.",
        "ridge": "What is added to the diagonal of X'X.",
        "w": "A node's neighbours by those it hears: the weight of each.",
        "rows": "Samples in the window.",
        "threshold": "Score from which a label is predicted.",
    },
    "npsvor": {
        "rows_waiting": "Samples that changed something and are in no message yet.",
        "reach": "Longest time a change took to arrive, in changes made meanwhile.",
        "repeats": "Changes that came more than once.",
        "unconfirmed": "Messages of which a node does not know yet whether they arrived.",
    },
}

MEANINGS: Mapping[str, str] = {
    name: meaning for told in _LEARNERS.values() for name, meaning in told.items()
}
"""Name of a measure -> a sentence."""


def measures_of(kind: str) -> Mapping[str, str]:
    """Give the measures that learners of a kind tell, each with a sentence.

    >>> list(measures_of("dsvor"))
    ['zeros', 'dropped']
    """
    return _LEARNERS.get(kind, {})
