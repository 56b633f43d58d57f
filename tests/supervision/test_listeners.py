"""Where listening sockets come from, and when they are closed."""

from __future__ import annotations

import os
import signal
import socket
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio

from troupe.actors.configuration import Settings
from troupe.http.server.listener import bind_path
from troupe.supervision import frame, process
from troupe.supervision.control import ControlSocket, ask_for_sockets
from troupe.supervision.failures import CannotListen
from troupe.supervision.system import listeners
from troupe.supervision.system.listeners import Listeners, from_systemd


def settings(tmp_path: Path, **chosen: Any) -> Settings:
    return Settings(data=tmp_path, **chosen)


def handed(monkeypatch: pytest.MonkeyPatch, one: socket.socket) -> dict[str, str]:
    """The environment in which systemd hands over this socket."""
    one.set_inheritable(True)
    monkeypatch.setattr(listeners, "FIRST", one.detach())
    return {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1", "LISTEN_FDNAMES": "http", "HOME": "/"}


def test_sockets_of_systemd_are_taken_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = socket.create_server(("127.0.0.1", 0))
    address = given.getsockname()
    environment = handed(monkeypatch, given)
    ours = Listeners(settings(tmp_path))
    ours.inherit(environment)
    assert environment == {"HOME": "/"}  # no child takes them for its own
    (first,), (second,) = ours.open(), ours.open()
    with first, second:
        assert first.getsockname() == second.getsockname() == address
        assert not first.getblocking()
        assert not os.get_inheritable(listeners.FIRST)
    assert not ours.release()
    socket.create_connection(address).close()  # systemd has the socket too
    ours.hand_over().pop().close()


@pytest.mark.parametrize("environment", [{}, {"LISTEN_PID": "1", "LISTEN_FDS": "1"}, {"LISTEN_PID": str(os.getpid())}])
def test_sockets_of_other_processes_are_not_taken(environment: dict[str, str]) -> None:
    assert from_systemd(environment) == []


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
def test_a_socket_that_takes_no_connections_is_refused(monkeypatch: pytest.MonkeyPatch, kind: int) -> None:
    with pytest.raises(CannotListen, match="not a listening stream socket"):
        from_systemd(handed(monkeypatch, socket.socket(socket.AF_INET, kind)))


def test_a_unix_socket_is_for_its_group_and_removed_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "http.sock"
    bind_path(path).close()  # left behind by a server that was killed
    ours = Listeners(settings(tmp_path, socket=path))
    (copy,) = ours.open()
    with copy:
        assert stat.S_IMODE(path.stat().st_mode) == 0o660
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
        with pytest.raises(OSError, match="in use"):
            bind_path(path)
    assert ours.release()
    assert not path.exists()


def test_what_is_no_socket_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "http.sock").write_text("precious")
    with pytest.raises(FileExistsError, match="not a socket"):
        bind_path(tmp_path / "http.sock")
    assert (tmp_path / "http.sock").read_text() == "precious"


async def test_the_next_server_takes_the_sockets_that_it_needs(tmp_path: Path, nursery: trio.Nursery) -> None:
    path = tmp_path / "http.sock"
    before, after = (Listeners(settings(tmp_path, socket=path, takeover=True)) for _ in range(2))
    (copy,) = before.open()
    control = ControlSocket(tmp_path / "control-main.sock", {}, before.hand_over)
    stopping = trio.Event()
    await nursery.start(control.run, stopping)
    elsewhere = Listeners(settings(tmp_path, takeover=True, port=4321))
    await trio.to_thread.run_sync(elsewhere.inherit, dict[str, str]())
    assert elsewhere.hand_over() == []
    await trio.to_thread.run_sync(after.inherit, dict[str, str]())
    copy.close()
    assert not before.release()
    stopping.set()
    (taken,) = after.open()
    with taken, socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        taken.accept()[0].close()
    assert after.release()
    assert not path.exists()


def test_without_a_server_before_there_are_none_to_take(tmp_path: Path) -> None:
    assert ask_for_sockets(tmp_path / "control-main.sock") == []
    ours = Listeners(settings(tmp_path, takeover=True, socket=tmp_path / "http.sock"))
    ours.inherit({})
    ours.open()[0].close()
    assert ours.release()


@pytest.mark.parametrize("has_begun", [False, True])
def test_a_start_that_a_signal_ends_gives_the_sockets_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_begun: bool
) -> None:
    """Also while it waits until the other server has drained."""
    given_back: list[bool] = []

    def inherit(environment: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    def make(*_: object) -> SimpleNamespace:
        listeners = SimpleNamespace(inherit=inherit, give_back=lambda: given_back.append(True))
        return SimpleNamespace(database=SimpleNamespace(has_begun=has_begun), listeners=listeners)

    monkeypatch.setattr(process, "_make", make)
    monkeypatch.setattr(process, "raise_limit", list)
    monkeypatch.setattr(frame, "route_libraries", id)
    assert process.serve(settings(tmp_path, takeover=True)) == 0
    assert given_back == ([] if has_begun else [True])
