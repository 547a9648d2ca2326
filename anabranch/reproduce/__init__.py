"""The papers' experiments, as functions that give numbers."""
