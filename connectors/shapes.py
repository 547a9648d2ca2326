"""What the fields of records are for, and the few shapes that regular records come in."""

from collections.abc import Sequence

from connectors.records import RecordFormat
from connectors.template import (
    FEATURE,
    FLAG,
    ID,
    INDICES,
    LABEL,
    NAMES,
    NODE,
    VALUES,
    WORDS,
    Template,
)

__all__ = ["Shapes", "uses"]

_KEPT = 8


def uses(features: Sequence[str], form: RecordFormat) -> dict[str, tuple[int, int]]:
    """Map each field's name to its kind for `scan` and its column of X or y.

    >>> uses(("a", "b"), RecordFormat())
    {'a': (1, 0), 'b': (1, 1), 'y': (2, 0)}
    """
    found = {name: (FEATURE, slot) for slot, name in enumerate(features)}
    if form.sparse_width is not None:
        found = dict(zip(form.sparse_fields, ((INDICES, 0), (VALUES, 0)), strict=True))
    found |= {name: (WORDS, slot) for slot, name in enumerate(form.text)}
    kind = NAMES if form.label_list else FLAG if form.flags else LABEL
    found |= {name: (kind, slot) for slot, name in enumerate(form.label_columns)}
    if form.node_column is not None:
        found[form.node_column] = NODE, 0
    if form.id_column is not None:
        found[form.id_column] = ID, 0
    return found


class Shapes:
    """The templates learned last, the newest first.

    >>> from connectors.template import JSON
    >>> shapes = Shapes()
    >>> shapes.add(Template.of([b"", b""], [FEATURE], [0], JSON))
    >>> shapes.add(Template.of([b"", b""], [FEATURE], [0], JSON))
    >>> len(shapes.templates)
    1
    """

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, ...], Template] = {}
        self.templates: list[Template] = []

    def add(self, template: Template | None) -> None:
        """Put a template first; None changes nothing."""
        if template is None:
            return
        arrays = (template.text, template.bounds, template.kinds, template.slots)
        key = tuple(array.tobytes() for array in arrays)
        self._known.pop(key, None)
        self._known[key] = template
        if len(self._known) > _KEPT:
            del self._known[next(iter(self._known))]
        self.templates = list(self._known.values())[::-1]
