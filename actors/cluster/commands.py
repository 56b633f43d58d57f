"""Commands that are handled by the owner of an account, on whichever node that is.

The asker of a command finds the owner by the map of the shards. If the shard has moved, the command comes back, and is
sent to the new owner until its deadline: a command that comes back has changed nothing. Answers, refusals and errors
are those of the owner's turn. If the owner ends or can't be reached, the outcome is not known, as after a timeout.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import trio

from ...storage.engine.database import Doubtful, NotOwner, StorageError, Unavailable
from ...storage.engine.shards import shard_of
from ..kernel import (
    Address,
    AskCycle,
    Busy,
    Crashed,
    KernelError,
    Message,
    Origin,
    Quarantined,
    Refused,
    Runtime,
    Stopping,
    TimedOut,
)
from ..kernel.cell import Asker
from ..kernel.codec import Codec, Unreadable
from ..kernel.errors import OwnerLost
from ..kernel.message import R, Reply
from ..kernel.runtime import waiting_for
from .bundles import SendBody
from .others import Incomplete
from .peers import Peer
from .wire import Sent, SentAnswer, SentCommand, SentError, Withdrawal

PAUSE = 0.1  # seconds until a command is sent again, after its shard has moved
# Seconds that a node that stops waits for running commands. A turn waits as long for acknowledgements at most.
FINISH = 1.5
# Commands of a node that are remembered, so that a repeated datagram is not handled twice.
REMEMBERED = 10_000

MOVED = "Moved"
ERRORS: dict[str, type[Exception]] = {
    kind.__name__: kind
    for kind in (AskCycle, Busy, Crashed, Quarantined, TimedOut, Stopping, OwnerLost, Incomplete, Unavailable, Doubtful)
}


class ShardMoved(Exception):
    """Raised when the asked node does not own the shard, or the shard has no owner at the moment. Nothing was done."""


@runtime_checkable
class ListCommand(Protocol):
    """A command to a list, with the account that sends it."""

    @property
    def viewer_id(self) -> int: ...


def owner_account(address: Address, message: Message[object]) -> int | None:
    """Return the account whose shard decides where a message is handled; None if that is in each process.

    The address of a list does not name the owner, so a command goes to the owner of its sender. If the sender does not
    own the list, the command is refused there.
    """
    if not message.at_owner:
        return None
    if address.kind == "account":
        return int(address.key)
    if not isinstance(message, ListCommand):
        raise TypeError(f"{message.label} to {address} names no account")
    return message.viewer_id


class Map(Protocol):
    """The owners of the shards, and whether this node may use its memory."""

    @property
    def is_complete(self) -> bool: ...

    @property
    def name(self) -> str:
        """The name of this node."""
        ...

    def owner_of(self, shard: int) -> str | None: ...

    async def refresh(self) -> None:
        """Read the owners again."""
        ...

    def load_before(self, address: Address, account: int) -> None:
        """Have the actor of a command load before it, if this node has just taken the account's shard."""
        ...


@dataclass(frozen=True, slots=True)
class AskedCommand:
    """A command that waits for its answer from a process: `answer` takes its bytes, `fail` an error."""

    peer: Peer
    answer: Callable[[bytes], None]
    fail: Callable[[Exception], None]


class ReceivedCommands:
    """The commands that this node has got from a process of another node: repeated datagrams are ignored."""

    def __init__(self) -> None:
        self.running: dict[int, trio.CancelScope] = {}
        self._seen: dict[int, None] = {}
        self._forgotten = 0  # commands with numbers up to this one count as repeated

    def is_new(self, number: int) -> bool:
        """True at the first call with a number."""
        if number <= self._forgotten or number in self._seen:
            return False
        self._seen[number] = None
        if len(self._seen) > REMEMBERED:
            oldest = next(iter(self._seen))
            del self._seen[oldest]
            self._forgotten = max(self._forgotten, oldest)
        return True

    def withdraw(self, number: int) -> None:
        """End a command, or ignore it when it comes: the datagrams may have changed their order."""
        if (scope := self.running.get(number)) is not None:
            scope.cancel()
        self.is_new(number)


class Commands:
    """Brings commands to the owners of accounts. The `Owners` of the runtime."""

    def __init__(
        self, runtime: Runtime, codec: Codec, map: Map, send: SendBody, peer: Callable[[str], Peer | None]
    ) -> None:
        self._runtime = runtime
        self._codec = codec
        self._map = map
        self._send = send
        self._peer = peer
        self._number = 0
        self._asked: dict[int, AskedCommand] = {}  # commands without an answer yet
        self._of_peers: dict[Peer, ReceivedCommands] = {}
        self._ended = trio.Event()  # set when a command of another node has ended

    # The own commands -------------------------------------------------------------------------------------------------

    def tell(self, address: Address, message: Message[object], origin: Origin) -> None:
        """Send a command without waiting. It is lost if the owner is not known or not there."""
        node = self._owner(address, message)
        if node == self._map.name:
            self._tell_own(address, message, origin)
        elif node is not None and (peer := self._peer(node)) is not None:
            self._send_command(peer, address, message, origin, 0.0, (), answered=False)

    async def ask(
        self, address: Address, message: Message[R], origin: Origin, deadline: float, asker: Asker | None
    ) -> R:
        """Have the owner handle a command, and return its answer. Raises as `Runtime.ask`, and OwnerLost."""
        while True:
            try:
                node = self._owner(address, message)
                if node == self._map.name:
                    return await self._ask_own(address, message, origin, deadline, (), asker)
                peer = None if node is None else self._peer(node)
                if peer is None:
                    raise ShardMoved
                return await self._ask(peer, address, message, origin, deadline, asker)
            except (ShardMoved, NotOwner) as moved:
                if trio.current_time() + PAUSE >= deadline:
                    raise OwnerLost(f"{address} has no owner") from moved
            await trio.sleep(PAUSE)
            await self._map.refresh()

    async def _ask_own(
        self, address: Address, message: Message[R], origin: Origin, deadline: float, waiting: tuple[str, ...],
        asker: Asker | None = None,
    ) -> R:  # fmt: skip
        """Have an actor of this node handle a command.

        Turns check much from memory before their transaction. So a refusal counts only if no fact is missing here.
        """
        if not self._map.is_complete:
            raise Incomplete
        self._load_before(address, message)
        try:
            return await self._runtime.ask(
                address, message, origin=origin, deadline=deadline, asker=asker, arrived=waiting
            )
        except Refused:
            if self._map.is_complete:
                raise
            raise Incomplete from None

    def _tell_own(self, address: Address, message: Message[object], origin: Origin) -> None:
        self._load_before(address, message)
        self._runtime.tell(address, message, origin=origin, arrived=True)

    def _load_before(self, address: Address, message: Message[object]) -> None:
        if (account := owner_account(address, message)) is not None:
            self._map.load_before(address, account)

    def _owner(self, address: Address, message: Message[object]) -> str | None:
        account = owner_account(address, message)
        return self._map.name if account is None else self._map.owner_of(shard_of(account))

    async def _ask(
        self, peer: Peer, address: Address, message: Message[R], origin: Origin, deadline: float, asker: Asker | None
    ) -> R:
        waiting = () if asker is None else waiting_for(asker)
        seconds = deadline - trio.current_time()
        number = self._send_command(peer, address, message, origin, seconds, waiting, answered=True)
        reply: Reply[R] = Reply()
        self._asked[number] = AskedCommand(
            peer, lambda data: reply.give(self._codec.decode_answer(type(message), data)), reply.give
        )
        try:
            with trio.move_on_at(deadline):
                return await reply.wait()
            raise TimedOut(message.label)
        finally:
            del self._asked[number]
            if not reply.given:
                self._send(peer, Withdrawal(number))

    def _send_command(
        self, peer: Peer, address: Address, message: Message[object], origin: Origin, seconds: float,
        waiting: tuple[str, ...], *, answered: bool,
    ) -> int:  # fmt: skip
        self._number += 1
        encoded = self._codec.encode(message)
        command = SentCommand(self._number, str(address), encoded, Sent.by(origin), seconds, waiting, answered)
        self._send(peer, command)
        return self._number

    def take_answer(self, peer: Peer, answer: SentAnswer) -> None:
        if (asked := self._asked.get(answer.number)) is not None and asked.peer is peer:
            try:
                asked.answer(answer.answer)
            except Unreadable as error:  # of another version of the server
                asked.fail(OwnerLost(str(error)))

    def take_error(self, peer: Peer, error: SentError) -> None:
        if (asked := self._asked.get(error.number)) is not None and asked.peer is peer:
            kind = ShardMoved if error.error == MOVED else ERRORS.get(error.error, OwnerLost)
            asked.fail(kind(error.text))

    def lose(self, peer: Peer) -> None:
        """End the waits for a process that has ended, and its commands that wait here."""
        for asked in list(self._asked.values()):
            if asked.peer is peer:
                asked.fail(OwnerLost(f"{peer.name} has ended"))
        if (of_peer := self._of_peers.pop(peer, None)) is not None:
            for scope in of_peer.running.values():
                scope.cancel()

    # The commands of other nodes --------------------------------------------------------------------------------------

    async def take_command(self, peer: Peer, command: SentCommand) -> None:
        """Handle a command as the owner, and send its answer."""
        if self._peer(peer.name) is not peer:
            return  # the process has ended since
        asked = self._of_peers.setdefault(peer, ReceivedCommands())
        if not asked.is_new(command.number):
            return
        with trio.CancelScope() as scope:
            asked.running[command.number] = scope
            try:
                body = await self._outcome(command)
            finally:
                del asked.running[command.number]
                self._ended.set()
            if body is not None:
                self._send(peer, body)

    async def _outcome(self, command: SentCommand) -> SentAnswer | SentError | None:
        number = command.number
        try:
            message = self._codec.decode_message(command.message)
            answer = await self._handle(Address.parse(command.address), message, command)
            return SentAnswer(number, self._codec.encode_answer(type(message), answer)) if command.answered else None
        except (ShardMoved, NotOwner):
            return SentError(number, MOVED, "")
        except (KernelError, StorageError) as error:
            return SentError(number, _known(error), str(error))
        except (TypeError, LookupError, ValueError) as error:  # of another version of the server
            return SentError(number, OwnerLost.__name__, str(error))

    async def _handle(self, address: Address, message: Message[R], command: SentCommand) -> R | Refused | None:
        """Have an actor of this node handle a command. Return its answer or refusal."""
        origin = command.sent.origin
        if self._owner(address, message) != self._map.name:
            raise ShardMoved
        if not command.answered:
            self._tell_own(address, message, origin)
            return None
        deadline = trio.current_time() + command.seconds
        try:
            return await self._ask_own(address, message, origin, deadline, command.waiting)
        except Refused as refusal:
            return refusal

    async def finish(self) -> None:
        """Wait until the commands of other nodes that run here have ended, at most `FINISH` seconds."""
        with trio.move_on_after(FINISH):
            while any(asked.running for asked in self._of_peers.values()):
                self._ended = trio.Event()
                await self._ended.wait()

    def withdraw(self, peer: Peer, withdrawal: Withdrawal) -> None:
        """End the wait for an answer. A command whose turn has not begun is not executed."""
        self._of_peers.setdefault(peer, ReceivedCommands()).withdraw(withdrawal.number)


def _known(error: Exception) -> str:
    """Return the name of the nearest class of an error that the other node knows."""
    return next((kind.__name__ for kind in type(error).__mro__ if kind.__name__ in ERRORS), OwnerLost.__name__)
