"""A server that is short of file descriptors."""

from __future__ import annotations

import http.client
import os
import resource
import signal
import time
from pathlib import Path

import pyvips

from .. import plain_http
from .crowds import FEW, MOST_CLIENTS, PATIENCE, ask, crowd, fill, postgres
from .patience import eventually
from .server import Server

FEW_AT_FIRST = (64, 4096)


def test_a_server_full_of_clients_keeps_what_it_needs_itself(own_server: Server) -> None:
    own_server.descriptors = FEW
    own_server.start()
    (ada,) = own_server.people("ada")
    with crowd(own_server, MOST_CLIENTS) as clients:
        for _ in range(40):
            while (refused := plain_http.get(f"{own_server.url}/api/v1/instance")).status_code == 200:
                # The server has closed something of its own meanwhile, or has heard late that a client left. The next
                # client gets its descriptor: another one takes it for good.
                fill(own_server, clients, len(clients) + 1)
                assert len(clients) < 256
            assert (refused.status_code, refused.headers.get("Retry-After")) == (503, "5")
            assert list(refused.json()) == ["error"]
        assert 20 < len(clients) < 256
        assert own_server.troupe("tree").returncode == 0
        assert upload(clients[0], ada.token) == 200
        os.kill(postgres(own_server)[0], signal.SIGKILL)
        eventually(lambda: bool(own_server.events("storage.back")))
        who = "/api/v1/accounts/verify_credentials"
        eventually(lambda: ask(clients[1], who, Authorization=f"Bearer {ada.token}")[0] == 200)
    assert len(own_server.events("connections.full")) < 5
    eventually(lambda: plain_http.get(f"{own_server.url}/health").status_code == 200)


def upload(client: http.client.HTTPConnection, token: str) -> int:
    """Upload a picture that is not kept in memory; the answer's status."""
    noise = pyvips.Image.gaussnoise(1000, 1000).cast("uchar").write_to_buffer(".png")
    part = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n\r\n%b\r\n--b--\r\n' % noise
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "multipart/form-data; boundary=b"}
    client.request("POST", "/api/v2/media", part, headers)
    answer = client.getresponse()
    answer.read()
    return answer.status


def test_the_limit_of_the_shell_is_raised(own_server: Server) -> None:
    own_server.descriptors = FEW_AT_FIRST
    own_server.start()
    with crowd(own_server, 200) as clients:
        assert len(clients) == 200


def test_a_server_without_any_descriptor_left_waits_and_goes_on(own_server: Server) -> None:
    own_server.start()
    assert own_server.process is not None
    pid = own_server.process.pid
    used = max(int(name) for name in os.listdir(f"/proc/{pid}/fd")) + 1
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE, (used, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    clients = [http.client.HTTPConnection("127.0.0.1", own_server.port, timeout=PATIENCE) for _ in range(20)]
    for client in clients:
        client.request("GET", "/health")
    spent = cpu_seconds(pid)
    time.sleep(1.0)
    assert cpu_seconds(pid) - spent < 0.5
    resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
    for client in clients:
        assert client.getresponse().status == 200
        client.close()
    assert len(own_server.events("library.said")) < 5


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
