"""Suggestions of accounts to follow, in the turn of the account that is given them. No other actor is notified."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import suggestions
from ..account import AccountActor
from ..kernel import Command, turn


@dataclass(frozen=True, slots=True)
class DismissSuggestion(Command[None]):
    """Command: suggest an account never again. An unknown account changes nothing."""

    target_id: int


@turn(AccountActor, DismissSuggestion)
async def dismiss_suggestion(account: AccountActor, message: DismissSuggestion) -> None:
    await account.transact(suggestions.dismiss, account.id, message.target_id)
