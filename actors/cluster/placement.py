"""The account whose owner handles a command."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from ..kernel import Address, Message


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
