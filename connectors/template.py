"""What regular records look like: fixed text around changing values.

It is `,` between the numbers of a CSV line, `{"x1": ` and `, "x2": ` around those of a JSON
object, a map's header and its keys in MessagePack.
"""

from dataclasses import dataclass

import numpy as np

from anabranch.protocol import Array

__all__ = [
    "ARFF", "BIT", "CSV", "FEATURE", "FLAG", "ID", "ID_NUMBER", "INDICES", "JSON", "LABEL",
    "LABELS", "NAMES", "NODE", "NUMBER", "PACKED", "SVMLIGHT", "TEXT", "VALUES", "WORDS", "Form",
    "Template",
]  # fmt: skip

NUMBER, FEATURE, LABEL, NODE, TEXT, ID, ID_NUMBER = 0, 1, 2, 3, 4, 5, 6
INDICES, VALUES = 7, 8
FLAG, NAMES, BIT, WORDS = 9, 10, 11, 12
"""What a value is for; NUMBER and TEXT are fields that nobody asked for;
INDICES and VALUES are the lists of sparse features; FLAG is one label of a set, 0 or 1, NAMES the
list of the names of a set; BIT is a feature that is 0 or 1; WORDS is a text that features are
made of."""

LABELS = frozenset((LABEL, FLAG, NAMES))
"""The kinds of values that are labels."""

CSV, JSON, PACKED, ARFF, SVMLIGHT = 0, 1, 2, 3, 4
"""Grammars: of numbers, of texts, and of what may be around them."""

Form = tuple[Array, Array, Array, Array, int, int]


@dataclass(frozen=True, slots=True)
class Template:
    """The fixed texts of a record (before, between and after its values) and its values' uses.

    Attributes
    ----------
    text : (bytes,) uint8; the fixed texts, joined
    bounds : (values + 2,) int64; where each begins and the last one ends
    kinds : (values,) int64; what each value is for
    slots : (values,) int64; a feature's column of X, a label's of y, a text's number
    grammar : CSV (spaces around values are dropped), ARFF (the same, and sparse records
        `{index value, ...}` whose indices count the values here), JSON, PACKED (MessagePack) or
        SVMLIGHT, whose slots are those of label, indices (the first one) and values (the columns)
    has : the kinds there are
    separator : the byte between the fields of CSV; with a tab there are no quotes
    """

    text: Array
    bounds: Array
    kinds: Array
    slots: Array
    grammar: int
    has: frozenset[int]
    separator: int = 44

    @classmethod
    def of(
        cls,
        texts: list[bytes],
        kinds: list[int],
        slots: list[int],
        grammar: int,
        separator: str = ",",
    ) -> "Template":
        """Build a template from one fixed text more than there are values.

        >>> Template.of([b"", b",", b""], [FEATURE, LABEL], [0, 0], CSV).bounds.tolist()
        [0, 0, 1, 1]
        """
        bounds = np.cumsum([0, *map(len, texts)]).astype(np.int64)
        text = np.frombuffer(b"".join(texts), dtype=np.uint8)
        whole = np.int64
        return cls(
            text, bounds, np.array(kinds, whole), np.array(slots, whole), grammar,
            frozenset(kinds), ord(separator),
        )  # fmt: skip

    @property
    def form(self) -> Form:
        """Give the fields as compiled code takes them."""
        return self.text, self.bounds, self.kinds, self.slots, self.grammar, self.separator
