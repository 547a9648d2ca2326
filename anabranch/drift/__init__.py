"""Drift: nodes whose errors have grown, what they do, and how far in the network it reaches."""

from anabranch.drift.reactions import react, reactions_of
from anabranch.drift.reference import NetworkWatch
from anabranch.drift.rule import DETECTORS, POLICIES, DriftRule
from anabranch.drift.verdict import Drift, Verdict
from anabranch.drift.watch import Change, NodeWatch, errors_of

__all__ = [
    "DETECTORS",
    "POLICIES",
    "Change",
    "Drift",
    "DriftRule",
    "NetworkWatch",
    "NodeWatch",
    "Verdict",
    "errors_of",
    "react",
    "reactions_of",
]
