"""`troupe db`: the database itself: a shell on it, another place for it, another version of PostgreSQL."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import click

from ...actors.rules.wording import number_of
from .backup import programs_option
from .options import read_secret, setting_options, settings_from

PATIENCE = "10"  # seconds until psql must be connected
NOTHING_DONE = "Nothing was changed. Run the same command again."


@click.group
def db() -> None:
    """The database: the embedded one in the data folder, or the one that TROUPE_DATABASE_URL names."""


@db.command
@click.argument("arguments", nargs=-1, metavar="[-- ARGUMENTS...]")
@programs_option
@setting_options("data")
def shell(arguments: tuple[str, ...], programs: Path | None, data: str | None, config: Path | None) -> None:
    """Open psql on the database, with ARGUMENTS, such as -- -c 'SELECT count(*) FROM statuses'.

    What you change there is not seen by the running server, and nothing checks it.
    """
    from ...storage.engine import programs as own
    from ...storage.engine.clients import ClientPrograms, DatabaseAddress
    from .rows import existing_database

    settings = settings_from(config, data=data)
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
def move(target: str, programs: Path | None, data: str | None, config: Path | None) -> None:
    """Move the database to an empty one at URL, or with `embedded` in its place into the data folder.

    All users of this machine can read the arguments of a command while it runs. So give a URL that has a password as
    `-`, which asks for it, or reads it from standard input: `troupe db move - < /etc/troupe/database-url`.

    Stop the server first. All of it is copied in one transaction, and compared; then the old database is marked, and no
    server starts on it any more. Interrupted, nothing of it has changed, and the same command goes on. Set or unset
    TROUPE_DATABASE_URL afterwards.
    """
    from .moving import EMBEDDED, has_password, shown
    from .moving import move as move_database
    from .progress import progress

    settings = settings_from(config, data=data)
    if target == "-":
        target = read_secret("The URL of the new database")
    elif has_password(target):
        click.echo(
            "All users of this machine can read the password in the arguments of this command while it runs. Give the"
            " URL as `-` instead.", err=True,
        )  # fmt: skip
    if target != EMBEDDED:
        settings_from(config, data=data, database_url=target)  # which refuses what is no URL
    with progress("Database", None, NOTHING_DONE, in_bytes=True) as update:
        rows = move_database(settings, target, programs, update)
    click.echo(f"Moved {number_of(rows, 'rows')} to {shown(target, settings.data)}.")
    if target == EMBEDDED:
        click.echo("Start the server without TROUPE_DATABASE_URL.")
    else:
        click.echo("Set TROUPE_DATABASE_URL to it before you start the server.")


@db.command
@click.option(
    "--programs",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="The directory of the programs of the old PostgreSQL. [default: the wheel's or Debian's]",
)
@setting_options("data")
def upgrade(programs: Path | None, data: str | None, config: Path | None) -> None:
    """Upgrade the embedded PostgreSQL in the data folder to the major version that this version of Troupe brings.

    Stop the server first. The database is copied into a new one, which takes its place when it is whole; the old files
    are kept beside it. Interrupted, nothing has changed.
    """
    from ...storage.engine.upgrade import upgrade_cluster
    from .progress import progress

    settings = settings_from(config, data=data)
    with progress("Database", None, NOTHING_DONE, in_bytes=True) as update:
        done = upgrade_cluster(settings.data, programs, update)
    if done is None:
        click.echo("There is nothing to upgrade.")
        return
    click.echo(
        f"Upgraded PostgreSQL {done.before} to {done.after}. The old files are in {done.kept}: remove them when"
        " the server runs well."
    )
