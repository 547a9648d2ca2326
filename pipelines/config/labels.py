"""Labels of samples that have sets of them: where their names come from."""

from collections import Counter
from collections.abc import Collection
from pathlib import Path

from msgspec.structs import replace

from anabranch.errors import ConfigurationError
from pipelines.config.source import Source
from pipelines.config.wording import show

__all__ = ["GENERATED", "complete_labels"]

GENERATED = 6
"""Labels of the labelled generator, unless the job says how many."""


def complete_labels(source: Source, given: Collection[str]) -> Source:
    """Fill in the labels of a file that names them, and what becomes of new ones.

    Parameters
    ----------
    given : the keys that the job states, as "section.key"

    Raises
    ------
    ConfigurationError
        Names are missing or there twice; or the file cannot be read, or names other labels
        than `source.labels`.
    """
    if source.kind == "labelled" and "source.labels" not in given:
        source = replace(source, labels=GENERATED)
    if source.label_xml is not None and not source.generated:
        source = replace(source, labels=_from_xml(source, source.label_xml))
    if source.label_list and "source.new_labels" not in given and not source.label_names:
        source = replace(source, new_labels="grow")
    _check_names(source)
    return source


def _from_xml(source: Source, path: str) -> tuple[str, ...]:
    if not Path(path).is_file():
        raise ConfigurationError(
            f"source.label_xml is {show(path)}; there must be a file of that name"
        )
    from connectors import read_label_xml  # late: it loads the engine

    names = read_label_xml(path)
    if source.labels not in ((), names):
        raise ConfigurationError(
            f"source.labels is {show(source.labels)}, but source.label_xml is {show(path)}, which "
            "names others; give one of them"
        )
    return names


def _check_names(source: Source) -> None:
    labels = source.labels
    if isinstance(labels, int):
        if source.generated:
            return
        raise ConfigurationError(
            f"source.labels is {labels}, but the labels of {show(source.kind)} have names; it must "
            "be a list of them"
        )
    twice = next((name for name, n in Counter(labels).items() if n > 1), None)
    if twice is not None:
        raise ConfigurationError(
            f"source.labels has {show(twice)} twice; each label must be named once"
        )
    if "" in labels:
        raise ConfigurationError('source.labels has ""; it must be a list of names')
