"""A computed stream is dealt to partitions evenly and without overlap."""

from dataclasses import dataclass

import numpy as np
import pytest

from anabranch.errors import ConfigurationError
from anabranch.protocol import Array
from anabranch.stream import End
from connectors.generators import STRIDE, GeneratorSource
from tests.connectors.helpers import blocks, drain, same, table


@dataclass(frozen=True)
class Counting:
    """Counts."""

    features: int = 2
    ranks: int = 3

    def block(self, start: int, count: int) -> tuple[Array, Array]:
        """Give positions."""
        at = np.arange(start, start + count, dtype=np.int64)
        return np.column_stack([at, at % 7]).astype(float), at % 3 + 1


def test_partitions_share_the_rows_and_no_position() -> None:
    of = GeneratorSource(Counting(), 3, 100, 8)
    tables = [table(drain(of, part)[0]) for part in of.partitions]
    assert [len(rows) for rows in tables] == [34, 33, 33]
    assert [rows[0, 0] for rows in tables] == [0, STRIDE, 2 * STRIDE]
    assert tables[1][:, -1].tolist() == list(range(33))
    assert drain(of, "part0")[0][-1] == End("part0", 4)
    assert of.features == ("x1", "x2")


def test_resuming_anywhere_continues_exactly() -> None:
    of = GeneratorSource(Counting(), 1, 25, 10)
    whole, _ = drain(of)
    for kept in range(len(whole) + 1):
        first, state = drain(of, stop_after=kept)
        assert same(first + drain(of, state=state)[0], whole)


def test_no_rows_and_endless_rows() -> None:
    assert drain(GeneratorSource(Counting(), 1, 0, 10))[0] == [End("part0", -1)]
    seen, _ = drain(GeneratorSource(Counting(), 1, None, 10), stop_after=50)
    assert len(blocks(seen)) == 50
    assert not seen[0].X.flags.writeable  # type: ignore[union-attr]


@pytest.mark.parametrize("wrong", [(0, 1, 1), (1, -1, 1), (1, 1, 0)])
def test_numbers_out_of_range_are_refused(wrong: tuple[int, int, int]) -> None:
    with pytest.raises(ConfigurationError):
        GeneratorSource(Counting(), *wrong)
