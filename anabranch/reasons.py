"""Reasons of dead letters; apart from what flows, since the command line imports no scipy."""

__all__ = ["NO_BAD_RECORD"]

NO_BAD_RECORD = frozenset(
    ("label_never_came", "no_window", "absent_node", "diverged", "refused_message")
)
"""Reasons of dead letters that say nothing of records: nothing is wrong with those, or others tell
of it."""
