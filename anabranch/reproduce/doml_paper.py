"""What the DOML paper prints, as far as it is known here: scores on seven sets of labels."""

from collections.abc import Mapping

__all__ = ["KNN_COLUMN", "QUICK", "SETS", "TABLES_3_4", "TWENTY_NODES"]

SETS = ("emotions", "scene", "yeast", "CAL500", "medical", "enron", "Corel5k")
"""The sets of its Table 2, the quick ones first."""

QUICK = SETS[:4]
"""Sets of which one run takes a second or two."""

TABLES_3_4: Mapping[str, tuple[float, float, float]] = {
    "CAL500": (0.1359, 0.0614, 0.3364),
    "Corel5k": (0.0114, 0.0174, 0.1524),
    "emotions": (0.2851, 0.3823, 0.4415),
    "enron": (0.0479, 0.1054, 0.5483),
    "scene": (0.2294, 0.2028, 0.3297),
    "medical": (0.0242, 0.1599, 0.3304),
    "yeast": (0.1362, 0.4656, 0.7861),
}
"""Set -> Hamming loss, macro F1, micro F1 of DOML."""

TWENTY_NODES: Mapping[str, float] = {
    "CAL500": 0.1489, "scene": 0.2647, "enron": 0.0539, "Corel5k": 0.0125, "emotions": 0.3886,
}  # fmt: skip
"""Hamming loss of 20 nodes that all hear each other."""

KNN_COLUMN: Mapping[str, str] = {
    "emotions": "equal in all digits",
    "scene": "equal in all digits",
    "Corel5k": "equal in all digits",
    "CAL500": "within 1e-4",
    "medical": "differs: cannot be reproduced",
    "yeast": "differs: cannot be reproduced",
}
"""How its KNN column compares with ML-kNN as it is read here."""
