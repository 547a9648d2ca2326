"""The learner's options: checked against its constructor, completed from its defaults."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

import msgspec
from msgspec import inspect as shapes
from msgspec.structs import replace

from anabranch.errors import AnabranchError, ConfigurationError, nearest
from anabranch.protocol import Learner, Task
from pipelines.config.sections import Job, LearnerSection
from pipelines.config.wording import allowed, show

__all__ = [
    "complete_learner",
    "learner_class",
    "option_parameters",
    "registry",
    "takes_labels",
    "task_of",
]

RESERVED = ("features", "ranks", "names", "role", "labels")
"""Arguments that follow from the data or have a key of their own."""

ROWS_BETWEEN_SITES = 10
"""Samples of which a message is made at least, where messages that name features leave the site."""


def registry() -> Mapping[str, type]:
    """Give all learners by name; imported late, since their kernels take a while to load."""
    from anabranch.learners import LEARNERS

    learners: Mapping[str, type] = LEARNERS
    return learners


def learner_class(kind: str, learners: Mapping[str, type] | None = None) -> type:
    """Find a learner by name.

    Raises
    ------
    ConfigurationError
        There is none of that name.
    """
    learners = registry() if learners is None else learners
    if kind not in learners:
        raise ConfigurationError(f"learner.kind is {show(kind)}{nearest(kind, list(learners))}")
    return learners[kind]


def task_of(section: LearnerSection, learners: Mapping[str, type] | None = None) -> Task:
    """Give the task of a learner: what its labels are.

    Raises
    ------
    ConfigurationError
        There is no such learner.
    """
    learner: type[Learner] = learner_class(section.kind, learners)
    return getattr(learner, "task", "ordinal")


def option_parameters(learner: type) -> dict[str, tuple[Any, Any]]:
    """Give the type and default of every constructor argument that is an option."""
    make: Any = learner
    hints = get_type_hints(make.__init__, include_extras=True)
    parameters = inspect.signature(learner).parameters
    return {
        name: (hints.get(name, Any), parameter.default)
        for name, parameter in parameters.items()
        if name not in RESERVED
    }


def takes_labels(learner: Callable[..., Any]) -> bool:
    """Tell whether a learner's constructor takes the names of the labels."""
    return "labels" in inspect.signature(learner).parameters


def complete_learner(
    job: Job, features: int | None, learners: Mapping[str, type] | None = None
) -> LearnerSection:
    """Check the learner's options and fill in its constructor's defaults.

    Parameters
    ----------
    features : number of features where it is known; one stands in where it is not
    learners : learners by name; the registry unless given

    Raises
    ------
    ConfigurationError
        The learner or an option is unknown, or the constructor refuses a value.
    """
    section = _for_kind(job, registry() if learners is None else learners)
    learner = learner_class(section.kind, learners)
    options = _checked(section, option_parameters(learner))
    if "seed" in option_parameters(learner):
        options.setdefault("seed", job.job.seed)
    if job.exchange.transport == "kafka" and "batch_rows" in options:
        options["batch_rows"] = section.options.get("batch_rows", ROWS_BETWEEN_SITES)
    known = {"labels": job.source.label_names} if takes_labels(learner) else {}
    try:
        learner(features or 1, section.ranks, **known, **options)
    except ConfigurationError as error:
        raise ConfigurationError(f"[learner]: {error}") from None
    except (AnabranchError, ValueError, TypeError) as error:
        raise ConfigurationError(f"[learner] cannot be used: {error}") from None
    return replace(section, options=options)


def _for_kind(job: Job, learners: Mapping[str, type]) -> LearnerSection:
    # A batch job runs the batch form of the learner it names.
    kind = job.learner.kind
    if job.job.kind == "batch" and f"{kind}-batch" in learners:
        return replace(job.learner, kind=f"{kind}-batch")
    if job.job.kind == "stream" and kind in learners and kind.endswith("-batch"):
        raise ConfigurationError(
            f"learner.kind is {show(kind)}, which needs all samples before its first round; "
            f'it must be {show(kind.removesuffix("-batch"))}, or job.kind must be "batch"'
        )
    return job.learner


def _checked(section: LearnerSection, parameters: dict[str, tuple[Any, Any]]) -> dict[str, Any]:
    names = [*parameters, "kind", "ranks"]
    for key in section.options:
        if key == "labels":
            raise ConfigurationError("the key learner.labels is unknown; it is source.labels")
        if key not in parameters:
            raise ConfigurationError(f"the key learner.{key} is unknown{nearest(key, names)}")
    options = {}
    for name, (hint, default) in parameters.items():
        if name in section.options:
            options[name] = _convert(name, section.options[name], hint)
        elif default is not inspect.Parameter.empty and name != "seed":
            options[name] = default
    return options


def _convert(name: str, value: Any, hint: Any) -> Any:
    try:
        return msgspec.convert(value, hint)
    except msgspec.ValidationError:
        raise ConfigurationError(
            f"learner.{name} is {show(value)}; it must be {allowed(shapes.type_info(hint))}"
        ) from None
