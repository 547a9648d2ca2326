"""Letters survive the way between sites bit for bit, and nothing hostile gets through."""

from dataclasses import replace
from typing import Any

import hypothesis.extra.numpy as hnp
import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.letters import Letter, SiteNews
from anabranch.protocol import Array, Message
from connectors.kafka import wire_arrays
from connectors.kafka.letter_codec import (
    LETTER_REASONS,
    VERSION,
    Envelope,
    RefusedLetter,
    decode_letter,
    encode_letter,
    letter_key,
)
from connectors.kafka.wire_arrays import ArrayError, WireArray, pack_arrays, unpack_arrays

ENVELOPE = Envelope("run-7", "4f1c", "dsvor", "9a30")
NEIGHBOURS = {"a": ["b"], "b": ["a", "ç"], "ç": ["b"]}
PLACES = [
    "version",
    "run",
    "topology",
    "learner",
    "settings",
    "sender",
    "receiver",
    "round",
    "flags",
    "news",
    "arrays",
]
KINDS = ["<f8", "<f4", "<f2", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1"]


def bits(array: Array) -> tuple[str, tuple[int, ...], bytes]:
    return array.dtype.str, array.shape, array.tobytes()


def assert_same(one: Letter, other: Letter) -> None:
    """Letters are equal, their arrays bit for bit."""
    assert replace(one, message=None) == replace(other, message=None)
    assert (one.message is None) == (other.message is None)
    if one.message is not None and other.message is not None:
        assert one.message.to == other.message.to
        mine, theirs = one.message.arrays, other.message.arrays
        assert list(mine) == list(theirs)
        assert [bits(array) for array in mine.values()] == [bits(a) for a in theirs.values()]


def there_and_back(letter: Letter) -> Letter:
    return decode_letter(*encode_letter(letter, ENVELOPE), ENVELOPE, NEIGHBOURS)


def refusal(key: bytes | None, value: bytes | None) -> str:
    with pytest.raises(RefusedLetter) as caught:
        decode_letter(key, value, ENVELOPE, NEIGHBOURS)
    assert caught.value.reason in LETTER_REASONS
    assert caught.value.detail
    return caught.value.reason


def wire(**changed: Any) -> tuple[bytes, bytes]:
    """Give a record whose fields are partly not what they should be."""
    letter = Letter("a", "b", 3, Message({"w": np.ones(2)}))
    key, value = encode_letter(letter, ENVELOPE)
    fields = dict(zip(PLACES, msgspec.msgpack.decode(value), strict=True))
    return key, msgspec.msgpack.encode(list((fields | changed).values()))


def array(**changed: Any) -> tuple[bytes, bytes]:
    """Give a record with one array that is partly not what it should be."""
    fields = {"name": "w", "kind": "<f8", "shape": [2], "values": bytes(16), "indices": None}
    return wire(arrays=[list((fields | changed).values())])


def arrays_of(kind: str) -> Any:
    finite = {"allow_nan": False, "allow_infinity": False} if "f" in kind else {}
    elements = hnp.from_dtype(np.dtype(kind), **finite)
    shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=9)
    return hnp.arrays(kind, shapes, elements=elements, fill=st.just(np.zeros((), kind).item()))


MESSAGES = st.builds(
    Message,
    st.dictionaries(st.text(max_size=5), st.sampled_from(KINDS).flatmap(arrays_of), max_size=3),
    st.sampled_from([None, "b"]),
)
NEWS = st.builds(
    SiteNews, st.integers(-1, 1 << 53), st.none() | st.integers(min_value=-1, max_value=1 << 53)
)
LETTERS = st.builds(
    Letter,
    st.sampled_from(["a", "ç"]),
    st.just("b"),
    st.integers(0, 1 << 53),
    st.none() | MESSAGES,
    st.booleans(),
    st.booleans(),
    st.dictionaries(st.text(max_size=5), NEWS, max_size=3),
)


@given(LETTERS)
def test_what_was_written_is_read(letter: Letter) -> None:
    read = there_and_back(letter)
    assert_same(read, letter)
    if read.message is not None:
        assert not any(array.flags.writeable for array in read.message.arrays.values())


def test_minus_zero_is_not_nothing_even_in_a_sparse_array() -> None:
    w = np.zeros(100)
    w[[3, 50]] = [-0.0, 1.5]
    (packed,) = pack_arrays({"w": w})
    assert packed.indices is not None
    assert len(packed.values) == 16
    assert bits(unpack_arrays([packed])["w"]) == bits(w)


def test_bits_of_a_nan_are_written_as_they_are() -> None:
    w = np.zeros(100)
    w[7] = np.uint64(0xFFF8_0000_DEAD_BEEF).view(np.float64)
    dense, sparse = (pack_arrays({"w": one})[0] for one in (w[7:8], w))
    assert dense.values == sparse.values == w[7].tobytes()


@pytest.mark.parametrize(("there", "sparse"), [(0, True), (66, True), (67, False), (100, False)])
def test_an_array_travels_the_smaller_way(there: int, sparse: bool) -> None:
    w = np.zeros(100)
    w[:there] = 1.0
    (packed,) = pack_arrays({"w": w})
    assert (packed.indices is not None) == sparse
    assert len(packed.values) + len(packed.indices or b"") == min(100 * 8, there * 12)


def test_arrays_come_in_whatever_order_their_bytes_are() -> None:
    w = np.arange(6, dtype=">f8").reshape(2, 3)
    (packed,) = pack_arrays({"w": w.T})
    read = unpack_arrays([packed])["w"]
    assert read.dtype == np.dtype("<f8")
    assert read.tolist() == w.T.tolist()


def test_what_holds_no_plain_numbers_is_not_written() -> None:
    with pytest.raises(TypeError, match=r"^array 'w' is of object: allowed between sites are"):
        pack_arrays({"w": np.array([{}], dtype=object)})


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ("run", "other_run"),
        ("topology", "other_topology"),
        ("learner", "other_learner"),
        ("settings", "other_settings"),
    ],
)
def test_a_letter_under_another_envelope_is_refused(field: str, reason: str) -> None:
    other = replace(ENVELOPE, **{field: "another"})
    letter = Letter("a", "b", 3, Message({"w": np.ones(2)}))
    assert refusal(*encode_letter(letter, other)) == reason


def test_a_letter_of_another_version_is_refused_whatever_else_is_in_it() -> None:
    key = letter_key("b", "a")
    assert refusal(key, msgspec.msgpack.encode([VERSION + 1])) == "message_version"
    assert refusal(key, msgspec.msgpack.encode([VERSION + 1, {"all": "new"}])) == "message_version"
    assert refusal(*wire(version=0)) == "message_version"


def test_a_stranger_is_refused() -> None:
    for sender, receiver in (("ç", "a"), ("b", "b"), ("x", "b"), ("a", "x")):
        assert refusal(*encode_letter(Letter(sender, receiver, 3, None), ENVELOPE)) == (
            "not_a_neighbour"
        )


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", ["<f8", "<f4", "<f2"])
@pytest.mark.parametrize("size", [1, 100])
def test_what_is_not_finite_is_refused(value: float, kind: str, size: int) -> None:
    w = np.zeros(size, kind)
    w[-1] = value
    letter = Letter("a", "b", 3, Message({"fine": np.ones(2), "w": w}))
    assert refusal(*encode_letter(letter, ENVELOPE)) == "not_finite_message"


@pytest.mark.parametrize(
    "shape", [[1 << 40], [1 << 12, 1 << 12], [1 << 62, 1 << 62, 4], [0, 1 << 50], [1 << 63]]
)
def test_a_hostile_shape_is_refused_before_anything_is_made(shape: list[int]) -> None:
    assert refusal(*array(shape=shape, values=b"", indices=b"")) == "too_large"
    assert refusal(*array(shape=shape)) == "too_large"


def test_many_arrays_together_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire_arrays, "MOST_ELEMENTS", 100)
    assert len(unpack_arrays(pack_arrays({"v": np.zeros(50), "w": np.zeros(50)}))) == 2
    with pytest.raises(ArrayError) as caught:
        unpack_arrays(pack_arrays({"v": np.zeros(50), "w": np.zeros(51)}))
    assert caught.value.reason == "too_large"


@pytest.mark.parametrize(
    "changed",
    [
        {"kind": "|O8"},
        {"kind": ">f8"},
        {"kind": "<c16"},
        {"kind": "f8,f8"},
        {"kind": ""},
        {"shape": [3]},
        {"shape": [-2]},
        {"shape": [-1, -2]},
        {"shape": [2, 0]},
        {"shape": [1] * 9},
        {"shape": "2"},
        {"values": bytes(15)},
        {"values": bytes(24)},
        {"values": "text"},
        {"kind": "|b1", "values": b"\0\2"},
        {"values": bytes(8), "indices": b"\2\0\0\0"},
        {"values": bytes(16), "indices": b"\1\0\0\0\0\0\0\0"},
        {"values": bytes(16), "indices": b"\0\0\0\0\0\0\0\0"},
        {"values": bytes(16), "indices": b"\0\0\0\0"},
        {"values": bytes(8), "indices": b"\0\0\0"},
        {"name": 7},
    ],
)
def test_a_damaged_array_is_refused(changed: dict[str, Any]) -> None:
    assert refusal(*array(**changed)) == "malformed_message"


def test_an_array_that_comes_twice_is_refused() -> None:
    twice = [WireArray("w", "<f8", (1,), bytes(8))] * 2
    assert refusal(*wire(arrays=twice)) == "malformed_message"


@pytest.mark.parametrize(
    "changed",
    [
        {"sender": "ç"},
        {"receiver": "a"},
        {"round": -2},
        {"round": 1 << 60},
        {"round": "3"},
        {"flags": 8},
        {"flags": -1},
        {"news": {"s": [1 << 60, None]}},
        {"news": {"s": [1]}},
        {"news": 5},
        {"arrays": {}},
        {"version": "1"},
    ],
)
def test_a_damaged_letter_is_refused(changed: dict[str, Any]) -> None:
    assert refusal(*wire(**changed)) == "malformed_message"


@pytest.mark.parametrize("key", [None, b"", b"b", b"b\0a\0", b"\xff\0a", b"a\0b"])
def test_a_key_that_is_none_is_refused(key: bytes | None) -> None:
    _, value = wire()
    assert refusal(key, value) == "malformed_message"


@pytest.mark.parametrize(
    "value", [None, b"", b"\xc1", b"{}", b"\x91" * 100_000, b"\xdd\xff\xff\xff\xff"]
)
def test_what_is_no_letter_is_refused(value: bytes | None) -> None:
    assert refusal(letter_key("b", "a"), value) == "malformed_message"


def decoded_or_refused(key: bytes | None, value: bytes) -> None:
    """A letter, or a refusal with a reason; nothing else may come of any bytes."""
    reason, letter = None, None
    try:
        letter = decode_letter(key, value, ENVELOPE, NEIGHBOURS)
    except RefusedLetter as refused:
        reason = refused.reason
    assert reason in LETTER_REASONS or (letter is not None and letter.receiver in NEIGHBOURS)


@given(st.none() | st.binary(max_size=20), st.binary(max_size=200))
def test_any_bytes_are_a_letter_or_refused(key: bytes | None, value: bytes) -> None:
    decoded_or_refused(key, value)


@given(LETTERS, st.data())
@settings(max_examples=300)
def test_a_letter_with_any_bytes_changed_is_a_letter_or_refused(
    letter: Letter, data: st.DataObject
) -> None:
    key, value = encode_letter(letter, ENVELOPE)
    changed = bytearray(value)
    for at in data.draw(st.lists(st.integers(0, len(value) - 1), max_size=4)):
        changed[at] = data.draw(st.integers(0, 255))
    stop = data.draw(st.integers(0, len(value)))
    decoded_or_refused(key, bytes(changed))
    decoded_or_refused(key, value[:stop])


JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.floats()
    | st.binary(max_size=16)
    | st.text(max_size=5)
    | st.sampled_from(KINDS),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=12,
)


@given(st.sampled_from(PLACES), JUNK)
@settings(max_examples=300)
def test_a_letter_with_any_field_changed_is_a_letter_or_refused(place: str, junk: Any) -> None:
    decoded_or_refused(*wire(**{place: junk}))


@given(
    st.fixed_dictionaries({}, optional=dict.fromkeys(["kind", "shape", "values", "indices"], JUNK))
)
@settings(max_examples=300)
def test_an_array_with_any_fields_changed_is_an_array_or_refused(changed: dict[str, Any]) -> None:
    decoded_or_refused(*array(**changed))
