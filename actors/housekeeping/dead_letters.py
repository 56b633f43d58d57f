"""Sending dead letters again."""

from __future__ import annotations

import trio

from ...storage.dead_letters import DeadLetter
from ..kernel import Address, Message, Origin, Runtime
from ..kernel.codec import Unreadable
from ..message_shapes import message_of


async def replay(runtime: Runtime, letter: DeadLetter, patience: float) -> None:
    """Send a parked message again, and wait up to `patience` seconds until it is handled. The letter stays.

    Raises Unreadable if this version of the server can't make the message again, Crashed if the actor crashed on it
    once more, and the other errors of an `ask`.
    """
    address, origin = Address.parse(letter.address), Origin(letter.request_id or "-", letter.causes)
    message = parked_message(runtime, letter)
    await runtime.ask(address, message, origin=origin, deadline=trio.current_time() + patience)


def parked_message(runtime: Runtime, letter: DeadLetter) -> Message[object]:
    """Return the message that was parked. Raises Unreadable."""
    pool = runtime.pools.get(Address.parse(letter.address).kind)
    kind = pool.message_named(letter.kind.partition("(")[0]) if pool is not None else None
    if kind is None:
        raise Unreadable(f"{letter.address} takes no message {letter.kind}")
    return message_of(kind, letter.message)
