"""Models of River and scikit-learn as learners without neighbours, to compare with, by name."""

from anabranch.baselines.base import Baseline
from anabranch.baselines.multilabel import RiverBinaryRelevance, RiverClassifierChain
from anabranch.baselines.ordinal import RiverLogisticOneVsRest
from anabranch.baselines.regression import RiverBayesianLinear, RiverLinear, SklearnSGD

__all__ = [
    "BASELINES",
    "Baseline",
    "RiverBayesianLinear",
    "RiverBinaryRelevance",
    "RiverClassifierChain",
    "RiverLinear",
    "RiverLogisticOneVsRest",
    "SklearnSGD",
]

BASELINES: dict[str, type[Baseline]] = {
    baseline.kind: baseline
    for baseline in (
        RiverBinaryRelevance,
        RiverClassifierChain,
        RiverLinear,
        RiverBayesianLinear,
        SklearnSGD,
        RiverLogisticOneVsRest,
    )
}
"""Every baseline by its `kind`."""
