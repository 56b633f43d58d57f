"""The datagrams between nodes, as MessagePack.

Every datagram names the processes at both ends by their incarnations: a datagram of, or for, an earlier process of a
node is ignored. It also carries a fresh id of its sender. The receiver draws only higher ids from then on, so that ids
sort in the order of cause and effect although the clocks of nodes differ.
"""

from __future__ import annotations

import msgspec

from ..broadcast.publications import Progress
from ..kernel import Origin
from ..kernel.codec import Unreadable

# A receiver ignores fields that it does not know, so that two versions of the server can read each other.


class Sent(msgspec.Struct, frozen=True, array_like=True):
    """The origin of a message or of facts: as `Origin`."""

    request_id: str
    causes: tuple[str, ...]
    trace: str

    @classmethod
    def by(cls, origin: Origin) -> Sent:
        return cls(origin.request_id, origin.causes, origin.trace)

    @property
    def origin(self) -> Origin:
        return Origin(self.request_id, self.causes, self.trace)


class SentCommand(msgspec.Struct, frozen=True, tag="command"):
    """A command for an actor of the receiver. `seconds` are left until its deadline.

    The actors at the addresses in `waiting` wait for the answer. Without `answered` no answer is sent.
    """

    number: int
    address: str
    message: bytes
    sent: Sent
    seconds: float
    waiting: tuple[str, ...] = ()
    answered: bool = True


class SentAnswer(msgspec.Struct, frozen=True, tag="answer"):
    """The answer to a command, or the refusal."""

    number: int
    answer: bytes


class SentError(msgspec.Struct, frozen=True, tag="failure"):
    """The error in place of an answer, by the name of its class."""

    number: int
    error: str
    text: str


class Withdrawal(msgspec.Struct, frozen=True, tag="withdrawal"):
    """The asker of a command waits no longer."""

    number: int


class Bundle(msgspec.Struct, frozen=True, tag="bundle"):
    """The facts of a commit. `publication` is the number of the sender's publication; 0 if streams don't show it."""

    number: int
    facts: list[bytes]
    sent: Sent
    publication: int
    progress: Progress


class Acknowledgement(msgspec.Struct, frozen=True, tag="ack"):
    """The sender has applied all bundles of the receiver up to this number, or has read everything since."""

    through: int


class Farewell(msgspec.Struct, frozen=True, tag="farewell"):
    """The sender leaves, and will commit nothing more. Its facts are in the bundles up to the number `last`."""

    last: int
    progress: Progress


class PeerPoll(msgspec.Struct, frozen=True, tag="poll"):
    """Asks for the number of the last bundle. `at` is a time on the clock of the sender, which it gets back."""

    at: float


class PollAnswer(msgspec.Struct, frozen=True, tag="polled"):
    """`last` is the number of the last bundle that was sent to the node that polls.

    `admits` is True when the sender has heard from the node that polls as well: from then on that node may change rows.
    """

    at: float
    last: int
    admits: bool
    progress: Progress


class Counts(msgspec.Struct, frozen=True, tag="counts"):
    """The counts of the process `of`, or of the sender if it is empty: for each rule, end of a window, and subject."""

    of: str
    counts: dict[str, dict[int, dict[str, int]]]


BodyOfAnySize = (
    SentCommand | SentAnswer | SentError | Withdrawal | Bundle | Acknowledgement | Farewell | PeerPoll | PollAnswer
)
Body = BodyOfAnySize | Counts

# Counts are told in smaller datagrams (`counts.py`). Larger ones would keep the event loop: they have many values.
LARGEST_COUNTS = 1 << 18  # bytes


class NodeDatagram(msgspec.Struct, frozen=True, array_like=True):
    """A datagram from the process with the incarnation `sender` to the process with the incarnation `to`."""

    sender: int
    to: int
    id: int
    body: Body


class LargeDatagram(msgspec.Struct, frozen=True, array_like=True):
    """A datagram of more than `LARGEST_COUNTS`, as it is read."""

    sender: int
    to: int
    id: int
    body: BodyOfAnySize


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(NodeDatagram)
_large_decoder = msgspec.msgpack.Decoder(LargeDatagram)


def encode(datagram: NodeDatagram) -> bytes:
    return _encoder.encode(datagram)


def decode(data: bytes) -> NodeDatagram:
    """Return the datagram. Raises Unreadable."""
    try:
        if len(data) <= LARGEST_COUNTS:
            return _decoder.decode(data)
        large = _large_decoder.decode(data)
        return NodeDatagram(large.sender, large.to, large.id, large.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Unreadable(str(error)) from error
