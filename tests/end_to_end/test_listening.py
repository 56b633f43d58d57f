"""Unix sockets, the sockets of systemd, and restarts in which no client is refused."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import httpx

from .. import plain_http
from .server import START, STOP, TROUPE, Server

# What systemd does between fork and exec.
HANDED = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1"}
os.execv(sys.argv[2], sys.argv[2:])
"""
ASK = b"GET /api/v1/instance HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
LOOK_UP = ASK.replace(b"instance", b"accounts/lookup?acct=nobody")  # which asks the database


def test_a_server_on_a_unix_socket(own_server: Server, tmp_path: Path) -> None:
    path = tmp_path / "http.sock"
    own_server.settings["TROUPE_SOCKET"] = str(path)
    own_server.start()
    with plain_http.client(
        transport=httpx.HTTPTransport(uds=str(path), verify=plain_http.NO_AUTHORITY), base_url="http://localhost"
    ) as client:
        for page in ("/api/v1/instance", "/about", "/health"):
            assert client.get(page).status_code == 200
    assert own_server.stop() == 0
    assert not path.exists()


def test_a_restart_under_systemd_refuses_no_connection(own_server: Server) -> None:
    with socket.create_server(("127.0.0.1", own_server.port), backlog=64) as listener:
        for _ in range(2):
            early = asking(own_server.port)  # before the server is there
            process = served(own_server, listener)
            try:
                assert answer(early).startswith(b"HTTP/1.1 200")
                assert answer(asking(own_server.port)).startswith(b"HTTP/1.1 200")
            finally:
                process.send_signal(signal.SIGTERM)
                assert process.wait(STOP) == 0


def served(server: Server, listener: socket.socket) -> subprocess.Popen[bytes]:
    """A server that is started as by systemd."""
    words = (*TROUPE, "serve", "--data", str(server.data), "--port", str(server.port))
    return subprocess.Popen(
        (sys.executable, "-c", HANDED, str(listener.fileno()), *words),
        pass_fds=(listener.fileno(),), stdout=subprocess.DEVNULL, env=os.environ | server.settings,
        cwd=server.data.parent,
    )  # fmt: skip


def asking(port: int, what: bytes = ASK) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", port), START)
    client.sendall(what)
    return client


def answer(client: socket.socket) -> bytes:
    with client:
        return b"".join(iter(lambda: client.recv(65536), b""))


def test_a_takeover_refuses_no_connection_and_no_request(own_server: Server) -> None:
    own_server.start()
    second = Server(own_server.data)
    second.settings["TROUPE_TAKEOVER"] = "true"
    second.port = own_server.port
    over, answers, errors = threading.Event(), list[bytes](), list[OSError]()

    def ask_again_and_again() -> None:
        while not over.is_set():
            try:
                answers.append(answer(asking(own_server.port, LOOK_UP))[:12])
            except OSError as error:
                errors.append(error)

    clients = [threading.Thread(target=ask_again_and_again) for _ in range(4)]
    for client in clients:
        client.start()
    try:
        second.start()
        own_server.wait()
    finally:
        over.set()
        for client in clients:
            client.join(START)
    try:
        assert errors == []
        assert set(answers) == {b"HTTP/1.1 404"}, "503 is the answer of a server that is shut out of the database"
        assert answer(asking(second.port)).startswith(b"HTTP/1.1 200")
    finally:
        assert second.stop() == 0
