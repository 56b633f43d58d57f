"""Who may connect to the embedded PostgreSQL: root and the owner of the cluster, as the kernel knows them."""

import asyncio
import os
import pwd
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from troupe.storage.engine.connect import connect, run
from troupe.storage.engine.embedded import Embedded, embedded

from .conftest import session

TRUST = "local all all trust\nhost all all 127.0.0.1/32 trust\n"
NOBODY = 65534

ASK_AS_ANOTHER_USER = """
import os, socket, sys
connection = socket.socket(socket.AF_UNIX)
os.setresuid(*[int(sys.argv[2])] * 3)
connection.connect(sys.argv[1])
connection.sendall(bytes.fromhex(sys.argv[3]))
sys.stdout.buffer.write(connection.recv(1000))
"""


def rows(server: Embedded, query: str) -> list[Any]:
    async def main() -> list[Any]:
        async with session(server.dsn) as db:
            return await db.fetch(query)

    return run(main)


def rules(server: Embedded) -> list[tuple[str, str]]:
    """The users whose connections are accepted, and their authentication."""
    found = rows(server, "SELECT type, auth_method FROM pg_hba_file_rules")
    return [(rule["type"], rule["auth_method"]) for rule in found]


def named(server: Embedded) -> set[str]:
    return {row["sys_name"] for row in rows(server, "SELECT sys_name FROM pg_ident_file_mappings")}


def test_only_root_and_the_owner_of_the_cluster_are_named(cluster_data: Path) -> None:
    with embedded(cluster_data, durable=False) as server:
        assert rules(server) == [("local", "peer")]
        owner = (cluster_data / "postgres").stat().st_uid
        assert named(server) == {pwd.getpwuid(uid).pw_name for uid in (0, owner)}


def test_a_cluster_that_trusted_all_users_trusts_none_after_the_next_start(cluster_data: Path) -> None:
    (cluster_data / "postgres" / "pg_hba.conf").write_text(TRUST)
    with embedded(cluster_data, durable=False) as server:
        assert rules(server) == [("local", "peer")]


def test_one_that_is_running_is_told_to_trust_no_user(cluster_data: Path) -> None:
    """PostgreSQL learns of it a moment later."""
    with embedded(cluster_data, durable=False) as server:
        (cluster_data / "postgres" / "pg_hba.conf").write_text(TRUST)
        rows(server, "SELECT pg_reload_conf()")
        run(lambda: answered(server, "does not exist"))
        with embedded(cluster_data, durable=False):
            run(lambda: answered(server, "no pg_hba.conf entry"))


async def answered(server: Embedded, text: str) -> None:
    """Wait until a connection as a role that does not exist is refused for this reason."""
    error = None
    for _ in range(100):
        try:
            await as_role(server, "somebody")
        except asyncpg.InvalidAuthorizationSpecificationError as refusal:
            error = refusal
        if text in str(error):
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"not {text!r} but {error}")


async def as_role(server: Embedded, role: str) -> None:
    await connect(server.dsn.replace("//postgres@", f"//{role}@"), application_name="test")


def test_another_user_of_this_machine_is_refused_even_with_a_way_to_the_socket(cluster_data: Path) -> None:
    """Only root can become another user; elsewhere the map is asked for a role that it does not give."""
    with embedded(cluster_data, durable=False) as server:
        if os.geteuid() != 0:
            with pytest.raises(asyncpg.InvalidAuthorizationSpecificationError, match=r"no pg_hba\.conf entry"):
                run(lambda: as_role(server, "somebody"))
            return
        path = cluster_data / "postgres" / ".s.PGSQL.5432"
        for way in (cluster_data, path.parent):
            way.chmod(0o711)
        path.chmod(0o777)
        startup = b"user\0postgres\0database\0postgres\0\0"
        message = struct.pack(">II", len(startup) + 8, 3 << 16) + startup
        answer = subprocess.run(
            [sys.executable, "-I", "-c", ASK_AS_ANOTHER_USER, str(path), str(NOBODY), message.hex()],
            capture_output=True, check=True,
        ).stdout  # fmt: skip
        assert answer[:1] == b"E"
        assert b"Peer authentication failed" in answer
        path.parent.chmod(0o700)
        with socket.socket(socket.AF_UNIX) as ours:
            ours.connect(str(path))
            ours.sendall(message)
            assert ours.recv(1000)[:1] == b"R"
