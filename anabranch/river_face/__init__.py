"""The learners as River estimators: dictionaries of features in, labels or numbers out."""

from anabranch.river_face.classifier import DSVORClassifier
from anabranch.river_face.doml import DOMLClassifier
from anabranch.river_face.elastic_net import ElasticNetRegressor
from anabranch.river_face.npsvor import NPSVORClassifier

__all__ = ["DOMLClassifier", "DSVORClassifier", "ElasticNetRegressor", "NPSVORClassifier"]
