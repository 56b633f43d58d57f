"""Bodies of every kind, and who is asking."""

import ipaddress
from collections.abc import AsyncIterator

import pytest

from troupe.http.answers.errors import HttpError, Malformed, TooLarge
from troupe.http.intake.decoding import Upload
from troupe.http.intake.negotiation import asks_for_document
from troupe.http.intake.request import LARGEST_BODY, Request

LOOPBACK = (ipaddress.ip_network("127.0.0.1"), ipaddress.ip_network("10.0.0.0/8"))

MULTIPART = (
    b'--edge\r\nContent-Disposition: form-data; name="description"\r\n\r\na cat \xf0\x9f\x90\x88\r\n'
    b'--edge\r\nContent-Disposition: form-data; name="tags[]"\r\n\r\none\r\n'
    b'--edge\r\nContent-Disposition: form-data; name="file"; filename="cat.png"\r\n'
    b"Content-Type: image/png\r\n\r\n\x89PNG\r\n--edg\r\n\r\n--edge--\r\n"
)


def request(
    body: bytes, content_type: str, query: bytes = b"", step: int = 7, declared: int | None = None, encoding: str = ""
) -> Request:
    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(body), step):
            yield body[start : start + step]

    length = len(body) if declared is None else declared
    headers = [(b"content-type", content_type.encode()), (b"content-length", str(length).encode())]
    headers += [(b"content-encoding", encoding.encode())] if encoding else []
    return Request("POST", "/", query, headers, "127.0.0.1", chunks())


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"status=hi&ids[]=1", "application/x-www-form-urlencoded"),
        (b'{"status":"hi","ids":["1"]}', "application/json; charset=utf-8"),
        (
            b'--x\r\nContent-Disposition: form-data; name="status"\r\n\r\nhi\r\n'
            b'--x\r\nContent-Disposition: form-data; name="ids[]"\r\n\r\n1\r\n--x--\r\n',
            "multipart/form-data; boundary=x",
        ),
    ],
)
async def test_every_kind_of_body_says_the_same(body: bytes, content_type: str) -> None:
    assert await request(body, content_type, b"a=1").parameters() == {"a": "1", "status": "hi", "ids": ["1"]}


@pytest.mark.parametrize(
    ("lines", "is_document"),
    [
        ([], False),
        (["text/html", "application/activity+json"], True),
        (["application/activity+json;q=0.8", "text/html;q=0.9"], False),
        (["text/html;q=0.9", "application/activity+json;q=0.8, */*;q=0.1", "application/ld+json"], True),
    ],
)
def test_the_lines_of_a_header_are_one_list(lines: list[str], is_document: bool) -> None:
    async def nothing() -> AsyncIterator[bytes]:
        return
        yield b""

    asked = Request("GET", "/users/ada", b"", [(b"accept", line.encode()) for line in lines], "127.0.0.1", nothing())
    assert asks_for_document(asked) is is_document


async def test_the_body_wins_over_the_query() -> None:
    assert await request(b"a=2", "application/x-www-form-urlencoded", b"a=1").parameters() == {"a": "2"}


async def test_a_body_of_another_kind_is_left_alone() -> None:
    assert await request(b"a=2", "text/plain", b"a=1").parameters() == {"a": "1"}


@pytest.mark.parametrize("step", [*range(1, 60), 1000])
async def test_files_are_kept_beside_the_fields(step: int) -> None:
    found = await request(MULTIPART, "multipart/form-data; boundary=edge", step=step).parameters()
    upload = found.pop("file")
    assert found == {"description": "a cat 🐈", "tags": ["one"]}
    assert isinstance(upload, Upload)
    assert (upload.filename, upload.content_type, upload.size) == ("cat.png", "image/png", 13)
    assert upload.file.read() == b"\x89PNG\r\n--edg\r\n"


@pytest.mark.parametrize("content_type", ["multipart/form-data", "multipart/form-data; boundary=other"])
async def test_multipart_without_its_boundary_is_400(content_type: str) -> None:
    with pytest.raises(Malformed):
        await request(MULTIPART, content_type).parameters()


def field(name: bytes, value: bytes) -> bytes:
    return b'--x\r\nContent-Disposition: form-data; name="%b"\r\n\r\n%b\r\n' % (name, value)


@pytest.mark.parametrize("step", [1, 3, 1000])
async def test_empty_and_broken_lines_are_values_too(step: int) -> None:
    body = b"preamble\r\n" + field(b"a", b"") + field(b"b", b"\r\n--y\r\n") + b"--x--\r\nepilogue"
    found = await request(body, "multipart/form-data; boundary=x", step=step).parameters()
    assert found == {"a": "", "b": "\r\n--y\r\n"}


@pytest.mark.parametrize(
    "body",
    [
        b"--",
        field(b"a", b"1"),
        b"--x\r\nContent-Disposition: form-data\r\n\r\n1\r\n--x--",
        b"--x\r\nno header\r\n\r\n1\r\n--x--",
        b"--xyz\r\n" + field(b"a", b"1")[5:] + b"--x--",
        b"--x\r\n" + b"a" * 20_000,
        field(b"a", b"\xff") + b"--x--",
        field(b"a", b"\0") + b"--x--",
        field(b"a", b"1") * 1001 + b"--x--",
    ],
)
async def test_a_multipart_body_that_is_none_is_400(body: bytes) -> None:
    with pytest.raises(Malformed):
        await request(body, "multipart/form-data; boundary=x").parameters()


async def test_an_empty_body_is_an_empty_form() -> None:
    for content_type in ("multipart/form-data; boundary=x", "multipart/form-data", "application/json", ""):
        assert await request(b"", content_type).parameters() == {}


async def test_a_declared_length_beyond_the_limit_is_refused_unread() -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"2000000")]
    asked = Request("POST", "/", b"", headers, "", never())
    with pytest.raises(TooLarge):
        await asked.parameters()


@pytest.mark.parametrize(("encoding", "status"), [("gzip", 415), ("gzip, br", 415), ("Identity", 200), ("", 200)])
async def test_a_compressed_body_is_refused_with_what_is_read(encoding: str, status: int) -> None:
    asked = request(b'{"a":"1"}', "application/json", encoding=encoding)
    if status == 200:
        assert await asked.parameters() == {"a": "1"}
        return
    with pytest.raises(HttpError) as caught:
        await asked.parameters()
    assert (caught.value.status, caught.value.headers) == (status, (("Accept-Encoding", "identity"),))


async def never() -> AsyncIterator[bytes]:
    raise AssertionError("the body was read")
    yield b""


async def test_a_body_longer_than_it_says_is_refused() -> None:
    body = b"a" * (LARGEST_BODY + 1)
    asked = request(body, "application/json", step=100_000, declared=5)
    with pytest.raises(HttpError) as caught:
        await asked.parameters()
    assert caught.value.status == 413


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        ("127.0.0.1", None, "127.0.0.1"),
        ("127.0.0.1", b"192.0.2.1", "192.0.2.1"),
        ("127.0.0.1", b"198.51.100.1, 192.0.2.1", "192.0.2.1"),
        ("127.0.0.1", b"198.51.100.1, 10.1.2.3", "198.51.100.1"),
        ("192.0.2.9", b"198.51.100.1", "192.0.2.9"),
        ("127.0.0.1", b"10.0.0.1", "10.0.0.1"),
        ("127.0.0.1", b" , ,", "127.0.0.1"),
        ("127.0.0.1", b"198.51.100.1,, 10.1.2.3", "198.51.100.1"),
        ("127.0.0.1", b"192.0.2.1:5678", "192.0.2.1"),
        ("127.0.0.1", b"[2001:db8::1]:443", "2001:db8::1"),
        ("127.0.0.1", b"[2001:db8::1]", "2001:db8::1"),
        ("127.0.0.1", b"2001:db8::1", "2001:db8::1"),
        ("127.0.0.1", b"198.51.100.1:80, 10.1.2.3:4711", "198.51.100.1"),
        ("127.0.0.1", b"198.51.100.1, [::ffff:10.1.2.3]:4711", "198.51.100.1"),
        ("::ffff:127.0.0.1", b"192.0.2.1", "192.0.2.1"),
        ("127.0.0.1", b"unknown", "127.0.0.1"),
        ("127.0.0.1", b"198.51.100.1, _hidden:9", "127.0.0.1"),
        ("127.0.0.1", b"192.0.2.1:", "127.0.0.1"),
        ("127.0.0.1", b"192.0.2.1:5678:1", "127.0.0.1"),
        ("127.0.0.1", b"\xb2.0.2.1", "127.0.0.1"),
        ("127.0.0.1", b"[192.0.2.1", "127.0.0.1"),
    ],
)
def test_only_trusted_proxies_say_who_is_asking(peer: str, forwarded: bytes | None, address: str) -> None:
    headers = [] if forwarded is None else [(b"x-forwarded-for", forwarded)]
    assert Request("GET", "/", b"", headers, peer, never()).address(LOOPBACK) == address


@pytest.mark.parametrize(
    ("lines", "address"),
    [
        ([b"203.0.113.7", b"198.51.100.1"], "203.0.113.7"),  # two proxies, each with a line of its own
        ([b"203.0.113.7, 198.51.100.1", b"127.0.0.1"], "203.0.113.7"),
        ([b"192.0.2.66", b"203.0.113.7", b"198.51.100.1"], "203.0.113.7"),  # the client has written one, too
        ([b"198.51.100.1", b""], "198.51.100.1"),
        ([b"203.0.113.7", b"unknown", b"198.51.100.1"], "198.51.100.1"),
        ([b"203.0.113.7:4711", b"[2001:db8::7]:443", b"198.51.100.1"], "2001:db8::7"),
    ],
)
def test_all_lines_of_proxies_are_one_list(lines: list[bytes], address: str) -> None:
    headers = [(b"x-forwarded-for", line) for line in lines]
    trusted = (*LOOPBACK, ipaddress.ip_network("198.51.100.1"))
    assert Request("GET", "/", b"", headers, "127.0.0.1", never()).address(trusted) == address


@pytest.mark.parametrize("gap", [b"\r\n", b""])
async def test_a_part_without_a_body_may_leave_out_the_empty_line(gap: bytes) -> None:
    head = b'--x\r\nContent-Disposition: form-data; name="a"\r\n'
    body = head + gap + b"\r\n--x--\r\n"
    for step in range(1, len(body) + 1):
        assert await request(body, "multipart/form-data; boundary=x", step=step).parameters() == {"a": ""}
