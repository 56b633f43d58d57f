"""Voting, in the turn of the account that votes. Clients compare the error texts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ...storage import polls
from ...storage.polls import PollState
from ...storage.statuses import Status
from ..account import AccountActor, AccountChange
from ..effects.sending import tallies_changed
from ..facts.marks import MarkedStatus
from ..kernel import Command, Refused, turn
from ..refusals import NOT_FOUND
from ..sending.interactions import send_votes
from .interacting import admit, invalid
from .statuses import find_original

OWN = invalid("You cannot vote in your own polls")
ENDED = invalid("The poll has already ended")
NO_OPTION = invalid("The chosen vote option does not exist")
ALREADY = invalid("You have already voted on this poll")


@dataclass(frozen=True, slots=True)
class Vote(Command[None]):
    """Command: choose these options of a status's poll, all or none. A vote from another server has a `uri`."""

    status_id: int
    poll_id: int
    choices: tuple[int, ...]
    uri: str | None = None


@turn(AccountActor, Vote)
async def vote(account: AccountActor, message: Vote) -> Refused | None:
    status = await find_original(account, message.status_id)
    if status is None or status.poll_id != message.poll_id:
        return NOT_FOUND
    if status.account_id == account.id:
        return OWN
    return await account.change(_vote, status, message)


async def _vote(change: AccountChange, status: Status, message: Vote) -> Refused | None:
    db, account = change.db, change.account
    if (refusal := await admit(change, status)) is not None:
        return refusal
    standing = await polls.lock(db, message.poll_id, change.now)
    if standing is None:
        return NOT_FOUND
    earlier = await polls.votes_of(db, message.poll_id, account.id)
    if (refusal := _refuse(standing, message.choices, earlier)) is not None:
        return refusal
    votes = [(change.ids.next(), position) for position in message.choices]
    await polls.vote(db, message.poll_id, account.id, votes, change.now, first=not earlier, uri=message.uri)
    change.publish(MarkedStatus(account.id, status.id, votes=(*earlier, *message.choices)))
    change.count_again(status.id)
    change.promise(*await send_votes(db, account, status, votes))
    if status.local:
        tally_at = change.now + change.context.tally_delay
        change.promise(*await tallies_changed(db, status.id, status.account_id, tally_at))
    return None


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
