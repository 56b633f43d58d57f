"""Moving the database of a server to another PostgreSQL, all or nothing, while no server runs on it.

The old database is marked as the last step. No server starts on it after that, because what it wrote there would be
lost.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from ...storage.copies import mark_moved
from ...storage.engine.cluster import UNFINISHED, Cluster
from ...storage.engine.connect import LoneConnection
from ...storage.engine.database import Connection
from ...storage.engine.embedded import discard, enter_cluster, exists, put_in_place
from ...storage.engine.migrate import require_current
from ...storage.engine.term import COPYING_NAME, begin_alone
from ...storage.engine.transfer import Place, copy_database
from ..configuration import Settings
from .options import CommandRefused
from .rows import ALL_TURNS, existing_database

#: The word for the PostgreSQL in the data folder, in the place of a URL.
EMBEDDED = "embedded"


def move(settings: Settings, target: str, named: Path | None, progress: Callable[[int], None]) -> int:
    """Move the database to a URL, or into the data folder. Return the number of rows. `progress` is told of bytes.

    Raises CommandRefused, AnotherNode, ClientFailed and Unavailable.
    """
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


def _check(settings: Settings, target: str) -> None:
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
    await begin_alone(db)
    await require_current(db)
    await db.execute(ALL_TURNS)


def _into_data_folder(
    session: LoneConnection, source: Place, data: Path, named: Path | None, progress: Callable[[int], None]
) -> int:
    cluster = Cluster(data, UNFINISHED)
    discard(cluster)
    server = enter_cluster(cluster)
    try:
        rows = copy_database(session, source, Place(server.dsn, own=True), named, progress)
    finally:
        server.leave()
    put_in_place(cluster)
    return rows
