"""Dead letters: what they say, without the texts of people, and how one is sent again."""

from __future__ import annotations

import re
from typing import cast

import trio

from ..storage.dead_letters import DeadLetter
from ..storage.engine.json_values import JsonObject
from .kernel import Address, Message, Origin, Runtime
from .kernel.codec import Unreadable
from .message_shapes import message_of

# Texts that say nothing about people: times, numbers, and the values of these fields, which are words of the program.
PLAIN = re.compile(r"-?\d+(\.\d+)?|\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)")
WORDS = frozenset({"of", "kind", "type", "state", "visibility", "language", "policy", "action", "reason_code"})
WORD = re.compile(r"[A-Za-z_]{1,40}")


def masked(fields: JsonObject) -> JsonObject:
    """Return the fields of a message, or of an effect, with their texts masked: "[12 characters]"."""
    return {name: _masked(value, name) for name, value in fields.items()}


def _masked(value: object, name: str) -> object:
    if isinstance(value, dict):
        # isinstance leaves the types of its contents open: this is JSON.
        return masked(cast("JsonObject", value))
    if isinstance(value, list):
        return [_masked(one, name) for one in cast("list[object]", value)]  # the same
    if not isinstance(value, str) or not value or PLAIN.fullmatch(value):
        return value
    return value if name in WORDS and WORD.fullmatch(value) else f"[{len(value)} characters]"


async def replay(runtime: Runtime, letter: DeadLetter, patience: float) -> None:
    """Send a parked message again, and wait up to `patience` seconds until it is handled. The letter stays.

    Raises Unreadable if this version of the server can't make the message again, Crashed if the actor crashed on it
    once more, and what else an `ask` raises.
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
    # The pool has a turn for this class, so it is one of messages.
    return cast("Message[object]", message_of(kind, letter.message))
