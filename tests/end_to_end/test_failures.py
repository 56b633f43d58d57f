"""What an operator reads when a server or a command can't go on: one line, an exit code, and never the password."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryDirectory
from urllib.parse import parse_qs

import pytest

from troupe.storage.engine.embedded import embedded

from ..processes import until_gone
from .poisoning import each_alone
from .server import Server, free_port

SECRET = "hunter2secret"
NOT_DONE, WRONG_SETTING, NO_DATABASE = 1, 2, 69
PATIENCE = 20.0

AUTHENTICATION = "local all postgres peer map=troupe\nlocal all all scram-sha-256\n"
MAKE = f"""
    CREATE ROLE member LOGIN PASSWORD '{SECRET}';
    CREATE ROLE shut_out LOGIN CONNECTION LIMIT 0 PASSWORD '{SECRET}';
    CREATE DATABASE plain;
    CREATE DATABASE owned OWNER member;
    CREATE DATABASE pooled OWNER member;
    CREATE DATABASE latin OWNER member ENCODING 'LATIN1' LOCALE 'C' LOCALE_PROVIDER libc TEMPLATE template0;
    CREATE DATABASE standby OWNER member;
    ALTER DATABASE standby SET default_transaction_read_only = on;
"""
POOLER = """
[databases]
pooled = host={host} port={port} dbname=pooled user=member password={password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
ignore_startup_parameters = {ignored}
logfile = /dev/null
"""
SESSION_SETTINGS = "jit,plan_cache_mode,statement_timeout,idle_in_transaction_session_timeout,tcp_keepalives_idle,\
tcp_keepalives_interval,tcp_keepalives_count,extra_float_digits"


@pytest.fixture(scope="module")
def outer() -> Iterator[str]:
    """Where an external PostgreSQL listens, which asks for passwords: the end of its URL."""
    with TemporaryDirectory(prefix="troupe-") as folder, embedded(Path(folder), durable=False) as postgres:
        (Path(folder) / "postgres" / "pg_hba.conf").write_text(AUTHENTICATION)
        each_alone(postgres.dsn, "SELECT pg_reload_conf()", *(line for line in MAKE.splitlines() if line.strip()))
        each_alone(postgres.dsn.replace("/postgres?", "/owned?"), "SET ROLE member; CREATE TABLE accounts (id int)")
        yield postgres.dsn.partition("?")[2]


def refused(server: Server, *words: str, url: str | None = None) -> CompletedProcess[str]:
    done = server.troupe(*words, **({"TROUPE_DATABASE_URL": url} if url else {}))
    told = [line for line in done.stderr.splitlines() if line]
    assert len(told) == 1, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert SECRET not in done.stdout + done.stderr
    until_gone(server.data)
    return done


@pytest.mark.parametrize("words", [("serve", "--port", "1"), ("migrate",)])
@pytest.mark.parametrize(
    ("name", "reason", "cure"),
    [
        ("latin", "its encoding is LATIN1", "createdb --encoding UTF8"),
        ("standby", "it can only be read", "name the primary"),
    ],
)
def test_an_outer_database_that_does_not_fit_is_refused_before_it_is_changed(
    new_server: Server, outer: str, words: tuple[str, ...], name: str, reason: str, cure: str
) -> None:
    done = refused(new_server, *words, url=f"postgresql://member:{SECRET}@/{name}?{outer}")
    assert done.returncode == NO_DATABASE
    assert reason in done.stderr
    assert cure in done.stderr


@pytest.mark.parametrize("ignored", ["", SESSION_SETTINGS])
def test_a_pooler_that_keeps_no_sessions_is_refused_by_name(
    new_server: Server, outer: str, tmp_path: Path, ignored: str
) -> None:
    with pooled(outer, tmp_path, "transaction", ignored) as url:
        for words in (("serve", "--port", "1"), ("migrate",), ("migrate",)):
            done = refused(new_server, *words, url=url)
            assert done.returncode == NO_DATABASE
            assert "a connection pooler" in done.stderr
            assert "pool_mode = session" in done.stderr


def test_a_pooler_that_keeps_sessions_may_be_there(new_server: Server, outer: str, tmp_path: Path) -> None:
    with pooled(outer, tmp_path, "session", SESSION_SETTINGS) as url:
        done = new_server.troupe("migrate", TROUPE_DATABASE_URL=url)
        assert done.returncode == 0, done.stderr


@contextmanager
def pooled(outer: str, folder: Path, mode: str, ignored: str) -> Generator[str]:
    """The URL of a database behind PgBouncer."""
    folder.chmod(0o755)
    listen, query = free_port(), parse_qs(outer)
    text = POOLER.format(
        host=query["host"][0], port=query.get("port", ["5432"])[0], password=SECRET, listen=listen, mode=mode,
        ignored=ignored,
    )  # fmt: skip
    (folder / "pgbouncer.ini").write_text(text)
    # It refuses to run as root. The folder of the socket is closed to others than the user of PostgreSQL.
    user = ["-u", Path(query["host"][0]).owner()] if os.geteuid() == 0 else []
    process = subprocess.Popen(["pgbouncer", *user, str(folder / "pgbouncer.ini")], stderr=subprocess.DEVNULL)
    try:
        give_up_at = time.monotonic() + PATIENCE
        while socket.socket().connect_ex(("127.0.0.1", listen)):
            assert process.poll() is None
            assert time.monotonic() < give_up_at
            time.sleep(0.02)
        yield f"postgresql://member@127.0.0.1:{listen}/pooled"
    finally:
        process.terminate()
        process.wait()


SERVE = ("serve", "--port", "1")  # none of these gets as far as the port
TOKEN = ("tokens", "create", "ada")


@pytest.mark.parametrize("words", [SERVE, ("migrate",), TOKEN])
@pytest.mark.parametrize(
    ("url", "reason", "advice"),
    [
        (f"postgresql://member:{SECRET}x@/plain?", "password authentication failed", "correct the user and the"),
        (f"postgresql://member:{SECRET}@/nowhere?", 'database "nowhere" does not exist', "create it"),
        (f"postgresql://shut_out:{SECRET}@/plain?", 'too many connections for role "shut_out"', "max_connections"),
    ],
)
def test_what_is_wrong_with_an_outer_database_is_one_line(
    new_server: Server, outer: str, words: tuple[str, ...], url: str, reason: str, advice: str
) -> None:
    done = refused(new_server, *words, url=url + outer)
    assert done.returncode == NO_DATABASE
    assert "The database can't be used: " in done.stderr
    assert reason in done.stderr
    assert advice in done.stderr


@pytest.mark.parametrize("words", [SERVE, ("migrate",)])
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("plain", "permission denied for schema public: make the user of the connection the owner"),
        ("owned", 'migration 0001 (accounts) failed, and nothing of it was kept: relation "accounts" already exists'),
    ],
)
def test_a_schema_that_can_not_be_made_is_one_line(
    new_server: Server, outer: str, words: tuple[str, ...], name: str, reason: str
) -> None:
    done = refused(new_server, *words, url=f"postgresql://member:{SECRET}@/{name}?{outer}")
    assert done.returncode == NO_DATABASE
    assert reason in done.stderr


@pytest.mark.parametrize("words", [SERVE, TOKEN])
@pytest.mark.parametrize(
    ("url", "reason"),
    [
        (f"postgresql://ada:{SECRET}@127.0.0.1:1/troupe", "start PostgreSQL, or correct host and port"),
        (f"postgresql://ada:12/{SECRET}@127.0.0.1/troupe", "can't be read"),
        (f"postgresql://ada:{SECRET}@127.0.0.1:{SECRET}/troupe", "can't be read"),
        (f"postgresql://ada:{SECRET}@127.0.0.1/troupe?sslmode=most", "`sslmode` parameter must be one of"),
    ],
)
def test_a_wrong_address_is_one_line(new_server: Server, words: tuple[str, ...], url: str, reason: str) -> None:
    done = refused(new_server, *words, url=url)
    assert done.returncode == NO_DATABASE
    assert reason in done.stderr


def test_why_our_own_postgresql_does_not_start_is_one_line(own_server: Server) -> None:
    with (own_server.data / "postgres" / "postgresql.auto.conf").open("a") as settings:
        settings.write("max_connections = many\n")
    for words in (SERVE, TOKEN, ("migrate",)):
        done = refused(own_server, *words)
        assert done.returncode == NO_DATABASE
        assert "PostgreSQL does not start: " in done.stderr
        assert "max_connections" in done.stderr


def test_a_database_of_another_major_version_is_one_line_with_the_way_out(own_server: Server) -> None:
    (own_server.data / "postgres" / "PG_VERSION").write_text("9.6\n")
    for words in (SERVE, TOKEN, ("migrate",)):
        done = refused(own_server, *words)
        assert done.returncode == NO_DATABASE
        assert "was made by PostgreSQL 9" in done.stderr
        assert "troupe db upgrade" in done.stderr


def test_a_data_folder_that_is_a_file_is_one_line(new_server: Server) -> None:
    new_server.data.write_text("")
    done = refused(new_server, *SERVE)
    assert done.returncode == NOT_DONE
    assert str(new_server.data) in done.stderr


def test_a_port_in_use_is_one_line_and_the_next_start_works(own_server: Server) -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        done = refused(own_server, "serve", "--port", str(port))
    assert done.returncode == NOT_DONE
    assert f"can't listen on 127.0.0.1:{port} and [::1]:{port} (Address already in use): end the other" in done.stderr
    own_server.start()
    assert own_server.stop() == 0


def test_another_domain_than_that_of_the_accounts_is_refused_before_anything_is_changed(own_server: Server) -> None:
    own_server.start()
    own_server.people("ada")
    other = refused_beside(own_server, "serve", "--takeover", "--port", "1", "--domain", "troupe.example")
    assert other.returncode == WRONG_SETTING
    told = f"domain is troupe.example, and the accounts in this database have links to localhost:{own_server.port}"
    assert told in other.stderr
    assert own_server.events("node.fenced") == []
    assert own_server.stop() == 0


def refused_beside(server: Server, *words: str) -> CompletedProcess[str]:
    done = server.troupe(*words)
    assert len(done.stderr.splitlines()) == 1, done.stderr
    return done


def test_a_server_without_accounts_keeps_its_first_domain_until_it_is_told_otherwise(own_server: Server) -> None:
    own_server.settings["TROUPE_DOMAIN"] = "first.example"
    own_server.start()
    assert own_server.stop() == 0
    own_server.settings["TROUPE_DOMAIN"] = "second.example"
    done = refused(own_server, "serve", "--port", str(own_server.port))
    assert done.returncode == WRONG_SETTING
    note = own_server.data / "base_url"
    assert "domain is second.example, and this data folder was last used for first.example" in done.stderr
    assert f"remove the file {note}" in done.stderr
    os.unlink(note)
    own_server.start()
    assert own_server.stop() == 0
