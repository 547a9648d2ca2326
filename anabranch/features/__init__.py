"""What a learner makes of a sample's fields before it learns them."""

from anabranch.features.additive import AdditiveMap
from anabranch.features.exact import kernel_matrix
from anabranch.features.fourier import FourierMap
from anabranch.features.linear import LinearMap
from anabranch.features.maps import FeatureMap, make_map
from anabranch.features.standardiser import Standardiser

__all__ = [
    "AdditiveMap",
    "FeatureMap",
    "FourierMap",
    "LinearMap",
    "Standardiser",
    "kernel_matrix",
    "make_map",
]
