"""Voting, in the turn of the account that votes. Clients compare the error texts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from ...storage import polls
from ...storage.engine.database import Connection
from ...storage.polls import PollState
from ...storage.statuses import Status
from ..account import AccountActor
from ..effects.sending import tallies_changed
from ..facts import ChangedStatus, MarkedStatus
from ..kernel import Message, Origin, Refused, turn
from ..refusals import NOT_FOUND
from ..sending.interactions import send_votes
from .interacting import admit, invalid, promise
from .statuses import find_original

OWN = invalid("You cannot vote in your own polls")
ENDED = invalid("The poll has already ended")
NO_OPTION = invalid("The chosen vote option does not exist")
ALREADY = invalid("You have already voted on this poll")


@dataclass(frozen=True, slots=True)
class Vote(Message[None]):
    """Command: choose these options of a status's poll, all or none. A vote from another server has a `uri`."""

    status_id: int
    poll_id: int
    choices: tuple[int, ...]
    uri: str | None = None


@dataclass(frozen=True, slots=True)
class Voted:
    """The outcome of the transaction: everything that the account has chosen, in the order of voting."""

    votes: tuple[int, ...]
    promised: list[int]


@turn(AccountActor, Vote)
async def vote(account: AccountActor, message: Vote) -> Refused | None:
    status = await find_original(account, message.status_id)
    if status is None or status.poll_id != message.poll_id:
        return NOT_FOUND
    if status.account_id == account.id:
        return OWN
    voted = await account.transact(_vote, account, status, message, account.now, account.origin)
    if isinstance(voted, Refused):
        return voted
    marked = MarkedStatus(account.id, status.id, votes=voted.votes)
    return await account.publish(marked, ChangedStatus(status.id), promised=voted.promised)


async def _vote(
    db: Connection, account: AccountActor, status: Status, message: Vote, now: datetime, origin: Origin
) -> Voted | Refused:
    if (refusal := await admit(db, account, status)) is not None:
        return refusal
    standing = await polls.lock(db, message.poll_id, now)
    if standing is None:
        return NOT_FOUND
    earlier = await polls.votes_of(db, message.poll_id, account.id)
    if (refusal := _refuse(standing, message.choices, earlier)) is not None:
        return refusal
    votes = [(account.context.ids.next(), position) for position in message.choices]
    await polls.vote(db, message.poll_id, account.id, votes, now, first=not earlier, uri=message.uri)
    sent = await send_votes(db, account, status, votes)
    if status.local:
        tallies = await tallies_changed(db, status.id, status.account_id, now + account.context.tally_delay)
        await account.context.outbox.promise(db, tallies, origin)
    promised = await promise(db, account, message.status_id, [], origin, sent)
    return Voted((*earlier, *message.choices), promised)


def _refuse(standing: PollState, choices: tuple[int, ...], earlier: Collection[int]) -> Refused | None:
    """Return why these choices are refused. Votes are final; in a poll with several choices more can be added."""
    if standing.ended:
        return ENDED
    if any(not 0 <= choice < standing.options for choice in choices):
        return NO_OPTION
    repeats = len(set(choices)) < len(choices) or not set(earlier).isdisjoint(choices)
    if repeats or (not standing.multiple and (earlier or len(choices) > 1)):
        return ALREADY
    return None
