"""Frequencies of random Fourier features, by kernel: the Fourier transform of each (Bochner)."""

from collections.abc import Callable, Sequence
from hashlib import blake2b

import numpy as np

from anabranch.kernels.counters import fill_normals, fill_uniforms, mix
from anabranch.protocol import Array

__all__ = ["SPECTRA", "draw_rows", "key", "orthogonalised"]


def key(seed: int, name: str) -> int:
    """Mix the seed with a name; the same on every machine."""
    digest = blake2b(name.encode(), digest_size=8).digest()
    return int(mix(np.uint64(seed), np.uint64(int.from_bytes(digest, "little"))))


def _normals(number: int, out: Array) -> None:
    fill_normals(np.uint64(number), out)


def _cauchys(number: int, out: Array) -> None:
    """tan(pi (u - 1/2)), u uniform."""
    fill_uniforms(np.uint64(number), out)
    np.tan(np.pi * (out - 0.5), out=out)


def _laplaces(number: int, out: Array) -> None:
    """-sign(v) log(1 - |v|), v uniform in (-1, 1)."""
    fill_uniforms(np.uint64(number), out)
    v = 2.0 * out - 1.0
    out[:] = -np.sign(v) * np.log1p(-np.abs(v))


SPECTRA: dict[str, tuple[Callable[[int, Array], None], Callable[[float], float]]] = {
    "gaussian": (_normals, lambda gamma: np.sqrt(2.0 * gamma)),
    "laplacian": (_cauchys, lambda gamma: gamma),
    "cauchy": (_laplaces, lambda gamma: np.sqrt(gamma)),
}
"""Kernel -> how a field's frequencies are drawn at scale 1, and their scale by gamma.

exp(-gamma |d|^2) has normal frequencies of variance 2 gamma; exp(-gamma |d|_1) Cauchy ones of
scale gamma; prod_i 1/(1 + gamma d_i^2) Laplace ones of scale sqrt(gamma)."""


def draw_rows(kernel: str, names: Sequence[str], out: Array, seed: int) -> None:
    """Fill out (K, D) with frequencies at scale 1: row i by (seed, name i) alone."""
    fill = SPECTRA[kernel][0]
    for row, name in zip(out, names, strict=True):
        fill(key(seed, f"feature:{name}"), row)


def orthogonalised(omega: Array, names: Sequence[str]) -> Array:
    """Make the columns of omega (K, D) orthogonal in blocks of K; each keeps its length.

    Orthogonal random features (Yu et al., 2016). Lengths and directions of normal vectors are
    independent, so each column by itself stays N(0, I). Rows are taken in sorted order
    of their names: the order of fields changes nothing.
    """
    order = np.argsort(np.array(names))
    back = np.argsort(order)
    blocks = range(0, omega.shape[1], len(names))
    return np.hstack([_orthogonal(omega[order, start : start + len(names)]) for start in blocks])[
        back
    ]


def _orthogonal(block: Array) -> Array:
    """Gram-Schmidt: Q of QR with a positive diagonal of R, each column as long as before."""
    Q, R = np.linalg.qr(block)
    lengths = np.sqrt(np.square(block).sum(axis=0))
    directions: Array = Q * np.where(np.diag(R) < 0.0, -lengths, lengths)
    return directions
