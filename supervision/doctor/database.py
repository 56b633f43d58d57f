"""PostgreSQL: its version, the settings that keep data safe, and its room for connections."""

from __future__ import annotations

from collections.abc import Iterator

from ...actors.kernel import instant_of_id
from ...storage.engine.connect import transact_once
from ...storage.engine.database import StorageError
from ...storage.engine.fitness import OLDEST
from ...storage.engine.json_values import JsonObject, list_or_empty
from ...storage.engine.migrate import MigrationRefused, require_current
from ...storage.engine.server_facts import ServerFacts, server_facts
from ...storage.engine.shards import SHARDS, count_lost
from ...storage.upkeep import words_to_come
from ..system.disks import size_text
from .findings import Examination, Finding

SUBJECT = "database"
# Besides the pool: the connection that holds the term and hears notices, and two commands at once.
BESIDES = 3
NOT_SEEN = "the room on the disk of an external PostgreSQL can't be seen from here"
LET_GO_ON = "Let its processes go on with `kill -CONT PID`, or repair the disk that they wait for: see `dmesg`."
LOSES = {
    "fsync": "a power cut can destroy the database",
    "full_page_writes": "a power cut can destroy pages of the database",
}


def check_database(examination: Examination) -> Iterator[Finding]:
    """Ask PostgreSQL, and evaluate its answers."""
    if examination.dsn is None:
        yield Finding(SUBJECT, "wrong", f"it can't be asked: {examination.no_database}", _reach(examination))
        return
    try:
        facts = transact_once(examination.dsn, server_facts)
    except StorageError as error:
        silent = isinstance(error.__cause__, TimeoutError) and not _is_external(examination)
        yield Finding(SUBJECT, "wrong", f"it can't be asked: {error}", LET_GO_ON if silent else _reach(examination))
        return
    yield from evaluate(facts, examination.sources.settings.database_connections, own=not _is_external(examination))
    yield from _schema(examination.dsn)
    yield from _shards(examination.dsn, examination.server)
    if _is_external(examination):
        yield Finding(SUBJECT, "note", f"{NOT_SEEN}; the database has {size_text(facts.size)} now")


def evaluate(facts: ServerFacts, pool: int, *, own: bool) -> Iterator[Finding]:
    """Return the findings about a server for a pool of this size. `own` is true for the embedded server."""
    wrong = [
        *_version(facts),
        *_writes(facts),
        *_safety(facts, own),
        *_connections(facts, pool, own),
        *_text_and_time(facts),
    ]
    if not wrong:
        yield Finding(
            SUBJECT, "good",
            f"PostgreSQL {facts.version}, {size_text(facts.size)}; fsync and full_page_writes are on;"
            f" {facts.max_connections} connections, {facts.others} of them used by others; UTF8, UTC",
        )  # fmt: skip
    yield from wrong


def _version(facts: ServerFacts) -> Iterator[Finding]:
    if facts.version_number < OLDEST * 10_000:
        yield Finding(
            SUBJECT, "wrong", f"PostgreSQL {facts.version} is too old",
            f"Upgrade it to {OLDEST} or newer with pg_upgrade, or move the database to such a server.",
        )  # fmt: skip


def _writes(facts: ServerFacts) -> Iterator[Finding]:
    if facts.settings["transaction_read_only"] == "off":
        return
    # PostgreSQL 13 does not say if it is a standby.
    if facts.settings.get("in_hot_standby") == "on":
        yield Finding(
            SUBJECT, "wrong", "it is a standby, which can only be read: nothing can be posted",
            "Let database_url name the primary, or make this server the primary: SELECT pg_promote().",
        )  # fmt: skip
        return
    yield Finding(
        SUBJECT, "wrong", "it can only be read: nothing can be posted while default_transaction_read_only is on",
        "As superuser: ALTER SYSTEM RESET default_transaction_read_only; SELECT pg_reload_conf(). A role or a database"
        " can have the setting too: \\drds in psql shows it.",
    )  # fmt: skip


def _safety(facts: ServerFacts, own: bool) -> Iterator[Finding]:
    for name, loss in LOSES.items():
        if facts.settings[name] != "on":
            command = f"ALTER SYSTEM RESET {name}" if own else f"ALTER SYSTEM SET {name} = on"
            yield Finding(
                SUBJECT, "wrong", f"{name} is {facts.settings[name]}: {loss}",
                f"As superuser: {command}; SELECT pg_reload_conf().",
            )  # fmt: skip
    if facts.settings["synchronous_commit"] == "off":
        yield Finding(
            SUBJECT, "note", "synchronous_commit is off: a power cut loses the acknowledged changes of the last second",
            "As superuser: ALTER SYSTEM SET synchronous_commit = on; SELECT pg_reload_conf().",
        )  # fmt: skip


def _connections(facts: ServerFacts, pool: int, own: bool) -> Iterator[Finding]:
    free = facts.max_connections - facts.reserved - facts.others
    if pool + BESIDES > free:
        yield Finding(
            SUBJECT, "wrong",
            f"database_connections is {pool}, and PostgreSQL has {max(free, 0)} connections for Troupe:"
            f" {facts.max_connections} (max_connections), {facts.reserved} are reserved, {facts.others} others' own",
            f"Set database_connections to {max(free - BESIDES, 1)} or less"
            + (", " if own else f", or max_connections to {facts.max_connections + pool + BESIDES - free} or more,")
            + " and restart.",
        )  # fmt: skip


def _text_and_time(facts: ServerFacts) -> Iterator[Finding]:
    if facts.encoding != "UTF8":
        yield Finding(
            SUBJECT, "wrong", f"the database's encoding is {facts.encoding}: it can't store all characters",
            "Make a new database: CREATE DATABASE troupe ENCODING 'UTF8' TEMPLATE template0.",
        )  # fmt: skip
    if facts.settings["TimeZone"] not in ("UTC", "Etc/UTC"):
        yield Finding(
            SUBJECT, "wrong",
            f"its connections have the timezone {facts.settings['TimeZone']}, although Troupe asks for UTC",
            "A connection pooler between them drops the setting: let it pass `timezone`, or connect without it.",
        )  # fmt: skip


def _schema(dsn: str) -> Iterator[Finding]:
    try:
        transact_once(dsn, require_current)
    except MigrationRefused as error:
        yield Finding(SUBJECT, "wrong", str(error), "Run `troupe migrate`, or start the server, which does it.")
    else:
        yield from _searchable(transact_once(dsn, words_to_come.below))


def _shards(dsn: str, server: JsonObject | None) -> Iterator[Finding]:
    """Find shards of accounts whose epoch was changed after the running server had taken them."""
    epochs = list_or_empty((server or {}).get("epochs"))  # a server of an earlier version does not say
    if epochs and (lost := transact_once(dsn, count_lost, epochs)):
        yield Finding(
            SUBJECT, "wrong",
            f"the table shards has other epochs than the running server for {lost} of {SHARDS} shards of accounts:"
            " their owners can't post",
            "Restart the server, which takes all shards again. Then find out what changed the table.",
        )  # fmt: skip


def _searchable(below_id: int | None) -> Iterator[Finding]:
    """Say how far an upgrade has come that makes the posts of earlier versions searchable."""
    if below_id is not None:
        yield Finding(
            SUBJECT, "note",
            f"searches find no posts from before {instant_of_id(below_id):%Y-%m-%d %H:%M} yet:"
            " the server adds them while it runs",
        )  # fmt: skip


def _is_external(examination: Examination) -> bool:
    return examination.sources.settings.database_url is not None


def _reach(examination: Examination) -> str:
    if _is_external(examination):
        return "Start PostgreSQL, and check host, user and password: `troupe config explain database_url` says where."
    return "Start the server once, or correct --data; the log of the embedded PostgreSQL is postgres/troupe.log there."
