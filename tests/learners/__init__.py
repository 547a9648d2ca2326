"""Tests of the learners and their kernels."""
