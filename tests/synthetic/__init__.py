"""Tests of the synthetic streams."""
