"""Voting, in the turn of the account that votes. The texts are those that clients compare."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from ...storage import polls
from ...storage.engine import Connection
from ...storage.polls import Standing
from ...storage.statuses import Status
from ..account import Account
from ..kernel import Origin, Refused, turn
from .interacting import admit, invalid, promise
from .statuses import NOT_FOUND, find_original

OWN = invalid("You cannot vote in your own polls")
ENDED = invalid("The poll has already ended")
NO_OPTION = invalid("The chosen vote option does not exist")
ALREADY = invalid("You have already voted on this poll")


@dataclass(frozen=True, slots=True)
class Vote:
    """Command: choose these options of a status's poll, all of them or none."""

    status_id: int
    poll_id: int
    choices: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Voted:
    """What the transaction came to: everything the account has chosen by now, in the order of voting."""

    votes: tuple[int, ...]
    promised: list[int]


@turn(Account, Vote)
async def vote(self: Account, message: Vote) -> Refused | None:
    status = await find_original(self, message.status_id)
    if status is None or status.poll_id != message.poll_id:
        return NOT_FOUND
    if status.account_id == self.id:
        return OWN
    voted = await self.transact(_vote, self, status, message, self.now, self.origin)
    if isinstance(voted, Refused):
        return voted
    self.mark(status.id, votes=voted.votes)
    self.backstage.statuses.drop(status.id)
    self.backstage.outbox.hand_over(voted.promised)
    return None


async def _vote(
    db: Connection, self: Account, status: Status, message: Vote, now: datetime, origin: Origin
) -> Voted | Refused:
    if (refusal := await admit(db, self, status)) is not None:
        return refusal
    standing = await polls.lock(db, message.poll_id, now)
    if standing is None:
        return NOT_FOUND
    earlier = await polls.votes_of(db, message.poll_id, self.id)
    if (refusal := _refuse(standing, message.choices, earlier)) is not None:
        return refusal
    votes = [(self.backstage.ids.next(), position) for position in message.choices]
    await polls.vote(db, message.poll_id, self.id, votes, now, first=not earlier)
    promised = await promise(db, self, message.status_id, [], origin)
    return Voted((*earlier, *message.choices), promised)


def _refuse(standing: Standing, choices: tuple[int, ...], earlier: Collection[int]) -> Refused | None:
    """Votes are final; with several choices more may be added."""
    if standing.ended:
        return ENDED
    if any(not 0 <= choice < standing.options for choice in choices):
        return NO_OPTION
    repeats = len(set(choices)) < len(choices) or not set(earlier).isdisjoint(choices)
    if repeats or (not standing.multiple and (earlier or len(choices) > 1)):
        return ALREADY
    return None
