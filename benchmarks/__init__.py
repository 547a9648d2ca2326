"""Measurements: what a job costs beside the things it is made of. Run by `make bench`."""
