"""The learners, by name."""

from inspect import signature
from typing import Any

from anabranch.errors import ConfigurationError, nearest
from anabranch.learners.batch import BatchDSVOR
from anabranch.learners.doml import DOML
from anabranch.learners.dsvor import DSVOR
from anabranch.learners.elastic_net import BatchElasticNet, ElasticNet
from anabranch.learners.mlknn import MLKNN
from anabranch.learners.npsvor import NPSVOR
from anabranch.protocol import Learner

__all__ = [
    "DOML",
    "DSVOR",
    "LEARNERS",
    "MLKNN",
    "NPSVOR",
    "BatchDSVOR",
    "BatchElasticNet",
    "ElasticNet",
    "make",
]

LEARNERS: dict[str, type[Learner]] = {
    learner.kind: learner
    for learner in (DSVOR, BatchDSVOR, ElasticNet, BatchElasticNet, DOML, MLKNN, NPSVOR)
}
"""Every learner by its `kind`."""


def make(kind: str, features: int, ranks: int, **options: Any) -> Learner:
    """Build a learner by name.

    Raises
    ------
    ConfigurationError
        No learner has this name, it has no such option, or a value is not allowed.

    Examples
    --------
    >>> make("dsvor", 4, 3, kernel="linear").kind
    'dsvor'
    """
    if kind not in LEARNERS:
        raise ConfigurationError(f"unknown learner: {kind!r}{nearest(kind, list(LEARNERS))}")
    learner = LEARNERS[kind]
    allowed = [name for name in signature(learner).parameters if name not in ("features", "ranks")]
    for name in options:
        if name not in allowed:
            raise ConfigurationError(
                f"unknown option of {kind}: {name}={options[name]!r}{nearest(name, allowed)}"
            )
    return learner(features=features, ranks=ranks, **options)  # type: ignore[call-arg]
