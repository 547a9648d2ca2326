"""Scores of predictions made before learning, and the disagreement between nodes."""

from anabranch.evaluation.adjusted_r2 import AdjustedR2
from anabranch.evaluation.disagreement import Disagreement, disagreement
from anabranch.evaluation.hamming import HammingLoss
from anabranch.evaluation.kappa import QuadraticKappa
from anabranch.evaluation.label_scores import LabelScore, per_label
from anabranch.evaluation.multilabel import MultilabelTally
from anabranch.evaluation.ordinal import OrdinalTally
from anabranch.evaluation.rank_error import RankMAE
from anabranch.evaluation.regression import RegressionTally
from anabranch.evaluation.tasks import (
    EVALUATIONS,
    Evaluation,
    Tally,
    Totals,
    add_totals,
    restore_tally,
    scores,
    tally_for,
)

__all__ = [
    "EVALUATIONS",
    "AdjustedR2",
    "Disagreement",
    "Evaluation",
    "HammingLoss",
    "LabelScore",
    "MultilabelTally",
    "OrdinalTally",
    "QuadraticKappa",
    "RankMAE",
    "RegressionTally",
    "Tally",
    "Totals",
    "add_totals",
    "disagreement",
    "per_label",
    "restore_tally",
    "scores",
    "tally_for",
]
