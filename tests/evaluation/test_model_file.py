"""Model files: round trips, and everything that must be refused."""

import io
import json
import pickle
import zipfile
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pytest

from anabranch.errors import ModelError
from anabranch.learners import LEARNERS as REGISTERED
from anabranch.learners import make
from anabranch.model_file import FORMAT, load, read, save
from anabranch.protocol import Array, State


class Line:
    """A tiny learner: y = w'x."""

    kind: ClassVar[str] = "line"

    def __init__(self, w: Array, rate: float = 0.1, names: object = None) -> None:
        self.w, self.rate, self.names = w, rate, names

    def model(self) -> State:
        """Give arrays, plain values, and a numpy scalar."""
        return {
            "schema": 1,
            "kind": "line",
            "w": self.w,
            "rate": self.rate,
            "names": self.names,
            "seen": np.int64(7),
        }

    @classmethod
    def restore(cls, state: State) -> Self:
        """Build it again, refusing a newer schema."""
        if state["schema"] != 1:
            raise ModelError(f"schema {state['schema']} is newer than 1")
        return cls(state["w"], state["rate"], state["names"])


LEARNERS: dict[str, type[Any]] = {"line": Line}


def saved(learner: Any = None) -> io.BytesIO:
    stream = io.BytesIO()
    save(learner or Line(np.arange(3.0)), stream, {"features": ["a", "b", "c"]})
    return stream


def members(stream: io.BytesIO) -> dict[str, bytes]:
    with zipfile.ZipFile(stream) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def archive_of(parts: dict[str, bytes], how: int = zipfile.ZIP_STORED) -> io.BytesIO:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", how) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return stream


def npy(array: Array, allow_pickle: bool = False) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, version=(1, 0), allow_pickle=allow_pickle)
    return stream.getvalue()


def with_meta(**changes: Any) -> io.BytesIO:
    """A good file whose metadata is changed; a value of None takes the entry out."""
    parts = members(saved())
    found = np.lib.format.read_array(io.BytesIO(parts["meta.npy"]))
    meta = json.loads(found.tobytes()) | changes
    meta = {key: value for key, value in meta.items() if value is not None}
    parts["meta.npy"] = npy(np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8))
    return archive_of(parts)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "?"])
def test_round_trip_keeps_every_bit(tmp_path: Path, dtype: str) -> None:
    w = (np.random.default_rng(0).standard_normal((4, 3)) * 3).astype(dtype)
    learner = Line(np.asfortranarray(w), rate=0.1 + 0.2, names=["ä", {"b": [1, None]}])
    path = tmp_path / "n00.npz"
    save(learner, path)
    again = load(path, LEARNERS)
    assert isinstance(again, Line)
    assert again.w.dtype == w.dtype
    np.testing.assert_array_equal(again.w, w)
    assert again.rate == 0.1 + 0.2
    assert again.names == ["ä", {"b": [1, None]}]
    again.w[0, 0] = 1  # a loaded model can go on learning
    assert [file.name for file in tmp_path.iterdir()] == ["n00.npz"]


OPTIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    **{kind: ({"kernel": "gaussian"}, {"kernel": "linear"}) for kind in ("dsvor", "dsvor-batch")},
    **{
        kind: ({"shape": "server"}, {"shape": "graph"})
        for kind in ("elastic-net", "elastic-net-batch")
    },
    "doml": ({"labels": 2}, {"labels": 2, "predictor": "linear", "dtype": "float32"}),
    "npsvor": ({}, {"wire": "double", "bias": False}),
    "mlknn": (
        {"labels": 2, "save_samples": True},
        {"labels": 2, "save_samples": True, "scaling": "own"},
    ),
}


@pytest.mark.parametrize("kind", sorted(REGISTERED))
@pytest.mark.parametrize("second", [False, True])
def test_registered_learners_predict_and_go_on_learning_as_before(
    tmp_path: Path, kind: str, second: bool
) -> None:
    options = OPTIONS[kind][second]
    draw = np.random.default_rng(0)
    X, y = draw.normal(size=(80, 3)), draw.integers(1, 5, 80)
    if "labels" in options:
        y = draw.integers(0, 2, (80, 2))
    learner = make(kind, 3, 4, **options)
    learner.learn(X[:40], y[:40])
    learner.combine(0, {}, {})
    save(learner, tmp_path / "n00.npz", {"features": ["a", "b", "c"]})
    again = load(tmp_path / "n00.npz")
    assert type(again) is type(learner)
    np.testing.assert_array_equal(again.predict(X), learner.predict(X))
    for one in (learner, again):
        one.learn(X[40:], y[40:])
    assert again.predict(X).shape == y.shape
    if kind == "dsvor":  # keeps no samples, so nothing is missing in its model
        np.testing.assert_array_equal(again.parameters(), learner.parameters())


def test_non_finite_values_survive() -> None:
    again = load(saved(Line(np.array([np.nan, np.inf]), rate=float("inf"))), LEARNERS)
    assert isinstance(again, Line)
    np.testing.assert_array_equal(again.w, [np.nan, np.inf])
    assert again.rate == float("inf")


def test_metadata_kind_and_versions_can_be_read_without_the_learner(tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    path.write_bytes(saved().getvalue())
    found = read(str(path))
    assert found.kind == "line"
    assert found.metadata == {"features": ["a", "b", "c"]}
    assert {"python", "anabranch", "numpy"} <= set(found.libraries)
    assert found.state["seen"] == 7
    assert found.state["kind"] == "line"


def test_the_file_is_plain_npz_without_pickle() -> None:
    stream = saved()
    stream.seek(0)
    with np.load(stream, allow_pickle=False) as archive:
        assert set(archive.files) == {"meta", "array.w"}
        assert json.loads(archive["meta"].tobytes())["format"] == FORMAT


def test_every_truncation_is_a_model_error() -> None:
    content = saved().getvalue()
    for length in [*range(0, len(content), 37), len(content) - 1]:
        with pytest.raises(ModelError, match="no model file"):
            load(io.BytesIO(content[:length]), LEARNERS)


def test_every_flipped_byte_of_an_array_is_noticed() -> None:
    content = saved().getvalue()
    at = content.index(np.arange(3.0).tobytes())
    for place in range(at, at + 24):
        broken = bytearray(content)
        broken[place] ^= 0x10
        with pytest.raises(ModelError):
            load(io.BytesIO(bytes(broken)), LEARNERS)


class Trap:
    """Would create a file if it were ever unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


def test_a_hostile_file_is_refused_and_runs_nothing(tmp_path: Path) -> None:
    trap = tmp_path / "sprung"
    hostile = np.array([Trap(trap)], dtype=object)
    parts = members(saved()) | {"array.w.npy": npy(hostile, allow_pickle=True)}
    for content in (archive_of(parts), io.BytesIO(pickle.dumps(hostile))):
        with pytest.raises(ModelError):
            load(content, LEARNERS)
    meta = npy(hostile, allow_pickle=True)
    with pytest.raises(ModelError, match="objects"):
        load(archive_of({"meta.npy": meta}), LEARNERS)
    assert not trap.exists()


def test_a_header_that_claims_too_much_is_refused_before_memory_is_taken() -> None:
    header = io.BytesIO()
    claim = {"descr": "<f8", "fortran_order": False, "shape": (10**15,)}
    np.lib.format.write_array_header_1_0(header, claim)
    parts = members(saved()) | {"array.w.npy": header.getvalue() + bytes(8)}
    with pytest.raises(ModelError, match="claims"):
        load(archive_of(parts), LEARNERS)


def test_compressed_and_strange_members_are_refused() -> None:
    parts = members(saved())
    with pytest.raises(ModelError, match="compressed"):
        load(archive_of(parts, zipfile.ZIP_DEFLATED), LEARNERS)
    with pytest.raises(ModelError, match=r"'w\.npy'"):
        load(archive_of(parts | {"w.npy": npy(np.ones(3))}), LEARNERS)
    del parts["meta.npy"]
    with pytest.raises(ModelError, match="metadata"):
        load(archive_of(parts), LEARNERS)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"format": FORMAT + 1}, "newer than"),
        ({"format": None}, "format"),
        ({"format": "one"}, "format"),
        ({"kind": None}, "kind"),
        ({"kind": "lime"}, "did you mean 'line'"),
        ({"values": [1]}, "values"),
        ({"values": {"schema": 2}}, "newer than 1"),
        ({"values": {"schema": 1}}, "damaged"),
    ],
)
def test_wrong_metadata_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ModelError, match=says):
        load(with_meta(**changes), LEARNERS)


def test_a_missing_file_and_a_text_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"none\.npz"):
        load(tmp_path / "none.npz", LEARNERS)
    (tmp_path / "text.npz").write_text("w = 3")
    with pytest.raises(ModelError, match="no model file"):
        load(tmp_path / "text.npz", LEARNERS)


def test_what_cannot_be_written_is_refused_and_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    with pytest.raises(ModelError, match="objects"):
        save(Line(np.array([None])), path)
    with pytest.raises(ModelError, match="set"):
        save(Line(np.ones(2), names={1, 2}), path)
    assert list(tmp_path.iterdir()) == []
