"""The multi-label benchmark sets, split as their publishers do."""

from pathlib import Path

from anabranch.protocol import Array
from connectors.arff import read_arff

__all__ = ["train_and_test"]


def train_and_test(shared: Path, name: str) -> tuple[Array, Array, Array, Array]:
    """Give X, y to fit and X, y to test: Mulan's split; of CAL500 the first 400 and the rest."""
    folder = shared / "data" / "multilabel"
    ending = "-sparse" if name == "Corel5k" else ""

    def read(part: str) -> tuple[Array, Array]:
        table = read_arff(folder / f"{name}{part}{ending}.arff.gz", folder / f"{name}.xml.gz")
        return table.X, table.y

    if name == "cal500":
        X, y = read("")
        return X[:400], y[:400], X[400:], y[400:]
    return *read("-train"), *read("-test")
