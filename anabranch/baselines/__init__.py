"""Models of River and scikit-learn as learners without neighbours, to compare with, by name."""

from anabranch.baselines.base import Baseline
from anabranch.baselines.multilabel import RiverBinaryRelevance, RiverClassifierChain
from anabranch.baselines.ordinal import RiverLogisticOneVsRest, RiverPassiveAggressive
from anabranch.baselines.regression import RiverBayesianLinear, RiverLinear, SklearnSGD
from anabranch.baselines.svorim import CentralSVOREX, CentralSVORIM

__all__ = [
    "BASELINES",
    "Baseline",
    "CentralSVOREX",
    "CentralSVORIM",
    "RiverBayesianLinear",
    "RiverBinaryRelevance",
    "RiverClassifierChain",
    "RiverLinear",
    "RiverLogisticOneVsRest",
    "RiverPassiveAggressive",
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
        RiverPassiveAggressive,
        CentralSVORIM,
        CentralSVOREX,
    )
}
"""Every baseline by its `kind`."""
