"""Features of raw signals: windows, their modes, and how regular these are."""

from anabranch.signal.entropy import METHODS, EntropyFeatures
from anabranch.signal.windows import Windower, WindowPlan

__all__ = ["METHODS", "EntropyFeatures", "WindowPlan", "Windower"]
