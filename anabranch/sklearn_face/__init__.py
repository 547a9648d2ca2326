"""The learners as scikit-learn estimators: `fit`, `partial_fit`, `predict`."""

from anabranch.sklearn_face.elastic_net import ConsensusElasticNet

__all__ = ["ConsensusElasticNet"]
