"""`troupe accounts`: making accounts, one or a file of them; approving and rejecting sign-ups."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

import click

from .options import CommandRefused, setting_options, settings_from


@click.group
def accounts() -> None:
    """Accounts of this server."""


@accounts.command
@click.argument("name")
@click.option("--email", required=True, metavar="ADDRESS", help="The address to sign in with; admin@localhost will do.")
@click.option(
    "--password", prompt=True, hide_input=True, confirmation_prompt=True, help="Any password; asked for when left out."
)
@click.option(
    "--role",
    type=click.Choice(["user", "moderator", "admin", "owner"]),
    default="user",
    show_default=True,
    help="What the account may do to others.",
)
@click.option("--confirmed", is_flag=True, help="The e-mail address is known to be right; no mail need confirm it.")
@click.option("--approved", is_flag=True, help="No moderator need approve of the account.")
@setting_options("data", "domain")
def create(
    name: str,
    email: str,
    password: str,
    role: str,
    confirmed: bool,
    approved: bool,
    data: str | None,
    domain: str | None,
    config: Path | None,
) -> None:
    """Make the account NAME.

    It can sign in once it is both confirmed and approved. It is unlocked and posts publicly.
    """
    from ...actors.rules.passwords import hashed
    from ..domain import base_url
    from .making import InvalidAccount, RequestedAccount, check_account, make_accounts
    from .rows import transact

    settings = settings_from(config, data=data, domain=domain)
    try:
        check_account(name, email, role)
        wanted = RequestedAccount(name, email, hashed(password), role, confirmed, approved)
        transact(settings, make_accounts, settings, [wanted], ())
    except InvalidAccount as unfit:
        raise CommandRefused(f"{unfit}.") from None
    click.echo(f"Made {base_url(settings)}/@{name}")


@accounts.command("import")
@click.argument("file", type=click.File("rb"))
@click.option("--scopes", metavar="SCOPES", help='Give each account a token, such as "read write follow push".')
@setting_options("data", "domain")
def import_(file: BinaryIO, scopes: str | None, data: str | None, domain: str | None, config: Path | None) -> None:
    """Make the accounts of FILE, one JSON object a line; `-` reads standard input.

    A line has `username`, `email` and, if wanted, `password` and `role`. The accounts are confirmed and approved. All
    are made in one go: if a line is wrong, it is named and no account is made. With --scopes each account is answered
    by a line with `name`, `id` and `token`.
    """
    from .importing import read_accounts
    from .making import InvalidAccount, make_accounts, parse_scopes
    from .rows import transact

    settings = settings_from(config, data=data, domain=domain)
    try:
        granted = parse_scopes(scopes) if scopes is not None else ()
        made = transact(settings, make_accounts, settings, read_accounts(file), granted)
    except InvalidAccount as unfit:
        raise CommandRefused(f"{unfit}. No account was made.") from None
    if granted:
        click.echo("\n".join(json.dumps({"name": one.username, "id": str(one.id), "token": one.token}) for one in made))
    click.echo(f"Made {len(made)} accounts.", err=True)


@accounts.command
@click.argument("name")
@setting_options("data", "domain")
def approve(name: str, data: str | None, domain: str | None, config: Path | None) -> None:
    """Approve the sign-up of NAME.

    A mail is sent, and the account can sign in as soon as its address is confirmed too.
    """
    from .moderating import approve_on

    click.echo(f"Approved @{_moderate(approve_on, name, (), data, domain, config)}")


@accounts.command
@click.argument("name")
@setting_options("data", "domain")
def reject(name: str, data: str | None, domain: str | None, config: Path | None) -> None:
    """Delete the account of NAME, a sign-up that is not approved.

    Name and address are free again. No mail is sent.
    """
    from .moderating import reject_on

    click.echo(f"Rejected @{_moderate(reject_on, name, (), data, domain, config)}")


def _act(action: str, sentence: str, done: str) -> None:
    """Add the command that puts an account in a state."""

    @accounts.command(action, help=sentence)
    @click.argument("name")
    @click.option("--reason", default="", metavar="TEXT", help="Why, for the audit log and the account's user.")
    @setting_options("data", "domain")
    def act(name: str, reason: str, data: str | None, domain: str | None, config: Path | None) -> None:
        from .moderating import act_on

        click.echo(f"{done} @{_moderate(act_on, name, (action, reason), data, domain, config)}")


def _undo(command: str, state: str, sentence: str, done: str) -> None:
    """Add the command that takes an account out of a state."""

    @accounts.command(command, help=sentence)
    @click.argument("name")
    @setting_options("data", "domain")
    def undo(name: str, data: str | None, domain: str | None, config: Path | None) -> None:
        from .moderating import undo_on

        click.echo(f"{done} @{_moderate(undo_on, name, (state,), data, domain, config)}")


def _moderate(
    act: Callable[..., Awaitable[str]], name: str, how: tuple[str, ...], data: str | None, domain: str | None,
    config: Path | None,
) -> str:  # fmt: skip
    from ..domain import base_url
    from .making import InvalidAccount
    from .rows import transact

    settings = settings_from(config, data=data, domain=domain)
    try:
        return transact(settings, act, name, urlsplit(base_url(settings)).netloc, *how)
    except InvalidAccount as unfit:
        raise CommandRefused(f"{unfit}.") from None


_act("disable", "Keep the user of NAME from signing in. Posts stay.", "Disabled")
_act("silence", "Take NAME out of the public timelines and of all that strangers see.", "Silenced")
_act("sensitive", "Mark all media of NAME as sensitive.", "Marked as sensitive:")
_act("suspend", "Hide NAME and all its posts. It is deleted 30 days later, unless this is undone.", "Suspended")
_undo("enable", "disable", "Let the user of NAME sign in again.", "Enabled")
_undo("unsilence", "silence", "End the silence of NAME.", "Ended the silence of")
_undo("unsensitive", "sensitive", "Mark the media of NAME no longer as sensitive.", "No longer sensitive:")
_undo("unsuspend", "suspend", "End the suspension of NAME.", "Ended the suspension of")
