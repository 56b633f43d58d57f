"""`troupe accounts`: making, finding, changing and deleting accounts, and acts of staff on them."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from ...actors.rules.wording import number_of
from ...storage.engine.json_values import JsonObject
from .acting import WrongValue, on_account
from .acting import act as act_once
from .options import (
    CommandRefused,
    account_argument,
    ask_first,
    dry_run_option,
    json_option,
    print_json,
    print_list,
    read_secret,
    setting_options,
    settings_from,
    yes_option,
)
from .tending import cull, refresh, rotate_keys

if TYPE_CHECKING:
    from ...storage.admin_accounts import Status

ROLES = ("user", "moderator", "admin", "owner")


@click.group
def accounts() -> None:
    """Accounts of this server, and those of others that it knows."""


for command in (refresh, rotate_keys, cull):
    accounts.add_command(command)


@accounts.command
@account_argument
@click.option("--email", required=True, metavar="ADDRESS", help="The address to sign in with; admin@localhost will do.")
@click.option("--password", help="Any password. Left out, it is asked for, or read from standard input.")
@click.option(
    "--role",
    type=click.Choice(ROLES),
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
    password: str | None,
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
    from .finding import InvalidAccount, WrongAccount
    from .making import RequestedAccount, check_account, make_accounts
    from .rows import transact

    settings = settings_from(config, data=data, domain=domain)
    if password is None:
        password = read_secret("Password", twice=True)
    if not password.strip():  # such as `--password "$PW"` with a variable that is not set
        raise WrongValue("The password is empty.")
    try:
        check_account(name, email, role)
        wanted = RequestedAccount(name, email, hashed(password), role, confirmed, approved)
        transact(settings, make_accounts, settings, [wanted], ())
    except WrongAccount as wrong:
        raise WrongValue(f"{wrong}.") from None
    except InvalidAccount as unfit:
        raise CommandRefused(f"{unfit}.") from None
    click.echo(f"Made {base_url(settings)}/@{name}")


@accounts.command("import")
@click.argument("file", type=click.File("rb"))
@click.option("--scopes", metavar="SCOPES", help='Give each account a token, such as "read write follow push".')
@dry_run_option
@setting_options("data", "domain")
def import_(
    file: BinaryIO, scopes: str | None, dry_run: bool, data: str | None, domain: str | None, config: Path | None
) -> None:
    """Make the accounts of FILE, one JSON object a line; `-` reads standard input.

    A line has `username`, `email` and, if wanted, `password` and `role`. The accounts are confirmed and approved. All
    are made in one go: if a line is wrong, it is named and no account is made. With --scopes each account is answered
    by a line with `name`, `id` and `token`.
    """
    from .finding import InvalidAccount, WrongAccount
    from .importing import read_accounts
    from .making import make_accounts, parse_scopes
    from .progress import interruptible, progress
    from .rows import transact

    settings = settings_from(config, data=data, domain=domain)
    try:
        granted = parse_scopes(scopes) if scopes is not None else ()
        lines = file.readlines()
        with progress("Passwords", len(lines), "No account was made.") as update:
            wanted = read_accounts(lines, update)
        with interruptible("No account was made."):
            made = transact(settings, make_accounts, settings, wanted, granted, dry_run=dry_run)
    except WrongAccount as wrong:
        raise WrongValue(f"{wrong}. No account was made.") from None
    except InvalidAccount as unfit:
        raise CommandRefused(f"{unfit}. No account was made.") from None
    if granted and not dry_run:
        click.echo("\n".join(json.dumps({"name": one.username, "id": str(one.id), "token": one.token}) for one in made))
    click.echo(f"{'Would make' if dry_run else 'Made'} {number_of(len(made), 'accounts')}.", err=True)


@accounts.command
@account_argument
@setting_options("data", "domain")
def approve(name: str, data: str | None, domain: str | None, config: Path | None) -> None:
    """Approve the sign-up of NAME.

    A mail is sent, and the account can sign in as soon as its address is confirmed too.
    """
    from .moderating import approve_on

    click.echo(f"Approved @{on_account(config, approve_on, name, data=data, domain=domain)}")


@accounts.command
@account_argument
@yes_option
@setting_options("data", "domain")
def reject(name: str, yes: bool, data: str | None, domain: str | None, config: Path | None) -> None:
    """Delete the account of NAME, a sign-up that is not approved.

    Name and address are free again. No mail is sent.
    """
    from .moderating import reject_on

    ask_first(lambda: f"Delete the sign-up of {name}?", yes=yes)
    click.echo(f"Rejected @{on_account(config, reject_on, name, data=data, domain=domain)}")


def _act(action: str, sentence: str, done: str) -> None:
    """Add the command that puts an account in a state."""

    @accounts.command(action, help=sentence)
    @account_argument
    @click.option("--reason", default="", metavar="TEXT", help="Why, for the audit log and the account's user.")
    @setting_options("data", "domain")
    def act(name: str, reason: str, data: str | None, domain: str | None, config: Path | None) -> None:
        from .moderating import act_on

        click.echo(f"{done} @{on_account(config, act_on, name, action, reason, data=data, domain=domain)}")


def _undo(command: str, state: str, sentence: str, done: str) -> None:
    """Add the command that takes an account out of a state."""

    @accounts.command(command, help=sentence)
    @account_argument
    @setting_options("data", "domain")
    def undo(name: str, data: str | None, domain: str | None, config: Path | None) -> None:
        from .moderating import undo_on

        click.echo(f"{done} @{on_account(config, undo_on, name, state, data=data, domain=domain)}")


_act("disable", "Keep the user of NAME from signing in. Posts stay.", "Disabled")
_act("silence", "Take NAME out of the public timelines and of all that strangers see.", "Silenced")
_act("sensitive", "Mark all media of NAME as sensitive.", "Marked as sensitive:")
_act("suspend", "Hide NAME and all its posts. It is deleted 30 days later, unless this is undone.", "Suspended")
_undo("enable", "disable", "Let the user of NAME sign in again.", "Enabled")
_undo("unsilence", "silence", "End the silence of NAME.", "Ended the silence of")
_undo("unsensitive", "sensitive", "Mark the media of NAME no longer as sensitive.", "No longer sensitive:")
_undo("unsuspend", "suspend", "End the suspension of NAME.", "Ended the suspension of")


STATUSES = ("active", "pending", "disabled", "silenced", "suspended", "sensitized")


@accounts.command("list")
@json_option
@click.option("--local/--remote", default=None, help="Only accounts of this server, or only of others.")
@click.option("--status", type=click.Choice(STATUSES), help="Only accounts in this state.")
@click.option("--role", type=click.Choice(ROLES), help="Only users with this role.")
@click.option("--username", metavar="TEXT", help="Only names that begin so.")
@click.option("--email", metavar="TEXT", help="Only e-mail addresses that begin so, or of a domain: @example.org.")
@click.option("--by-domain", metavar="DOMAIN", help="Only accounts of this server.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="The most accounts.")
@setting_options("data")
def list_(
    as_json: bool,
    local: bool | None,
    status: Status | None,
    role: str | None,
    username: str | None,
    email: str | None,
    by_domain: str | None,
    limit: int,
    data: str | None,
    config: Path | None,
) -> None:
    """List accounts, the newest first: id, name, role, e-mail address, states."""
    from ...actors.rules.domains import sought_addresses
    from ...actors.rules.identity import pasted_domain
    from ...storage.admin_accounts import AccountFilter
    from .listing import list_accounts

    beginning, email_domain = sought_addresses(email or "")
    wanted = AccountFilter(
        local, frozenset([status] if status else ()), None if role is None else frozenset([role]),
        username=username and username.removeprefix("@"), email=beginning, email_domain=email_domain,
        domain=by_domain and (pasted_domain(by_domain) or by_domain),
    )  # fmt: skip
    print_list(act_once(config, list_accounts, wanted, limit, data=data), _line, as_json=as_json)


@accounts.command
@account_argument
@json_option
@setting_options("data", "domain")
def show(name: str, as_json: bool, data: str | None, domain: str | None, config: Path | None) -> None:
    """Show the account NAME, a line for each of its facts."""
    from .listing import show_account

    found = on_account(config, show_account, name, data=data, domain=domain)
    if as_json:
        print_json(found)
    for fact, value in () if as_json else found.items():
        click.echo(f"{fact}\t{_shown(value)}")


@accounts.command
@account_argument
@click.option("--role", type=click.Choice(ROLES), help="What the account may do to others.")
@click.option("--email", metavar="ADDRESS", help="The address to sign in with. You vouch for it: no link is sent.")
@click.option("--confirm", is_flag=True, help="The e-mail address is known to be right.")
@click.option("--approve", is_flag=True, help="Approve the sign-up.")
@click.option("--reset-password", is_flag=True, help="Print a new password, and end all sessions and tokens.")
@click.option("--disable-2fa", is_flag=True, help="Let the user sign in without a code.")
@yes_option
@setting_options("data", "domain")
def modify(
    name: str,
    role: str | None,
    email: str | None,
    confirm: bool,
    approve: bool,
    reset_password: bool,
    disable_2fa: bool,
    yes: bool,
    data: str | None,
    domain: str | None,
    config: Path | None,
) -> None:
    """Change the user of NAME: all that is asked for, or nothing. Changes hold at once.

    A new password needs a confirmation.
    """
    from ...actors.rules.passwords import hashed
    from .modifying import AccountChanges
    from .modifying import modify as change

    password = secrets.token_urlsafe(12) if reset_password else None
    changes = AccountChanges(role, email, confirm, approve, password and hashed(password), disable_2fa)
    if changes == AccountChanges():
        raise click.UsageError("Say what to change.")
    if reset_password:
        ask_first(lambda: f"Give {name} a new password, and end all sessions and tokens?", yes=yes)
    acct = on_account(config, change, name, changes, data=data, domain=domain)
    click.echo(f"Changed @{acct}" if password is None else f"Changed @{acct}, new password: {password}")


@accounts.command
@account_argument
@dry_run_option
@yes_option
@setting_options("data", "domain")
def delete(name: str, dry_run: bool, yes: bool, data: str | None, domain: str | None, config: Path | None) -> None:
    """Delete NAME, as its user would. There is no way back.

    The account is hidden at once, and its user can't sign in any more. The running server erases its posts and files;
    if none runs, the next one does as soon as it starts.
    """
    from .modifying import delete_account

    def delete_it(*, dry: bool) -> JsonObject:
        return on_account(config, delete_account, name, dry_run=dry, data=data, domain=domain)

    def question() -> str:
        return f"Delete {_counted(delete_it(dry=True))} for ever?"

    if not dry_run:
        ask_first(question, yes=yes)
    found = delete_it(dry=dry_run)
    if dry_run:
        click.echo(f"Would delete {_counted(found)}.")
    else:
        click.echo(f"Deleted @{found['account']}. The server erases what is left of it, now or when it starts.")


@accounts.command
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@dry_run_option
@yes_option
@json_option
@setting_options("data", "domain")
def merge(
    source: str,
    target: str,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    data: str | None,
    domain: str | None,
    config: Path | None,
) -> None:
    """Merge two accounts of one person on another server, who has two names on this server.

    The follows, posts, mentions, favourites, blocks and all else of FROM become those of TO, and FROM is removed. What
    TO has already is dropped.
    """
    from .merging import merge as merge_accounts

    if not dry_run:
        ask_first(lambda: f"Give all of {source} to {target}, and remove {source}?", yes=yes)
    done = on_account(config, merge_accounts, source, target, dry_run=dry_run, data=data, domain=domain)
    if as_json:
        print_json({**done, "dry_run": dry_run})
        return
    click.echo(f"{'Would merge' if dry_run else 'Merged'} @{done['from']} into @{done['to']}")
    for table in sorted({*done["moved"], *done["dropped"]}):
        click.echo(f"{table}\t{done['moved'].get(table, 0)} moved\t{done['dropped'].get(table, 0)} dropped")


def _counted(found: JsonObject) -> str:
    posts, followers = number_of(found["statuses"], "posts"), number_of(found["followers"], "followers")
    return f"@{found['account']} with {posts} and {followers}"


def _line(one: JsonObject) -> str:
    columns = (one["id"], f"@{one['account']}", one.get("role", "-"), one.get("email", "-"), _joined(one["states"]))
    return "\t".join(str(column) for column in columns)


def _joined(states: str | int | list[str] | None) -> str:
    return ", ".join(states) if isinstance(states, list) else ""


def _shown(value: str | int | list[str] | None) -> str:
    """Return a fact in one line: a person may have written it in several."""
    written = _joined(value) if isinstance(value, list) else "" if value is None else str(value)
    return " ".join(written.split()) or "-"
