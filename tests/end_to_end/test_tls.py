"""A server that speaks TLS itself: HTTP/2, pages in a browser, plain clients sent on, and a renewed certificate."""

from __future__ import annotations

import signal
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from ..certificates import Certificate, certificate
from .browser import chromium, text_of
from .server import COMMAND, STOP, Server, free_port

DOMAIN = "troupe.test"
PATIENCE = 20.0


@pytest.fixture
def files(tmp_path: Path) -> Certificate:
    return certificate(tmp_path, hosts=[DOMAIN])


@pytest.fixture
def encrypting(own_server: Server, files: Certificate) -> Iterator[Server]:
    """A server with a certificate, and a port that sends plain clients on."""
    own_server.settings |= {
        "TROUPE_DOMAIN": DOMAIN, "TROUPE_TLS_CERTIFICATE": str(files.file), "TROUPE_TLS_KEY": str(files.key),
        "TROUPE_TLS_REDIRECT_PORT": str(free_port()),
    }  # fmt: skip
    own_server.start()
    yield own_server
    if own_server.process is not None:
        assert own_server.stop() == 0, own_server.log


class ToTheServer(httpx.HTTPTransport):
    """Sends requests for the domain to the server, and checks its certificate for the domain."""

    def __init__(self, server: Server, trusted: Path, *, http2: bool) -> None:
        super().__init__(verify=ssl.create_default_context(cafile=str(trusted)), http2=http2)
        self._port = server.port

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.url = request.url.copy_with(host="127.0.0.1", port=self._port)
        request.extensions["sni_hostname"] = DOMAIN
        return super().handle_request(request)


def client(server: Server, files: Certificate, *, http2: bool = True) -> httpx.Client:
    return httpx.Client(
        base_url=f"https://{DOMAIN}", timeout=PATIENCE, transport=ToTheServer(server, files.file, http2=http2)
    )


def handshake(server: Server, trusted: Path) -> ssl.SSLSocket:
    context = ssl.create_default_context(cafile=str(trusted))
    return context.wrap_socket(socket.create_connection(("127.0.0.1", server.port), PATIENCE), server_hostname=DOMAIN)


def until(done: Callable[[], object]) -> None:
    give_up_at = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < give_up_at
        time.sleep(0.02)


@pytest.mark.parametrize(("http2", "version"), [(True, "HTTP/2"), (False, "HTTP/1.1")])
def test_clients_choose_the_version(encrypting: Server, files: Certificate, http2: bool, version: str) -> None:
    ada = encrypting.people("ada")[0]
    with client(encrypting, files, http2=http2) as app:
        answers = [app.get("/api/v1/accounts/verify_credentials", headers=ada.headers) for _ in range(3)]
        assert {(one.status_code, one.http_version) for one in answers} == {(200, version)}
        assert answers[0].json()["url"] == f"https://{DOMAIN}/@{ada.name}"
        with app.stream("GET", "/api/v1/streaming/user", headers=ada.headers) as stream:
            posted = app.post("/api/v1/statuses", headers=ada.headers, data={"status": "by TLS"})
            lines = stream.iter_lines()
            assert next(line for line in lines if line.startswith("event:")) == "event: update"
            assert posted.json()["id"] in next(lines)


def test_a_browser_shows_pages_and_comes_from_the_plain_port(
    encrypting: Server, files: Certificate, tmp_path: Path
) -> None:
    plain = encrypting.settings["TROUPE_TLS_REDIRECT_PORT"]
    rules = f"MAP {DOMAIN}:80 127.0.0.1:{plain}, MAP {DOMAIN}:443 127.0.0.1:{encrypting.port}"
    flags = (f"--host-resolver-rules={rules}", f"--ignore-certificate-errors-spki-list={files.fingerprint}")
    with chromium(tmp_path / "profile", *flags) as chrome:
        chrome.get(f"http://{DOMAIN}/about")
        assert chrome.current_url == f"https://{DOMAIN}/about"
        assert DOMAIN in text_of(chrome)
        assert chrome.execute_script("return performance.getEntriesByType('navigation')[0].nextHopProtocol") == "h2"


@pytest.mark.parametrize(
    ("request_line", "status", "location"),
    [
        (b"GET /@ada?page=2 HTTP/1.1", b"301", b"/@ada?page=2"),
        (b"POST /api/v1/statuses HTTP/1.1", b"308", b"/api/v1/statuses"),
        (b"GET http://elsewhere.example/ HTTP/1.1", b"301", b"/"),
        (b"GET //elsewhere.example HTTP/1.1", b"301", b"//elsewhere.example"),
        (b"\x16\x03\x01 not HTTP", b"301", b"/"),
    ],
)
def test_the_plain_port_answers_nothing_else(
    encrypting: Server, request_line: bytes, status: bytes, location: bytes
) -> None:
    place = ("127.0.0.1", int(encrypting.settings["TROUPE_TLS_REDIRECT_PORT"]))
    with socket.create_connection(place, PATIENCE) as plain:
        plain.sendall(request_line + b"\r\nHost: elsewhere.example\r\n\r\n")
        answer = b"".join(iter(lambda: plain.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert b"\r\nLocation: https://troupe.test" + location + b"\r\n" in answer


def test_a_renewed_certificate_is_used_without_a_cut(encrypting: Server, files: Certificate, tmp_path: Path) -> None:
    before = handshake(encrypting, files.file)
    (tmp_path / "new").mkdir()
    renewed = certificate(tmp_path / "new", hosts=[DOMAIN], days=90)
    renewed.key.replace(files.key)
    encrypting.send(signal.SIGHUP)  # between the two files, they do not fit
    until(lambda: encrypting.events("certificate.refused"))
    handshake(encrypting, files.file).close()
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes(renewed.file.read_bytes())
    renewed.file.replace(files.file)
    encrypting.send(signal.SIGHUP)
    until(lambda: len(encrypting.events("certificate.loaded")) == 2)
    handshake(encrypting, trusted).close()
    before.sendall(b"GET /api/v1/instance HTTP/1.1\r\nHost: troupe.test\r\nConnection: close\r\n\r\n")
    assert before.recv(65536).startswith(b"HTTP/1.1 200")
    before.close()


def test_a_server_without_a_usable_certificate_does_not_start(own_server: Server, files: Certificate) -> None:
    own_server.settings |= {"TROUPE_DOMAIN": DOMAIN, "TROUPE_TLS_CERTIFICATE": str(files.file)}
    missing = files.file.with_name("missing.pem")
    for key, said in ((missing, f"{missing} can't be read: No such file"), (files.file, "private key")):
        own_server.settings["TROUPE_TLS_KEY"] = str(key)
        ended = own_server.launch()
        assert ended.wait(COMMAND)
        assert own_server.process is not None
        assert own_server.process.wait(STOP) == 1
        assert said in own_server.log
