"""One client for everything that leaves the server: no other code of the project connects to other hosts."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from .imports import MODULES, ROOT, imported

CLIENT = ROOT / "actors" / "outgoing"

#: Modules with a client inside. `http.client` and its like are the standard library's.
CLIENTS = (
    "aiohttp", "anyio", "ftplib", "h2.connection", "http.client", "httpcore", "httpcore2", "httpx", "httpx2", "imaplib",
    "poplib", "requests", "smtplib", "urllib.request", "urllib3", "websockets", "xmlrpc.client",
)  # fmt: skip

#: Names by which one connects without a client, or has a library do it.
CALLS = {
    "connect", "connect_ex", "create_connection", "getaddrinfo", "gethostbyname", "open_connection",
    "open_ssl_over_tcp_stream", "open_tcp_stream", "open_unix_socket", "urlopen", "urlretrieve", "webpush",
    "webpush_async",
}  # fmt: skip

CALLED = re.compile(rf"\b({'|'.join(CALLS)})\b")

#: What connects to a host that the operator has named, or to this machine.
NAMED = {
    ("actors/cluster/nats/handshake.py", "open_tcp_stream"),  # the message broker
    ("actors/mail/smtp.py", "smtplib"),  # the mail server
    ("http/server/listener.py", "getaddrinfo"),  # where the server listens
    ("http/server/listener.py", "connect_ex"),  # the same, for a Unix socket
    ("storage/engine/connect.py", "connect"),  # PostgreSQL
    ("storage/engine/lock_waits.py", "connect"),
    ("storage/engine/pool.py", "connect"),
    ("storage/engine/term.py", "connect"),
    ("supervision/commands/running_server.py", "connect"),  # the running server's control socket
    ("supervision/control.py", "connect"),  # the same
    ("supervision/doctor/public_address.py", "create_connection"),  # the server's own public address
    ("supervision/processes/broker.py", "open_tcp_stream"),  # the nats-server that the parent has started
    ("supervision/testing/stage/postgres.py", "connect"),
    ("supervision/testing/stage/cluster.py", "connect"),  # a simulated stream
    ("supervision/testing/stage/server.py", "connect"),  # a simulated stream
}


def connecting(module: Path) -> Iterator[str]:
    """The clients that a module imports, and the names in it by which one connects."""
    for _, name in imported(module):
        yield from (client for client in CLIENTS if name == client or name.startswith(f"{client}."))
    source = module.read_text("utf-8")
    if not CALLED.search(source):  # parsing takes much longer
        return
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(attr=name) | ast.Name(id=name) | ast.alias(name=name) if name in CALLS:
                yield name
            case _:
                pass


def test_no_other_client_is_imported() -> None:
    outside = [path for path in MODULES if CLIENT not in path.parents]
    found = {(path.relative_to(ROOT).as_posix(), name) for path in outside for name in connecting(path)}
    assert found - NAMED == set(), "send it with actors/outgoing"
    assert NAMED - found == set(), "take it off the list in this file"
