"""`troupe accounts suspend` and others: the states that staff put accounts in, and the approval of sign-ups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .chosen_server import ChosenServer
from .names import InvalidAccount, find_account, find_local, notify_servers
from .options import account_argument, ask_first, setting_options, yes_option

if TYPE_CHECKING:
    from ...actors.commands.moderation import Action
    from ...storage.accounts import Account
    from ...storage.engine.database import Connection
    from ...storage.moderation import State
    from .rows import Here


def _putting(action: Action, sentence: str, done: str) -> click.Command:
    """Return the command that puts an account in a state."""

    @click.command(action, help=sentence)
    @account_argument
    @click.option("--reason", default="", metavar="TEXT", help="Why, for the audit log and the account's user.")
    @setting_options("data", "domain")
    def act(server: ChosenServer, name: str, reason: str) -> None:
        click.echo(f"{done} @{server.transact(_put, name, action, reason)}")

    return act


async def _put(db: Connection, here: Here, handle: str, action: Action, reason: str) -> str:
    """Put an account in a state. Return its name."""
    from ...actors.commands.moderation import ModerateAccount, moderate

    account = await find_account(db, here, handle)
    message = ModerateAccount(here.staff, action, reason)
    return await _done(db, account, await moderate(here.act, account.id, message))


def _taking_out(command: str, state: State, sentence: str, done: str) -> click.Command:
    """Return the command that takes an account out of a state."""

    @click.command(command, help=sentence)
    @account_argument
    @setting_options("data", "domain")
    def undo(server: ChosenServer, name: str) -> None:
        click.echo(f"{done} @{server.transact(_take_out, name, state)}")

    return undo


async def _take_out(db: Connection, here: Here, handle: str, state: State) -> str:
    """Take an account out of a state. Return its name."""
    from ...actors.commands.moderation import UndoModeration, undo

    account = await find_account(db, here, handle)
    return await _done(db, account, await undo(here.act, account.id, UndoModeration(here.staff, state)))


STATES = (
    _putting("disable", "Keep the user of NAME from signing in. Posts stay.", "Disabled"),
    _putting("silence", "Take NAME out of the public timelines and of all that strangers see.", "Silenced"),
    _putting("sensitive", "Mark all media of NAME as sensitive.", "Marked as sensitive:"),
    _putting(
        "suspend", "Hide NAME and all its posts. It is deleted 30 days later, unless this is undone.", "Suspended"
    ),
    _taking_out("enable", "disable", "Let the user of NAME sign in again.", "Enabled"),
    _taking_out("unsilence", "silence", "End the silence of NAME.", "Ended the silence of"),
    _taking_out("unsensitive", "sensitive", "Mark the media of NAME no longer as sensitive.", "No longer sensitive:"),
    _taking_out("unsuspend", "suspend", "End the suspension of NAME.", "Ended the suspension of"),
)


@click.command
@account_argument
@setting_options("data", "domain")
def approve(server: ChosenServer, name: str) -> None:
    """Approve the sign-up of NAME.

    A mail is sent, and the account can sign in as soon as its address is confirmed too.
    """
    click.echo(f"Approved @{server.transact(approve_sign_up, name)}")


async def approve_sign_up(db: Connection, here: Here, handle: str) -> str:
    """Approve a sign-up, and queue a mail about it. Return the account's name."""
    from ...actors.commands.accounts import ApproveSignUp, approve

    account = await _sign_up(db, here, handle)
    return await _done(db, account, await approve(here.act, account.id, ApproveSignUp(here.staff)))


@click.command
@account_argument
@yes_option
@setting_options("data", "domain")
def reject(server: ChosenServer, name: str, yes: bool) -> None:
    """Delete the account of NAME, a sign-up that is not approved.

    Name and address are free again. No mail is sent.
    """
    ask_first(lambda: f"Delete the sign-up of {name}?", yes=yes)
    click.echo(f"Rejected @{server.transact(_reject, name)}")


async def _reject(db: Connection, here: Here, handle: str) -> str:
    """Delete the account of a sign-up that was not approved. Return its name."""
    from ...actors.commands.accounts import RejectSignUp, reject

    account = await _sign_up(db, here, handle)
    return await _done(db, account, await reject(here.act, account.id, RejectSignUp(here.staff)))


async def _sign_up(db: Connection, here: Here, handle: str) -> Account:
    """Return the account of a sign-up that is not approved. Raises InvalidAccount."""
    from ...storage import users

    account = await find_local(db, here, handle)
    user = await users.find_user(db, account.id)
    if user is not None and user.approved_at is not None:
        raise InvalidAccount(f"@{account.acct} is approved already")
    return account


async def _done(db: Connection, account: Account, refused: object) -> str:
    """Return the name of the account on which an act was done. Raises InvalidAccount if it was refused."""
    from ...actors.kernel.errors import Refused

    if isinstance(refused, Refused):
        raise InvalidAccount(f"@{account.acct}: {refused.text}")
    await notify_servers(db)
    return account.acct
