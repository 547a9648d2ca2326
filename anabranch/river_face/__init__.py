"""The learners as River estimators: dictionaries of features in, labels out."""

from anabranch.river_face.classifier import DSVORClassifier

__all__ = ["DSVORClassifier"]
