"""Model files: one learner's model as arrays plus JSON, readable without any engine."""

import json
import os
import platform
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

import numpy as np

from anabranch.errors import ModelError, nearest
from anabranch.protocol import Array, Learner, State

__all__ = ["FORMAT", "ModelFile", "load", "read", "save"]

FORMAT = 1
"""Version of the file format; a reader refuses higher ones."""

_ARRAY = "array."
_META = "meta.npy"

Target = str | os.PathLike[str] | IO[bytes]


@dataclass(frozen=True)
class ModelFile:
    """What a model file holds, before a learner is built from it.

    Attributes
    ----------
    kind : the learner's kind
    state : what the learner's `restore` takes
    metadata : what the writer added, such as the names of the features
    libraries : versions of Python and the libraries that wrote it
    """

    kind: str
    state: State
    metadata: dict[str, Any] = field(default_factory=dict)
    libraries: dict[str, str] = field(default_factory=dict)


def _libraries() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("anabranch", "numpy", "numba"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found


def _meta_bytes(kind: str, values: Mapping[str, Any], metadata: Mapping[str, Any]) -> bytes:
    meta = {
        "format": FORMAT,
        "kind": kind,
        "values": values,
        "metadata": metadata,
        "libraries": _libraries(),
    }
    try:
        return json.dumps(meta, default=_plain).encode()
    except (TypeError, ValueError) as error:
        raise ModelError(f"the model of a {kind!r} learner cannot be saved: {error}") from error


def _plain(value: object) -> object:
    """Turn numpy scalars into JSON numbers; arrays belong on the top level."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is neither an array nor JSON")


def save(learner: Learner, target: Target, metadata: Mapping[str, Any] | None = None) -> None:
    """Write a learner's model as one .npz file: its arrays, and "meta" as JSON bytes.

    A path is written beside its place and then moved there, so that it is never half a file.

    Parameters
    ----------
    learner : whose `model()` is written
    target : path, or a binary stream to write to
    metadata : JSON values to keep with it, such as the names of the features

    Raises
    ------
    ModelError
        The model or the metadata holds something that is neither an array nor JSON.

    Examples
    --------
    >>> import io
    >>> class Constant:
    ...     kind = "constant"
    ...     def __init__(self, w): self.w = w
    ...     def model(self): return {"schema": 1, "kind": "constant", "w": self.w}
    ...     @classmethod
    ...     def restore(cls, state): return cls(state["w"])
    >>> stream = io.BytesIO()
    >>> save(Constant(np.array([2.0])), stream, {"features": ["a"]})
    >>> load(stream, learners={"constant": Constant}).w
    array([2.])
    >>> read(stream).metadata
    {'features': ['a']}
    """
    state = learner.model()
    arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    values = {name: value for name, value in state.items() if name not in arrays}
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise ModelError(f"array {name!r} of the model holds Python objects, not numbers")
    meta = np.frombuffer(_meta_bytes(learner.kind, values, metadata or {}), dtype=np.uint8)
    members: dict[str, Any] = {
        "meta": meta,
        **{_ARRAY + name: array for name, array in arrays.items()},
    }
    if not isinstance(target, str | os.PathLike):
        np.savez(target, **members)
        return
    path = Path(target)
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as stream:
            np.savez(stream, **members)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def read(source: Target) -> ModelFile:
    """Read a model file without building the learner; nothing in it is ever executed.

    Parameters
    ----------
    source : path, or a binary stream that can seek

    Raises
    ------
    ModelError
        It is no model file, is damaged or truncated, or its format is newer than this version
        reads.
    """
    name = str(source) if isinstance(source, str | os.PathLike) else "the stream"
    try:
        with zipfile.ZipFile(source) as archive:
            members = {entry.filename: _member(archive, entry) for entry in archive.infolist()}
        if _META not in members:
            raise ModelError("it has no metadata")
        strange = [key for key in members if key != _META and not key.startswith(_ARRAY)]
        if strange:
            raise ModelError(f"it has a strange member {strange[0]!r}")
        meta = _meta(members.pop(_META))
    except ModelError as error:
        raise ModelError(f"{name} is no model file that can be read: {error}") from error
    except (OSError, ValueError, EOFError, KeyError, NotImplementedError, RuntimeError) as error:
        raise ModelError(f"{name} is no model file, or damaged: {error}") from error
    except zipfile.BadZipFile as error:
        raise ModelError(f"{name} is no model file, or truncated: {error}") from error
    arrays = {
        key.removeprefix(_ARRAY).removesuffix(".npy"): array for key, array in members.items()
    }
    return ModelFile(
        meta["kind"], {**meta["values"], **arrays}, meta["metadata"], meta["libraries"]
    )


def _member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Array:
    """Read one array, after checking that the file holds as much as its header claims."""
    if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
        raise ModelError(f"member {entry.filename!r} is compressed, as no model file is")
    if entry.header_offset + entry.file_size > archive.start_dir:
        raise ModelError(f"member {entry.filename!r} is larger than the file")
    with archive.open(entry) as stream:
        major, _ = np.lib.format.read_magic(stream)
        if major != 1:
            raise ModelError(f"member {entry.filename!r} has array format {major}; allowed: 1")
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        held = entry.file_size - stream.tell()
        if dtype.hasobject:
            raise ModelError(f"member {entry.filename!r} holds Python objects; allowed: numbers")
        if int(np.prod([int(n) for n in shape], dtype=object)) * dtype.itemsize != held:
            raise ModelError(f"member {entry.filename!r} does not hold what its header claims")
        stream.seek(0)
        return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))


def _meta(member: Array) -> dict[str, Any]:
    """Decode and check the metadata."""
    meta = json.loads(member.astype(np.uint8).tobytes())
    if not isinstance(meta, dict) or not isinstance(meta.get("format"), int):
        raise ModelError("its metadata has no format version")
    if meta["format"] > FORMAT:
        writer = (meta.get("libraries") or {}).get("anabranch", "unknown")
        raise ModelError(
            f"format {meta['format']} (anabranch {writer}) is newer than {FORMAT}, "
            "the newest this version reads"
        )
    if not isinstance(meta.get("kind"), str):
        raise ModelError("its metadata names no kind")
    for key in ("values", "metadata", "libraries"):
        if not isinstance(meta.setdefault(key, {}), dict):
            raise ModelError(f"its metadata has no table {key!r}")
    return meta


def _registered() -> Mapping[str, type[Any]]:
    """Give the learners of this package; imported late, since they compile kernels."""
    from anabranch.learners import LEARNERS

    return LEARNERS


def load(source: Target, learners: Mapping[str, type[Any]] | None = None) -> Learner:
    """Build the learner of a model file.

    Parameters
    ----------
    source : path, or a binary stream that can seek
    learners : kind -> class; those of `anabranch.learners` by default

    Raises
    ------
    ModelError
        As `read`, or the kind is unknown, or the state does not fit the learner.
    """
    found = read(source)
    known = _registered() if learners is None else learners
    if found.kind not in known:
        hint = nearest(found.kind, list(known))
        raise ModelError(f"kind = {found.kind!r} of the model is unknown{hint}")
    try:
        learner: Learner = known[found.kind].restore(found.state)
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"the model of kind {found.kind!r} is damaged: {error}") from error
    return learner
