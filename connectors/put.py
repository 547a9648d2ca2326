"""Where a value that was read goes, in compiled code."""

from anabranch.protocol import Array
from connectors.kernel import inlined
from connectors.template import BIT, FEATURE, FLAG, LABEL

__all__ = ["put"]


@inlined
def put(kind: int, slot: int, value: float, ranks: int, x: Array, y: Array) -> bool:
    """Put a number into its column of x or y; False when it may not be there.

    A LABEL is one of 1..ranks (0: any number), a FLAG or a BIT is 0 or 1.

    >>> import numpy as np
    >>> x, y = np.zeros(1), np.zeros(2)
    >>> put(FLAG, 1, 1.0, 0, x, y), put(FLAG, 0, 0.5, 0, x, y), y.tolist()
    (True, False, [0.0, 1.0])
    """
    if kind == FEATURE:
        x[slot] = value
    elif kind == LABEL:
        if ranks > 0 and not (1.0 <= value <= ranks and value == int(value)):
            return False
        y[slot] = value
    elif kind in (FLAG, BIT):
        if value != 0.0 and value != 1.0:
            return False
        out = y if kind == FLAG else x
        out[slot] = 1.0 if value == 1.0 else 0.0
    return True
