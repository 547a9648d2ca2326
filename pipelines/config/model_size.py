"""How large a node's model may be."""

from anabranch.errors import ConfigurationError
from pipelines.config.sections import Job

__all__ = ["NUMBERS_MOST", "check_size"]

NUMBERS_MOST = 1 << 31
"""Features times ranks of a node, at most: 16 GiB of planes of `npsvor` in single precision."""


def check_size(job: Job) -> None:
    """Refuse more numbered features times ranks than memory holds.

    Raises
    ------
    ConfigurationError
        With what fits.
    """
    width, ranks = job.source.columns_in_all, max(1, job.learner.ranks)
    if width is None or width * ranks <= NUMBERS_MOST:
        return
    key = "text_bits" if job.source.sparse_width is None else "sparse_width"
    most = max(1, NUMBERS_MOST // ranks)
    fits = f"{most.bit_length() - 1}" if key == "text_bits" else f"{most:,}"
    others = NUMBERS_MOST // width
    fewer = f", or learner.ranks up to {others:,}" if others > 1 and job.learner.ranks > 2 else ""
    raise ConfigurationError(
        f"source.{key} is {getattr(job.source, key):,} and learner.ranks {ranks:,}, and features "
        f"times ranks must be at most {NUMBERS_MOST:,}: source.{key} up to {fits}{fewer}"
    )
