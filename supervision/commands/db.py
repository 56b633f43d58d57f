"""`troupe db`: the database itself: a shell on it, another place for it, another version of PostgreSQL."""

from __future__ import annotations

import signal
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import click

from ...actors.rules.wording import number_of
from .backup import programs_option
from .chosen_server import ChosenServer
from .options import read_secret, setting_options
from .refusals import CommandRefused

if TYPE_CHECKING:
    from ...actors.configuration import Settings, StorageSettings
    from ...storage.engine.connect import LoneConnection
    from ...storage.engine.database import Connection
    from ...storage.engine.transfer import Place
    from .progress import Update

PATIENCE = "10"  # seconds until psql must be connected
NOTHING_DONE = "Nothing was changed. Run the same command again."
EMBEDDED = "embedded"  # for the PostgreSQL in the data folder, in the place of a URL


@click.group
def db() -> None:
    """The database: embedded in the data folder, or the database that TROUPE_DATABASE_URL names."""


@db.command
@click.argument("arguments", nargs=-1, metavar="[-- ARGUMENTS...]")
@programs_option
@setting_options("data")
def shell(server: ChosenServer, arguments: tuple[str, ...], programs: Path | None) -> None:
    """Open psql on the database, with ARGUMENTS, such as -- -c 'SELECT count(*) FROM statuses'.

    The running server does not notice your changes, and nothing checks them.
    """
    from ...storage.engine import programs as own
    from ...storage.engine.clients import ClientPrograms, DatabaseAddress
    from .rows import existing_database

    settings = server.settings
    with existing_database(settings) as dsn:
        address = DatabaseAddress.of(dsn, own=settings.database_url is None)
        command = ClientPrograms(programs or own.find(), address).psql(*arguments)
        # Ctrl-C is for psql. A handler and not SIG_IGN, which psql would inherit.
        before = signal.signal(signal.SIGINT, lambda number, frame: None)
        try:
            # Else a server that is frozen is waited for without an end.
            environment = {"PGCONNECT_TIMEOUT": PATIENCE, **address.environment}
            code = subprocess.run(command, env=environment, check=False).returncode  # noqa: S603 - no shell
        finally:
            signal.signal(signal.SIGINT, before)
    raise SystemExit(code if code >= 0 else 128 - code)


@db.command
@click.argument("target", metavar="URL")
@programs_option
@setting_options("data")
def move(server: ChosenServer, target: str, programs: Path | None) -> None:
    """Move the database to an empty database at URL, or into the data folder if URL is `embedded`.

    All users of this machine can read the arguments of a command while it runs. So give a URL that has a password as
    `-`, which asks for it, or reads it from standard input: `troupe db move - < /etc/troupe/database-url`.

    Stop the server first. All of it is copied in one transaction, and compared; then the old database is marked, and no
    server starts on it any more. If the command is interrupted, nothing has changed: run it again. Set or unset
    TROUPE_DATABASE_URL afterwards.
    """
    from .progress import progress

    settings = server.settings
    if target == "-":
        target = read_secret("The URL of the new database")
    elif has_password(target):
        click.echo(
            "All users of this machine can read the password in the arguments of this command while it runs. Give the"
            " URL as `-` instead.", err=True,
        )  # fmt: skip
    if target != EMBEDDED:
        _ = replace(server, chosen={**server.chosen, "database_url": target}).settings  # refuses a wrong URL
    with progress("Database", None, NOTHING_DONE, in_bytes=True) as update:
        rows = _move(settings, target, programs, update)
    click.echo(f"Moved {number_of(rows, 'rows')} to {shown(target, settings.data)}.")
    if target == EMBEDDED:
        click.echo("Start the server without TROUPE_DATABASE_URL.")
    else:
        click.echo("Set TROUPE_DATABASE_URL to it before you start the server.")


def _move(settings: Settings, target: str, named: Path | None, progress: Update) -> int:
    """Move the database to a URL, or into the data folder. Return the number of rows. `progress` is called with bytes.

    Raises CommandRefused, AnotherNode, ClientFailed and Unavailable.
    """
    from ...storage.engine.connect import LoneConnection
    from ...storage.engine.term import COPYING_NAME
    from ...storage.engine.transfer import Place, copy_database
    from ...storage.upkeep.copies import mark_moved
    from .rows import existing_database

    _check(settings, target)
    with existing_database(settings) as dsn, LoneConnection(dsn, COPYING_NAME) as session:
        session(_take)
        source = Place(dsn, own=settings.database_url is None)
        if target == EMBEDDED:
            rows = _into_data_folder(session, source, settings.data, named, progress)
        else:
            rows = copy_database(session, source, Place(target, own=False), named, progress)
        session(mark_moved, shown(target, settings.data))
    return rows


def shown(target: str, data: Path) -> str:
    """Return a database as an operator may read it everywhere: without user and password."""
    if target == EMBEDDED:
        return f"the folder {data}"
    parts = urlsplit(target)
    host = parts.netloc.rpartition("@")[2] or parse_qs(parts.query).get("host", ["localhost"])[0]
    return f"{host}{parts.path}"


def has_password(target: str) -> bool:
    """True if a URL contains a password."""
    try:
        parts = urlsplit(target)
        return parts.password is not None or "password" in parse_qs(parts.query)
    except ValueError:
        return True  # such as a password that cuts the URL


def _check(settings: StorageSettings, target: str) -> None:
    """Raise CommandRefused if the database is in the data folder, and shall move there."""
    from ...storage.engine.cluster import Cluster
    from ...storage.engine.embedded import exists

    if target != EMBEDDED:
        return
    if settings.database_url is None:
        raise CommandRefused(f"The database is in {settings.data} already: TROUPE_DATABASE_URL is not set.")
    if exists(settings.data):
        raise CommandRefused(
            f"There is a database in {settings.data} already. If it was moved away and you no longer need it, rename"
            f" or remove the folder {Cluster(settings.data).folder}."
        )


async def _take(db: Connection) -> None:
    """Keep servers and other commands from writing, for as long as the connection lives."""
    from ...storage.engine.migrate import require_current
    from ...storage.engine.term import begin_alone
    from .rows import ALL_TURNS

    await begin_alone(db)
    await require_current(db)
    await db.execute(ALL_TURNS)


def _into_data_folder(session: LoneConnection, source: Place, data: Path, named: Path | None, progress: Update) -> int:
    from ...storage.engine.cluster import UNFINISHED, Cluster
    from ...storage.engine.embedded import discard, enter_cluster, put_in_place
    from ...storage.engine.transfer import Place, copy_database

    cluster = Cluster(data, UNFINISHED)
    discard(cluster)
    server = enter_cluster(cluster)
    try:
        rows = copy_database(session, source, Place(server.dsn, own=True), named, progress)
    finally:
        server.leave()
    put_in_place(cluster)
    return rows


@db.command
@click.option(
    "--programs",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="The directory of the programs of the old PostgreSQL. [default: the wheel's or Debian's]",
)
@setting_options("data")
def upgrade(server: ChosenServer, programs: Path | None) -> None:
    """Upgrade the embedded PostgreSQL in the data folder to the major version that this version of Troupe brings.

    Stop the server first. The database is copied into a new cluster, which replaces it when complete. The old files are
    kept beside it. If the command is interrupted, nothing has changed.
    """
    from ...storage.engine.upgrade import upgrade_cluster
    from .progress import progress

    settings = server.settings
    with progress("Database", None, NOTHING_DONE, in_bytes=True) as update:
        done = upgrade_cluster(settings.data, programs, update)
    if done is None:
        click.echo("There is nothing to upgrade.")
        return
    click.echo(
        f"Upgraded PostgreSQL {done.before} to {done.after}. The old files are in {done.kept}: remove them when"
        " the server runs well."
    )
