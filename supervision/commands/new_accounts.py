"""`troupe accounts create` and `import`: accounts of this server, made directly in the rows."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

import click

from ...actors.rules.identity import USERNAME, local_account
from ...actors.rules.mailboxes import is_mailbox, spelled
from ...actors.rules.wording import number_of
from ...storage import accounts
from ...storage.engine.json_values import JsonObject, is_object
from ..settings.domain import base_url, require_domain
from .chosen_server import ChosenServer
from .names import InvalidAccount, WrongAccount
from .options import account_argument, dry_run_option, read_secret, setting_options
from .refusals import WrongValue
from .tokens import make_tokens, parse_scopes

if TYPE_CHECKING:
    from datetime import datetime

    from ...storage.engine.database import Connection
    from ...storage.users import NewUser
    from .rows import Here

ROLES = ("user", "moderator", "admin", "owner")
FIELDS = {"username", "email", "password", "role"}


@dataclass(frozen=True, slots=True)
class RequestedAccount:
    """An account to make. With `password_hash` None no password works."""

    username: str
    email: str
    password_hash: str | None
    role: str = "user"
    confirmed: bool = True
    approved: bool = True
    where: str = ""  # "line 3: " in an import


@dataclass(frozen=True, slots=True)
class CreatedAccount:
    """An account that was made."""

    id: int
    username: str
    token: str  # empty without scopes


@click.command
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
    server: ChosenServer, name: str, email: str, password: str | None, role: str, confirmed: bool, approved: bool
) -> None:
    """Make the account NAME.

    It can sign in once it is both confirmed and approved. It is unlocked and posts publicly.
    """
    from ...actors.rules.passwords import hashed

    # A wrong setting or argument is said before the question.
    settings = server.settings
    check_account(name, email, role)
    if password is None:
        password = read_secret("Password", twice=True)
    if not password.strip():  # such as `--password "$PW"` with a variable that is not set
        raise WrongValue("The password is empty.")
    wanted = RequestedAccount(name, email, hashed(password), role, confirmed, approved)
    server.transact(make_accounts, [wanted], ())
    click.echo(f"Made {base_url(settings)}/@{name}")


@click.command("import")
@click.argument("file", type=click.File("rb"))
@click.option("--scopes", metavar="SCOPES", help='Give each account a token, such as "read write follow push".')
@dry_run_option
@setting_options("data", "domain")
def import_(server: ChosenServer, file: BinaryIO, scopes: str | None, dry_run: bool) -> None:
    """Make the accounts of FILE, one JSON object a line; `-` reads standard input.

    A line has `username`, `email` and, if wanted, `password` and `role`. The accounts are confirmed and approved. All
    are made in one go: if a line is wrong, it is named and no account is made. With --scopes each account is answered
    by a line with `name`, `id` and `token`.
    """
    from .progress import interruptible, progress

    try:
        granted = parse_scopes(scopes) if scopes is not None else ()
        lines = file.readlines()
        with progress("Passwords", len(lines), "No account was made.") as update:
            wanted = _read_accounts(lines, update)
        with interruptible("No account was made."):
            made = server.transact(make_accounts, wanted, granted, dry_run=dry_run)
    except InvalidAccount as unfit:
        raise type(unfit)(f"{unfit}. No account was made") from None
    if granted and not dry_run:
        click.echo(
            "\n".join(
                json.dumps({"name": account.username, "id": str(account.id), "token": account.token})
                for account in made
            )
        )
    click.echo(f"{'Would make' if dry_run else 'Made'} {number_of(len(made), 'accounts')}.", err=True)


def _read_accounts(lines: Iterable[bytes], progress: Callable[[int], None]) -> list[RequestedAccount]:
    """Return the accounts of a file, with hashed passwords. Raises InvalidAccount for the first line that is wrong.

    `progress` is called for each line.
    """
    entries = [(number, _parsed(number, line)) for number, line in enumerate(lines, 1) if line.strip()]
    _refuse_repeats(entries)
    hashes = _hash_all([entry.get("password") for _, entry in entries], progress)
    return [_wanted(*entry, password_hash) for entry, password_hash in zip(entries, hashes, strict=True)]


def _parsed(number: int, line: bytes) -> JsonObject:
    try:
        entry: object = json.loads(line)
        if not is_object(entry):
            raise InvalidAccount("it is not a JSON object")
        _check(entry)
    except (ValueError, RecursionError):
        raise InvalidAccount(f"line {number}: it is not JSON") from None
    except InvalidAccount as unfit:
        raise InvalidAccount(f"line {number}: {unfit}") from None
    return entry


def _check(entry: JsonObject) -> None:
    if unknown := entry.keys() - FIELDS:
        raise InvalidAccount(f"there is no field {min(unknown)}")
    if not isinstance(entry.get("password", ""), str | None):
        raise InvalidAccount("the password is not a text")
    check_account(entry.get("username"), entry.get("email"), entry.get("role") or "user")


def _refuse_repeats(entries: Sequence[tuple[int, JsonObject]]) -> None:
    first: dict[tuple[str, str], int] = {}
    for number, entry in entries:
        for field, value in (("username", entry["username"].lower()), ("email", spelled(entry["email"]).lower())):
            earlier = first.setdefault((field, value), number)
            if earlier != number:
                raise InvalidAccount(f"line {number}: the {field} {entry[field]} stands in line {earlier} too")


def _hash_all(passwords: Iterable[str | None], progress: Callable[[int], None]) -> list[str | None]:
    """Return a hash for each entry, computed on all cores."""
    hashes: list[str | None] = []
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        try:
            for hashed in threads.map(_hash, passwords):
                hashes.append(hashed)
                progress(1)
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            raise
    return hashes


def _hash(password: str | None) -> str | None:
    from ...actors.rules.passwords import hashed_quickly

    return hashed_quickly(password) if password else None


def _wanted(number: int, entry: JsonObject, password_hash: str | None) -> RequestedAccount:
    return RequestedAccount(
        username=entry["username"],
        email=entry["email"],
        password_hash=password_hash,
        role=entry.get("role") or "user",
        where=f"line {number}: ",
    )


def check_account(username: object, email: object, role: object = "user") -> None:
    """Refuse values that no row takes, and addresses to which no mail can be sent.

    Otherwise operators are free: `admin@localhost` is a valid address here.
    """
    if not isinstance(username, str) or not USERNAME.fullmatch(username):
        raise WrongAccount(f"the name {username!r} is not 1 to 30 of the letters a to z, digits and underscores")
    if not isinstance(email, str) or not is_mailbox(spelled(email)):
        raise WrongAccount(f"the e-mail address {email!r} is none")
    if role not in ROLES:
        raise WrongAccount(f"the role {role!r} is none of {', '.join(ROLES)}")


async def make_accounts(
    db: Connection, here: Here, wanted: Sequence[RequestedAccount], scopes: tuple[str, ...]
) -> list[CreatedAccount]:
    """Make accounts, users and, when there are scopes, a token for each: all or none."""
    from ...actors.effects.mail import mail
    from ...actors.mail.templates import CONFIRMATION
    from ...storage import users
    from ...storage.engine import notices

    url = base_url(here.settings)
    await require_domain(db, here.settings, url)
    await _refuse_taken(db, wanted)
    new = [(here.ids.next(), account) for account in wanted]
    await accounts.create_local_many(db, [local_account(id, account.username, url) for id, account in new], here.now)
    await users.create_many(db, [_user(id, account, here.now) for id, account in new], here.now)
    here.act.promise(*(mail(CONFIRMATION, id) for id, account in new if not account.confirmed))
    tokens = await make_tokens(db, here, [id for id, _ in new], scopes) if scopes else [""] * len(new)
    await notices.send(db, "accounts")
    return [CreatedAccount(id, account.username, token) for (id, account), token in zip(new, tokens, strict=True)]


async def _refuse_taken(db: Connection, wanted: Sequence[RequestedAccount]) -> None:
    from ...storage import users

    names = await accounts.find_local_many(db, [account.username for account in wanted])
    emails = await users.taken_emails(db, [spelled(account.email) for account in wanted])
    for account in wanted:
        if account.username.lower() in names:
            raise InvalidAccount(f"{account.where}the name {account.username} is taken")
        if spelled(account.email).lower() in emails:
            raise InvalidAccount(f"{account.where}the e-mail address {account.email} is taken")


def _user(account_id: int, wanted: RequestedAccount, now: datetime) -> NewUser:
    from ...storage.users import NewUser

    return NewUser(
        account_id=account_id,
        email=spelled(wanted.email),
        password_hash=wanted.password_hash,
        role=wanted.role,
        confirmed_at=now if wanted.confirmed else None,
        approved_at=now if wanted.approved else None,
    )
