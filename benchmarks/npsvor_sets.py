"""Text with ordered labels: the real sets beside the project, and synthetic ones of any shape."""

import gzip
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import TfidfVectorizer

from anabranch.protocol import Array
from anabranch.synthetic_text import SHAPES, TextShape, zipf_ordinal

__all__ = ["DATA", "TextSet", "names_of", "set_of"]

DATA = Path(__file__).parents[2] / "shared/data/text_ordinal"
REAL = {
    "treebank": "treebank5_authors_train.libsvm.gz",
    "moviereview": "moviereview_scale4.tsv.gz",
    "amazon4": "amazon_multidomain4.tsv.gz",
    "semeval": "semeval_tweets5.tsv.gz",
    "largemovie": "largemovie_imdb8.tsv.gz",
}
QUICK = 0.02
"""Of a shape, in quick runs."""


@dataclass(frozen=True)
class TextSet:
    """Rows of TF-IDF in float32, shuffled, and their ranks."""

    name: str
    X: sparse.csr_matrix
    y: Array

    @property
    def bytes(self) -> int:
        """Size of the matrix in memory."""
        return int(self.X.data.nbytes + self.X.indices.nbytes + self.X.indptr.nbytes)


def names_of(quick: bool) -> list[str]:
    """Name the sets there are; quick runs have synthetic ones only."""
    real = [] if quick else [name for name, file in REAL.items() if (DATA / file).exists()]
    return real + [f"zipf {name}" for name in SHAPES]


def set_of(name: str, quick: bool) -> TextSet:
    """Make a set, its rows in random order."""
    kind, _, shape = name.rpartition(" ")
    X, y = _drawn(SHAPES[shape], quick) if kind else _read(DATA / REAL[name])
    order = np.random.default_rng(0).permutation(len(y))
    X = sparse.csr_matrix(X[order])
    X.sort_indices()
    return TextSet(name, X, np.asarray(y)[order].astype(int))


def _drawn(shape: TextShape, quick: bool) -> tuple[Any, Array]:
    return zipf_ordinal(shape.scaled(QUICK) if quick else shape)


def _read(path: Path) -> tuple[Any, Array]:
    """Words of at least two letters and pairs of them, those of two documents and more."""
    if "libsvm" in path.name:
        X, y = load_svmlight_file(str(path), dtype=np.float32)
        return X, y
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    words = TfidfVectorizer(min_df=2, ngram_range=(1, 2), sublinear_tf=True, dtype=np.float32)
    return words.fit_transform([row[-1] for row in rows]), np.array([int(row[0]) for row in rows])
