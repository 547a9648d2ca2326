"""What a learner makes of a sample's fields before it learns them."""

from anabranch.features.fourier import FourierMap
from anabranch.features.standardiser import Standardiser

__all__ = ["FourierMap", "Standardiser"]
