"""`troupe doctor` on a bucket for media, by breaking what it looks at."""

from __future__ import annotations

import socket
import threading
import urllib.request
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import cast

import pytest

from troupe.storage.media_stores import MediaStore
from troupe.supervision.doctor import bucket, public_address
from troupe.supervision.doctor.bucket import CONTENT, check_bucket
from troupe.supervision.doctor.findings import Examination, Finding
from troupe.supervision.settings.media_folders import media_store
from troupe.supervision.settings.sources import read_sources

from ..buckets import closed_port, new_bucket
from ..stand_ins import answering

Answer = Callable[[str], tuple[int, bytes]]
REFUSED = '<?xml version="1.0"?><Error><Code>{}</Code><Message>no</Message></Error>'
OLD = "Mon, 23 Nov 2015 13:00:00 GMT"


@contextmanager
def web(answer: Answer, date: str = "") -> Generator[str]:
    """An HTTP server that answers each path, and its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, body = answer(self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_PUT = do_GET

        def date_time_string(self, timestamp: float | None = None) -> str:
            return date or super().date_time_string(timestamp)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def examined(settings: dict[str, str], data: Path, **more: str) -> list[Finding]:
    sources = read_sources({**settings, **more, "data": str(data)}, {})
    return list(check_bucket(Examination(sources, None)))


def wrong(found: list[Finding]) -> list[tuple[str, str]]:
    return [(one.text, one.cure) for one in found if one.state == "wrong"]


@pytest.fixture
def settings(s3_endpoint: str) -> dict[str, str]:
    return new_bucket(s3_endpoint)


def store_of(settings: dict[str, str]) -> MediaStore:
    return media_store(read_sources(settings, {}).settings, "s3")


def test_without_a_bucket_there_is_nothing_to_say(tmp_path: Path) -> None:
    assert examined({}, tmp_path) == []


def test_a_bucket_that_serves_is_said_to_be_good_and_left_empty(settings: dict[str, str], tmp_path: Path) -> None:
    (found,) = examined(settings, tmp_path)
    assert (found.state, "written, read, listed, moved and deleted" in found.text) == ("good", True)
    assert list(store_of(settings).files()) == []


def test_a_wrong_name_and_a_wrong_address_are_found(settings: dict[str, str], tmp_path: Path) -> None:
    ((text, cure),) = wrong(examined(settings, tmp_path, s3_bucket="other"))
    assert (text, cure) == ("can't write objects of other: NoSuchBucket", bucket.CURES["NoSuchBucket"])
    ((text, cure),) = wrong(examined(settings, tmp_path, s3_endpoint=f"http://127.0.0.1:{closed_port()}"))
    assert "error sending request" in text
    assert cure == bucket.ADDRESS_CURE


def test_wrong_keys_are_found(settings: dict[str, str], s3_endpoint: str, tmp_path: Path) -> None:
    """moto checks keys from now on, and knows none."""
    checks_keys(s3_endpoint, b"0")
    try:
        ((text, cure),) = wrong(examined(settings, tmp_path))
    finally:
        checks_keys(s3_endpoint, b"inf")
    assert (text.rpartition(": ")[2], cure) == ("InvalidAccessKeyId", bucket.KEYS_CURE)


def checks_keys(endpoint: str, after: bytes) -> None:
    """Have moto check keys after so many requests."""
    headers = {"Content-Type": "text/plain"}  # not that of a form, which moto does not read here
    urllib.request.urlopen(
        urllib.request.Request(f"{endpoint}/moto-api/reset-auth", after, headers), timeout=30
    ).close()


@pytest.mark.parametrize("code", ["AccessDenied", "SignatureDoesNotMatch", "RequestTimeTooSkewed"])
def test_a_refusal_is_told_with_its_cure(settings: dict[str, str], tmp_path: Path, code: str) -> None:
    with web(lambda path: (403, REFUSED.format(code).encode())) as endpoint:
        ((text, cure),) = wrong(examined(settings, tmp_path, s3_endpoint=endpoint))
    assert (text.rpartition(": ")[2], cure) == (code, bucket.CURES[code])


def test_a_clock_that_differs_is_found(settings: dict[str, str], tmp_path: Path) -> None:
    with web(lambda path: (403, REFUSED.format("RequestTimeTooSkewed").encode()), OLD) as endpoint:
        found = wrong(examined(settings, tmp_path, s3_endpoint=endpoint))
    assert found[0][0].startswith("the clock of the store differs by ")
    assert {cure for _, cure in found} == {bucket.CURES["RequestTimeTooSkewed"]}


@pytest.mark.parametrize(
    ("shown", "found"),
    [
        (("/media/",), []),
        ((), ["people can't read files at"]),
        (("/media/", "/withheld/"), ["files of suspended accounts are public at"]),
    ],
)
def test_what_people_may_read_at_the_public_address(
    settings: dict[str, str], tmp_path: Path, shown: tuple[str, ...], found: list[str]
) -> None:
    with web(lambda path: (200, CONTENT) if path.startswith(shown or "-") else (403, b"")) as address:
        told = wrong(examined(settings, tmp_path, media_url=address))
    assert [text.partition(" http")[0] for text, _ in told] == found
    assert all(cure == bucket.POLICY for _, cure in told)


def test_a_public_address_elsewhere_is_asked_only_if_that_is_wanted(settings: dict[str, str], tmp_path: Path) -> None:
    found = examined(settings, tmp_path, media_url="https://media.example.org")
    assert [one.state for one in found] == ["note", "good"]
    assert found[0].text == "https://media.example.org was not asked: add --online"


@pytest.mark.parametrize(
    ("step", "breaks"),
    [("read", "read"), ("list", "made_of"), ("move", "withhold"), ("delete", "remove")],
)
def test_each_thing_that_the_key_may_not_do_is_named(
    settings: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, breaks: str
) -> None:
    store = store_of(settings)

    def refuse(*_: object) -> None:
        raise bucket.BucketFailed("no")

    monkeypatch.setattr(store, breaks, refuse)
    monkeypatch.setattr(bucket, "media_store", answering(store))
    assert [text for text, _ in wrong(examined(settings, tmp_path))] == [
        f"can't {step} objects of {settings['s3_bucket']}: no"
    ]


class Dripping:
    """A connection that brings one byte of a head that never ends, with each second of `now`."""

    def __init__(self) -> None:
        self.now = 0.0

    def sendall(self, data: bytes) -> None:
        pass

    def recv(self, most: int) -> bytes:
        self.now += 1.0
        return b"HTTP/1.1 200 OK\r\nX: "[int(self.now) - 1 : int(self.now)] or b"x"


def test_a_store_that_answers_a_byte_at_a_time_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Dripping()
    monkeypatch.setattr(public_address.time, "monotonic", lambda: line.now)
    address = public_address.PublicAddress(secure=False, host="b.example", port=80, place=("b", 80), online=True)
    with pytest.raises(TimeoutError, match="too slowly"):
        public_address.exchange(cast("socket.socket", line), address, "/", {})
    assert line.now <= public_address.PATIENCE + 1
