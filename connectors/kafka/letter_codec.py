"""Letters between sites as bytes, and the reasons to refuse what comes."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import msgspec

from anabranch.letters import Letter, SiteNews
from anabranch.protocol import Message, NodeId
from connectors.kafka.wire_arrays import ArrayError, WireArray, pack_arrays, unpack_arrays

__all__ = [
    "LETTER_REASONS",
    "VERSION",
    "Envelope",
    "RefusedLetter",
    "check_letter",
    "decode_letter",
    "encode_letter",
    "letter_key",
    "read_letter_key",
]

VERSION = 1
"""Of the layout of letters. Every version begins with its number."""

LETTER_REASONS = {
    "malformed_message": "not a letter between sites at all, or damaged",
    "message_version": "a letter of a version that this one does not read",
    "other_run": "the letter belongs to another run",
    "other_topology": "the sender's site has another graph, or other weights",
    "other_learner": "the sender's site learns with another kind of learner",
    "other_settings": "the sender's site has other settings of learner or exchange",
    "not_a_neighbour": "the sender is no neighbour of the receiver",
    "not_finite_message": "the parameters hold a NaN or an infinity",
    "too_large": "the arrays would take more memory than any learner here needs",
}
"""Every reason to refuse a letter, and its meaning."""


class RefusedLetter(Exception):  # noqa: N818 - control flow between the codec and its caller
    """A letter cannot be used; carries the reason and a sentence."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Envelope:
    """What all sites of a run must agree on.

    Attributes
    ----------
    run : name of the run
    topology : hash of the graph and its weights
    learner : kind of the learner
    settings : hash of the settings that must be the same everywhere
    version : of the layout
    """

    run: str
    topology: str
    learner: str
    settings: str
    version: int = VERSION


class _Wire(msgspec.Struct, array_like=True, forbid_unknown_fields=True, frozen=True):
    version: int
    run: str
    topology: str
    learner: str
    settings: str
    sender: str
    receiver: str
    round: int
    flags: int
    news: dict[str, tuple[int, int | None]]
    arrays: msgspec.Raw


class _Version(msgspec.Struct, array_like=True, frozen=True):
    """What every version begins with; fields beyond are passed over."""

    version: int


_UNCHANGED, _LAST, _TO_ONE = 1, 2, 4
_FARTHEST = 1 << 53
_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(_Wire)
_ARRAYS = msgspec.msgpack.Decoder(list[WireArray] | None)
_VERSIONS = msgspec.msgpack.Decoder(_Version)


def letter_key(receiver: NodeId, sender: NodeId) -> bytes:
    r"""Give the key of a letter, by which a site finds its own.

    >>> letter_key("n1", "n0")
    b'n1\x00n0'
    """
    return f"{receiver}\0{sender}".encode()


def read_letter_key(key: bytes | None) -> tuple[NodeId, NodeId]:
    r"""Give receiver and sender.

    Raises
    ------
    RefusedLetter
        malformed_message: the key is none of a letter.

    >>> read_letter_key(b"n1\x00n0")
    ('n1', 'n0')
    """
    try:
        receiver, sender = (key or b"").decode().split("\0")
    except ValueError:
        detail = f"the key {(key or b'')[:60]!r} is not that of a letter"
        raise RefusedLetter("malformed_message", detail) from None
    return receiver, sender


def encode_letter(letter: Letter, envelope: Envelope) -> tuple[bytes, bytes]:
    """Give the key and the value of a letter's record.

    Raises
    ------
    TypeError
        An array holds no plain numbers.
    """
    message = letter.message
    flags = letter.unchanged * _UNCHANGED | letter.last * _LAST
    if message is not None and message.to is not None:
        flags |= _TO_ONE
    wire = _Wire(
        envelope.version,
        envelope.run,
        envelope.topology,
        envelope.learner,
        envelope.settings,
        letter.sender,
        letter.receiver,
        letter.round,
        flags,
        {site: (news.round, news.last_tick) for site, news in letter.news.items()},
        msgspec.Raw(_ENCODER.encode(None if message is None else pack_arrays(message.arrays))),
    )
    return letter_key(letter.receiver, letter.sender), _ENCODER.encode(wire)


def decode_letter(
    key: bytes | None,
    value: bytes | None,
    envelope: Envelope,
    neighbours: Mapping[NodeId, Collection[NodeId]],
) -> Letter:
    """Read a letter.

    Parameters
    ----------
    key, value : of its record
    envelope : what this site takes
    neighbours : of each node

    Raises
    ------
    RefusedLetter
        With one of `LETTER_REASONS`.

    >>> envelope = Envelope("run-7", "4f1c", "dsvor", "9a30")
    >>> record = encode_letter(Letter("a", "b", 3, None, unchanged=True), envelope)
    >>> decode_letter(*record, envelope, {"b": ["a"]}).round
    3
    >>> decode_letter(*record, Envelope("run-8", "4f1c", "dsvor", "9a30"), {"b": ["a"]})
    Traceback (most recent call last):
    connectors.kafka.letter_codec.RefusedLetter: ('other_run', "the letter is of 'run-7', and this \
site takes 'run-8'")
    """
    wire = _checked(key, value, envelope, neighbours)
    news = {site: SiteNews(*known) for site, known in wire.news.items()}
    flags = bool(wire.flags & _UNCHANGED), bool(wire.flags & _LAST)
    return Letter(wire.sender, wire.receiver, wire.round, _message(wire), *flags, news)


def check_letter(
    key: bytes | None,
    value: bytes | None,
    envelope: Envelope,
    neighbours: Mapping[NodeId, Collection[NodeId]],
) -> None:
    """Look at everything but the arrays of a letter that nobody needs any more.

    Raises
    ------
    RefusedLetter
        As `decode_letter` does, whatever the arrays are.
    """
    _checked(key, value, envelope, neighbours)


def _checked(
    key: bytes | None,
    value: bytes | None,
    envelope: Envelope,
    neighbours: Mapping[NodeId, Collection[NodeId]],
) -> _Wire:
    wire = _open(value, envelope)
    if read_letter_key(key) != (wire.receiver, wire.sender):
        raise RefusedLetter("malformed_message", "its key names other nodes than itself")
    for reason, theirs, ours in (
        ("other_run", wire.run, envelope.run),
        ("other_topology", wire.topology, envelope.topology),
        ("other_learner", wire.learner, envelope.learner),
        ("other_settings", wire.settings, envelope.settings),
    ):
        if theirs != ours:
            detail = f"the letter is of {theirs[:60]!r}, and this site takes {ours!r}"
            raise RefusedLetter(reason, detail)
    if wire.sender not in neighbours.get(wire.receiver, ()):
        detail = f"{wire.sender[:60]!r} is no neighbour of {wire.receiver[:60]!r}"
        raise RefusedLetter("not_a_neighbour", detail)
    _check_numbers(wire)
    return wire


def _open(value: bytes | None, envelope: Envelope) -> _Wire:
    try:
        version = _VERSIONS.decode(value or b"").version
        if version != envelope.version:
            raise RefusedLetter(
                "message_version",
                f"the letter is of version {version}: allowed is {envelope.version}",
            )
        return _DECODER.decode(value or b"")
    except (msgspec.DecodeError, RecursionError) as error:
        raise RefusedLetter("malformed_message", f"not a letter: {error}") from None


def _check_numbers(wire: _Wire) -> None:
    numbers = [wire.round, *(number for known in wire.news.values() for number in known)]
    if any(number is not None and not -1 <= number <= _FARTHEST for number in numbers):
        raise RefusedLetter("malformed_message", "a round or tick is out of all bounds")
    if not 0 <= wire.flags < 2 * _TO_ONE:
        raise RefusedLetter("malformed_message", f"its flags are {wire.flags}")


def _message(wire: _Wire) -> Message | None:
    try:
        packed = _ARRAYS.decode(wire.arrays)
        if packed is None:
            return None
        arrays = unpack_arrays(packed)
    except (msgspec.DecodeError, RecursionError) as error:
        raise RefusedLetter("malformed_message", f"its arrays are none: {error}") from None
    except ArrayError as error:
        raise RefusedLetter(error.reason, error.detail) from None
    return Message(arrays, wire.receiver if wire.flags & _TO_ONE else None)
