"""The learners as scikit-learn estimators: `fit`, `partial_fit`, `predict`."""

from anabranch.sklearn_face.elastic_net import ConsensusElasticNet
from anabranch.sklearn_face.npsvor import NPSVOR
from anabranch.sklearn_face.npsvor_search import NPSVORCV
from anabranch.sklearn_face.redsvm import RedSVM
from anabranch.sklearn_face.svorex import SVOREX
from anabranch.sklearn_face.svorim import SVORIM

__all__ = ["NPSVOR", "NPSVORCV", "SVOREX", "SVORIM", "ConsensusElasticNet", "RedSVM"]
