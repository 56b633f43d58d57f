"""Raw requests of every odd kind, with the statuses of their answers and whether the connection stays open after them.

What is wanted is what RFC 9112 and RFC 9110 say. Where they leave a choice, it is the stricter one, because a proxy in
front may have read the same bytes in another way.
"""

from __future__ import annotations

from typing import NamedTuple


class Raw(NamedTuple):
    """The bytes of a client, and what it gets for them."""

    text: bytes
    statuses: tuple[int, ...]
    stays_open: bool = True
    half_closed: bool = False  # True if the client sends no more after the text


def get(*lines: bytes, target: bytes = b"/api/v1/instance", method: bytes = b"GET", version: bytes = b"1.1") -> bytes:
    return b"\r\n".join([b"%b %b HTTP/%b" % (method, target, version), b"Host: localhost", *lines, b"", b""])


APP = b'{"client_name":"a","redirect_uris":"urn:ietf:wg:oauth:2.0:oob"}'
HALVES = b"%x\r\n%b\r\n%x\r\n%b\r\n" % (20, APP[:20], len(APP) - 20, APP[20:])
LENGTH = b"Content-Length: %d" % len(APP)
CHUNKED = b"Transfer-Encoding: chunked"
HIDDEN = get(target=b"/api/v1/hidden")  # an answer to it would be one too many


def post(*lines: bytes, body: bytes = APP, target: bytes = b"/api/v1/apps", version: bytes = b"1.1") -> bytes:
    return get(b"Content-Type: application/json", *lines, target=target, method=b"POST", version=version) + body


def chunked(body: bytes, *lines: bytes, target: bytes = b"/api/v1/apps") -> bytes:
    return post(CHUNKED, *lines, body=body, target=target)


def handshake(*lines: bytes, drop: bytes = b"-", target: bytes = b"/api/v1/instance", **how: bytes) -> bytes:
    whole = [
        b"Connection: Upgrade", b"Upgrade: websocket", b"Sec-WebSocket-Version: 13",
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ]  # fmt: skip
    return get(*(line for line in whole if not line.startswith(drop)), *lines, target=target, **how)


OK, REFUSED = (200,), (400,)
CLOSES = b"Connection: close"

RAW_REQUESTS: dict[str, Raw] = {
    # Bytes after the last request of a connection
    "close": Raw(get(CLOSES), OK, False),
    "close, then a request": Raw(get(CLOSES) + HIDDEN, OK, False),
    "close, then twenty requests": Raw(get(CLOSES) + HIDDEN * 20, OK, False),
    "close, then no HTTP": Raw(get(CLOSES) + b"\0\1\2 garbage \r\n\r\n", OK, False),
    "close, then one byte": Raw(get(CLOSES) + b"x", OK, False),
    "close, then an empty line": Raw(get(CLOSES) + b"\r\n", OK, False),
    "close, then much": Raw(get(CLOSES) + b"x" * 200_000, OK, False),
    "close of a page, then a request": Raw(get(CLOSES, target=b"/about") + HIDDEN, OK, False),
    "close after a body, then a request": Raw(post(CLOSES, LENGTH) + HIDDEN, OK, False),
    "close after chunks, then a request": Raw(chunked(HALVES + b"0\r\n\r\n", CLOSES) + HIDDEN, OK, False),
    "close in capitals, then a request": Raw(get(b"CONNECTION: CLOSE") + HIDDEN, OK, False),
    "close in a list, then a request": Raw(get(b"Connection: foo ,\tClose") + HIDDEN, OK, False),
    "close and keep-alive, then a request": Raw(get(b"Connection: close, keep-alive") + HIDDEN, OK, False),
    "close in the second header, then a request": Raw(get(b"Connection: a", b"Connection: close") + HIDDEN, OK, False),
    "close of nothing, then a request": Raw(get(CLOSES, target=b"/nothing") + HIDDEN, (404,), False),
    "a request, then close, then a request": Raw(get() + get(CLOSES) + HIDDEN, (200, 200), False),
    "closed is not close": Raw(get(b"Connection: closed"), OK),
    "HTTP/1.0, then a request": Raw(get(version=b"1.0") + HIDDEN, OK, False),
    # Ends of lines
    "bare LF everywhere": Raw(get().replace(b"\r\n", b"\n"), REFUSED, False),
    "bare LF after the request line": Raw(get().replace(b"\r\n", b"\n", 1), REFUSED, False),
    "bare LF in a value": Raw(get(b"X-One: 1\nX-Two: 2"), REFUSED, False),
    "bare CR in a value": Raw(get(b"X-One: 1\rX-Two: 2"), REFUSED, False),
    "bare CR in the request line": Raw(get(target=b"/api/v1/instance\r"), REFUSED, False),
    "CR CR LF": Raw(get(b"X-One: 1\r"), REFUSED, False),
    "an empty line first": Raw(b"\r\n" + get(), OK),
    "three empty lines first": Raw(b"\r\n" * 3 + get(), OK),
    "an empty line between": Raw(get() + b"\r\n" + get(), (200, 200)),
    "an empty line after a body": Raw(post(LENGTH) + b"\r\n" + get(), (200, 200)),
    "an empty line with bare LF first": Raw(b"\n" + get(), REFUSED, False),
    "a bare CR first": Raw(b"\r" + get(), REFUSED, False),
    "a space first": Raw(b" " + get(), REFUSED, False),
    "obs-fold with a space": Raw(get(b"X-One: 1", b" 2"), REFUSED, False),
    "obs-fold with a tab": Raw(get(b"X-One: 1", b"\t2"), REFUSED, False),
    "obs-fold of the first header": Raw(get().replace(b"Host:", b" Host:"), REFUSED, False),
    "obs-fold of a length": Raw(post(b"Content-Length:", b" %d" % len(APP)), REFUSED, False),
    # Lengths
    "both lengths": Raw(post(LENGTH, CHUNKED, body=HALVES + b"0\r\n\r\n") + HIDDEN, OK, False),
    "both lengths, chunked first": Raw(post(CHUNKED, b"Content-Length: 4", body=HALVES + b"0\r\n\r\n"), OK, False),
    "both lengths, no chunks": Raw(post(LENGTH, CHUNKED), REFUSED, False),
    "two lengths": Raw(post(LENGTH, b"Content-Length: 0"), REFUSED, False),
    "two equal lengths": Raw(post(LENGTH, LENGTH), OK),
    "two equal lengths in one line": Raw(post(LENGTH + b", %d" % len(APP)), OK),
    "two lengths in one line": Raw(post(LENGTH + b", 0"), REFUSED, False),
    "a length with a comma": Raw(post(LENGTH + b","), REFUSED, False),
    "a length with a sign": Raw(post(b"Content-Length: +%d" % len(APP)), REFUSED, False),
    "a length below zero": Raw(post(b"Content-Length: -1"), REFUSED, False),
    "a length with a point": Raw(post(b"Content-Length: %d.0" % len(APP)), REFUSED, False),
    "a length with an underscore": Raw(post(b"Content-Length: 6_3"), REFUSED, False),
    "a length in hex": Raw(post(b"Content-Length: 0x3f"), REFUSED, False),
    "a length with zeros": Raw(post(b"Content-Length: 000%d" % len(APP)), OK),
    "a length of thirty digits": Raw(post(b"Content-Length: " + b"1" * 30), REFUSED, False),
    "a length with a space before the colon": Raw(post(b"Content-Length : %d" % len(APP)), REFUSED, False),
    "no length": Raw(post(body=b""), (422,)),
    "a body without a type": Raw(get(LENGTH, target=b"/nothing", method=b"POST") + APP, (404,)),
    "a body without a type for the API": Raw(get(LENGTH, target=b"/api/v1/apps", method=b"POST") + APP, OK),
    "a body of a GET": Raw(get(LENGTH) + APP, OK),
    "a body of a GET with a type": Raw(get(LENGTH, b"Content-Type: application/json") + APP, OK),
    "a body of a page": Raw(get(LENGTH, target=b"/about") + APP, OK),
    "a body of nothing": Raw(post(LENGTH, target=b"/nothing"), (404,)),
    "a body for a wrong method": Raw(get(LENGTH, method=b"PUT") + APP, (405,)),
    "chunks of a GET": Raw(get(CHUNKED) + HALVES + b"0\r\n\r\n", OK),
    "chunks without a type of nothing": Raw(
        get(CHUNKED, target=b"/nothing", method=b"POST") + HALVES + b"0\r\n\r\n", (404,)
    ),
    "broken chunks of nothing": Raw(get(CHUNKED, target=b"/nothing", method=b"POST") + b"x\r\n\r\n", REFUSED, False),
    "broken chunks of a GET": Raw(get(CHUNKED) + b"x\r\n\r\n", REFUSED, False),
    "broken chunks of a page": Raw(get(CHUNKED, target=b"/about") + b"x\r\n\r\n", REFUSED, False),
    "broken chunks of a stream": Raw(get(CHUNKED, target=b"/api/v1/streaming/public") + b"x\r\n\r\n", REFUSED, False),
    # Chunks
    "chunks": Raw(chunked(HALVES + b"0\r\n\r\n"), OK),
    "one chunk": Raw(chunked(b"%x\r\n%b\r\n0\r\n\r\n" % (len(APP), APP)), OK),
    "capital hex": Raw(chunked(b"%X\r\n%b\r\n0\r\n\r\n" % (len(APP), APP)), OK),
    "chunks with extensions": Raw(chunked(b'%x;a=b;c="d"\r\n%b\r\n0;e\r\n\r\n' % (len(APP), APP)), OK),
    "an extension with a bare CR": Raw(chunked(b"%x;a\rb\r\n%b\r\n0\r\n\r\n" % (len(APP), APP)), REFUSED, False),
    "an extension with a bare LF": Raw(chunked(b"%x;a\nb\r\n%b\r\n0\r\n\r\n" % (len(APP), APP)), REFUSED, False),
    "an extension with a bare LF before a hidden request": Raw(
        chunked(b"2;\nxx\r\n%x\r\n0\r\n\r\n%b\r\n0\r\n\r\n" % (len(HIDDEN) + 5, HIDDEN)), REFUSED, False
    ),
    "an extension that is long": Raw(chunked(b"%x;%b\r\n" % (len(APP), b"a" * 20_000)), REFUSED, False),
    "an extension that is too long to be held": Raw(chunked(b"%x;%b" % (len(APP), b"a" * 140_000)), REFUSED, False),
    "a chunk size with a sign": Raw(chunked(b"+%x\r\n%b\r\n0\r\n\r\n" % (len(APP), APP)), REFUSED, False),
    "a chunk size below zero": Raw(chunked(b"-1\r\n%b\r\n0\r\n\r\n" % APP), REFUSED, False),
    "a chunk size with 0x": Raw(chunked(b"0x%x\r\n%b\r\n0\r\n\r\n" % (len(APP), APP)), REFUSED, False),
    "a chunk size with an underscore": Raw(chunked(b"3_f\r\n%b\r\n0\r\n\r\n" % APP), REFUSED, False),
    "a chunk size with a space before": Raw(chunked(b" %x\r\n%b\r\n0\r\n\r\n" % (len(APP), APP)), REFUSED, False),
    "a chunk size with zeros": Raw(chunked(b"0000%x\r\n%b\r\n0000\r\n\r\n" % (len(APP), APP)), OK),
    "a chunk size with many zeros": Raw(chunked(b"%040x\r\n%b\r\n0\r\n\r\n" % (len(APP), APP)), REFUSED, False),
    "a chunk size beyond 64 bits": Raw(
        chunked(b"1%016x\r\n%b\r\n" % (len(APP), APP)), REFUSED, False, half_closed=True
    ),
    "a chunk size of nothing": Raw(chunked(b"\r\n%b\r\n0\r\n\r\n" % APP), REFUSED, False),
    "a chunk that ends with bare LF": Raw(chunked(b"%x\r\n%b\n0\r\n\r\n" % (len(APP), APP)), REFUSED, False),
    "a chunk size that ends with bare LF": Raw(chunked(b"%x\n%b\r\n0\r\n\r\n" % (len(APP), APP)), REFUSED, False),
    "a chunk size that ends with bare CR": Raw(chunked(b"%x\r%b\r\n0\r\n\r\n" % (len(APP), APP)), REFUSED, False),
    "a chunk that is longer than it says": Raw(chunked(b"5\r\n%b\r\n0\r\n\r\n" % APP), REFUSED, False),
    "a chunk without its end": Raw(chunked(b"%x\r\n%bXX0\r\n\r\n" % (len(APP), APP)), REFUSED, False),
    "a trailer": Raw(chunked(HALVES + b"0\r\nX-One: 1\r\n\r\n"), OK),
    "a trailer of lengths": Raw(chunked(HALVES + b"0\r\nContent-Length: 5\r\n%b\r\n\r\n" % CHUNKED), OK),
    "a trailer with bare LF": Raw(chunked(HALVES + b"0\r\nX-One: 1\n\r\n"), REFUSED, False),
    "a trailer that is no header": Raw(chunked(HALVES + b"0\r\nGET / HTTP/1.1\r\n\r\n"), REFUSED, False),
    "a trailer that ends with bare LF": Raw(chunked(HALVES + b"0\r\n\n"), REFUSED, False),
    "a trailer that is huge": Raw(chunked(HALVES + b"0\r\nX: " + b"a" * 100_000 + b"\r\n\r\n"), (431,), False),
    # Codings
    "chunked in capitals": Raw(post(b"TRANSFER-ENCODING: ChunkeD", body=HALVES + b"0\r\n\r\n"), OK),
    "gzip, chunked": Raw(post(b"Transfer-Encoding: gzip, chunked", body=HALVES + b"0\r\n\r\n"), (501,), False),
    "chunked, identity": Raw(post(b"Transfer-Encoding: chunked, identity", body=HALVES), (501,), False),
    "identity": Raw(post(b"Transfer-Encoding: identity", LENGTH), (501,), False),
    "chunked twice": Raw(post(CHUNKED, CHUNKED, body=HALVES + b"0\r\n\r\n"), (501,), False),
    "chunked, chunked": Raw(post(b"Transfer-Encoding: chunked, chunked", body=HALVES), (501,), False),
    "chunked with a parameter": Raw(post(b"Transfer-Encoding: chunked;q=1", body=HALVES), (501,), False),
    "an empty coding": Raw(post(b"Transfer-Encoding:", LENGTH), (501,), False),
    "chunked with a tab": Raw(post(b"Transfer-Encoding:\tchunked\t", body=HALVES + b"0\r\n\r\n"), OK),
    "chunked with a form feed": Raw(post(b"Transfer-Encoding: \x0cchunked", body=HALVES), REFUSED, False),
    "chunked with an underscore": Raw(post(b"Transfer_Encoding: chunked", LENGTH), OK),
    "chunked in HTTP/1.0": Raw(post(CHUNKED, body=HALVES + b"0\r\n\r\n", version=b"1.0") + HIDDEN, OK, False),
    # Targets
    "absolute form": Raw(get(target=b"http://localhost/api/v1/instance?a=b"), OK),
    "absolute form of another host": Raw(get(target=b"https://elsewhere/api/v1/instance"), OK),
    "absolute form without a path": Raw(get(target=b"http://localhost"), OK),
    "absolute form in capitals": Raw(get(target=b"HTTP://localhost/api/v1/instance"), OK),
    "another scheme": Raw(get(target=b"ftp://localhost/api/v1/instance"), REFUSED, False),
    "authority form": Raw(get(target=b"localhost:80", method=b"CONNECT") + HIDDEN, REFUSED, False),
    "authority form of a GET": Raw(get(target=b"localhost:80"), REFUSED, False),
    "a CONNECT of a path": Raw(get(method=b"CONNECT"), REFUSED, False),
    "asterisk form": Raw(get(target=b"*", method=b"OPTIONS"), (404,)),
    "asterisk form of a GET": Raw(get(target=b"*"), REFUSED, False),
    "a path without a slash": Raw(get(target=b"api/v1/instance"), REFUSED, False),
    "two slashes": Raw(get(target=b"//localhost/api"), (404,)),
    "slashes between segments": Raw(get(target=b"/api//v1///instance"), OK),
    "an escaped line": Raw(get(target=b"/api/v1/instance%0d%0aX:%20y"), (404,)),
    "an escaped NUL": Raw(get(target=b"/api/v1/instance%00"), (404,)),
    "a space in the target": Raw(get(target=b"/api/v1/inst ance"), REFUSED, False),
    "a target that is not ASCII": Raw(get(target="/é".encode()), REFUSED, False),
    "a long target": Raw(get(target=b"/" + b"a" * 30_000), (404,)),
    # Hosts
    "no host": Raw(b"GET /api/v1/instance HTTP/1.1\r\n\r\n", REFUSED, False),
    "two hosts": Raw(get(b"Host: elsewhere"), REFUSED, False),
    "two equal hosts": Raw(get(b"Host: localhost"), REFUSED, False),
    "an empty host": Raw(b"GET /api/v1/instance HTTP/1.1\r\nHost:\r\n\r\n", OK),
    "no host in HTTP/1.0": Raw(b"GET /api/v1/instance HTTP/1.0\r\n\r\n", OK, False),
    "two hosts in HTTP/1.0": Raw(get(b"Host: elsewhere", version=b"1.0"), REFUSED, False),
    "a host with a port": Raw(get().replace(b"localhost", b"localhost:3000"), OK),
    "a host of IPv6": Raw(get().replace(b"localhost", b"[::1]:3000"), OK),
    "a host with a path": Raw(get().replace(b"localhost", b"localhost/a"), REFUSED, False),
    "a host with a user": Raw(get().replace(b"localhost", b"a@localhost"), REFUSED, False),
    "a host with a space": Raw(get().replace(b"localhost", b"local host"), REFUSED, False),
    "a host with a comma": Raw(get().replace(b"localhost", b"a,b"), OK),
    "a host with an open bracket": Raw(get().replace(b"localhost", b"[::1"), REFUSED, False),
    "a host with a port in words": Raw(get().replace(b"localhost", b"localhost:http"), REFUSED, False),
    "a host that is not ASCII": Raw(get().replace(b"localhost", "münchen".encode()), REFUSED, False),
    # Headers
    "a name with a space": Raw(get(b"X One: 1"), REFUSED, False),
    "a name with a space at its end": Raw(get(b"X-One : 1"), REFUSED, False),
    "a name with a tab at its end": Raw(get(b"X-One\t: 1"), REFUSED, False),
    "a name that is empty": Raw(get(b": 1"), REFUSED, False),
    "a name with an underscore": Raw(get(b"X_One: 1"), OK),
    "a name that is not ASCII": Raw(get("X-É: 1".encode()), REFUSED, False),
    "a name with a NUL": Raw(get(b"X\0: 1"), REFUSED, False),
    "a name of signs": Raw(get(b"!#$%&'*+-.^_`|~: 1"), OK),
    "a value with colons": Raw(get(b"X-One:: 1: 2"), OK),
    "a value with a NUL": Raw(get(b"X-One: a\0b"), REFUSED, False),
    "a value with DEL": Raw(get(b"X-One: a\x7fb"), OK),
    "a value with a control character": Raw(get(b"X-One: a\x08b"), OK),
    "a value that is not ASCII": Raw(get("X-One: é".encode()), OK),
    "a value that is empty": Raw(get(b"X-One:"), OK),
    "a line without a colon": Raw(get(b"X-One"), REFUSED, False),
    "300 headers": Raw(get(*[b"X-One: 1"] * 300), (431,), False),
    "5,000 headers": Raw(get(*[b"X-One: 1"] * 5000), (431,), False),
    "200 headers": Raw(get(*[b"X-One: 1"] * 200), OK),
    "a header of 40 kB": Raw(get(b"X-One: " + b"a" * 40_000), OK),
    "a header of 100 kB": Raw(get(b"X-One: " + b"a" * 100_000), (431,), False),
    "a header of 100 kB without an end": Raw(b"GET / HTTP/1.1\r\nX-One: " + b"a" * 100_000, (431,), False),
    "a head of 65 kB": Raw(get(b"X-One: " + b"a" * 65_500), (431,), False),
    # Methods and versions
    "HEAD": Raw(get(method=b"HEAD"), OK),
    "HEAD of a page": Raw(get(method=b"HEAD", target=b"/about"), OK),
    "HEAD of nothing": Raw(get(method=b"HEAD", target=b"/nothing"), (404,)),
    "OPTIONS": Raw(get(method=b"OPTIONS"), OK),
    "TRACE": Raw(get(method=b"TRACE"), (405,)),
    "a method in small letters": Raw(get(method=b"get"), (501,), False),
    "HEAD in small letters": Raw(get(method=b"head"), (501,), False),
    "an unknown method": Raw(get(method=b"PROPFIND"), (405,)),
    "an unknown method of nothing": Raw(get(method=b"PROPFIND", target=b"/nothing"), (404,)),
    "a method of signs": Raw(get(method=b"!#$"), (501,), False),
    "a method with a colon": Raw(get(method=b"GET:"), REFUSED, False),
    "a method of 10,000 letters": Raw(get(method=b"A" * 10_000), (405,)),
    "no method": Raw(get(method=b""), REFUSED, False),
    "HTTP/1.0": Raw(get(version=b"1.0"), OK, False),
    "HTTP/1.0 with keep-alive": Raw(get(b"Connection: keep-alive", version=b"1.0"), OK, False),
    "HTTP/1.2": Raw(get(version=b"1.2"), OK),
    "HTTP/2.0": Raw(get(version=b"2.0"), REFUSED, False),
    "HTTP/0.9": Raw(b"GET /api/v1/instance\r\n\r\n", REFUSED, False),
    "HTTP/0.9 with bare LF, headers and a body": Raw(
        b"GET /api/v1/instance\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello", REFUSED, False
    ),
    "HTTP/0.9 with a version": Raw(get(version=b"0.9"), REFUSED, False),
    "HTTP/1": Raw(get(version=b"1"), REFUSED, False),
    "HTTP/1.10": Raw(get(version=b"1.10"), REFUSED, False),
    "the preface of HTTP/2": Raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", REFUSED, False),
    "small http": Raw(get().replace(b"HTTP", b"http"), REFUSED, False),
    "TLS": Raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", REFUSED, False),
    # Upgrades
    "h2c": Raw(get(b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABk"), OK),
    "h2c in small letters alone": Raw(get(b"Upgrade: h2c"), OK),
    "TLS/1.2": Raw(get(b"Connection: Upgrade", b"Upgrade: TLS/1.2"), OK),
    "upgrade of a POST": Raw(post(b"Connection: Upgrade", b"Upgrade: foo", LENGTH), OK),
    "websocket where nothing streams": Raw(handshake(), (404,), False),
    "websocket, then a request": Raw(handshake() + HIDDEN, (404,), False),
    "websocket without a key": Raw(handshake(drop=b"Sec-WebSocket-Key"), REFUSED, False),
    "websocket without a version": Raw(handshake(drop=b"Sec-WebSocket-Version"), (426,), False),
    "websocket of version 12": Raw(
        handshake(b"Sec-WebSocket-Version: 12", drop=b"Sec-WebSocket-Version"), (426,), False
    ),
    "websocket without the option": Raw(handshake(drop=b"Connection"), OK),
    "websocket without the protocol": Raw(handshake(drop=b"Upgrade"), OK),
    "websocket by POST": Raw(handshake(method=b"POST"), (405,)),
    "websocket of HTTP/1.0": Raw(handshake(version=b"1.0"), REFUSED, False),
    "websocket with a key that is none": Raw(
        handshake(b"Sec-WebSocket-Key: short", drop=b"Sec-WebSocket-Key"), REFUSED, False
    ),
    "websocket with two keys": Raw(handshake(b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="), REFUSED, False),
    "websocket with a body": Raw(handshake(b"Content-Length: 4") + b"abcd", REFUSED, False),
    "websocket in a list": Raw(handshake(b"Upgrade: foo, websocket", drop=b"Upgrade"), OK),
    # Expectations
    "100-continue": Raw(post(b"Expect: 100-continue", LENGTH), (100, 200)),
    "100-continue in capitals": Raw(post(b"Expect: 100-CONTINUE", LENGTH), (100, 200)),
    "100-continue of nothing": Raw(post(b"Expect: 100-continue", LENGTH, target=b"/nothing"), (100, 404)),
    "100-continue of a GET": Raw(get(b"Expect: 100-continue"), (100, 200)),
    "100-continue of HTTP/1.0": Raw(post(b"Expect: 100-continue", LENGTH, version=b"1.0"), OK, False),
    "100-continue with chunks": Raw(chunked(HALVES + b"0\r\n\r\n", b"Expect: 100-continue"), (100, 200)),
    "100-continue without a type": Raw(
        get(b"Expect: 100-continue", LENGTH, method=b"POST", target=b"/about") + APP, (100, 405)
    ),
    "another expectation": Raw(post(b"Expect: 200-ok", LENGTH), OK),
    # Pipelines
    "two requests": Raw(get() * 2, (200, 200)),
    "twenty requests": Raw(get() * 20, (200,) * 20),
    "twenty pages": Raw(get(target=b"/about") * 20, (200,) * 20),
    "twenty of all kinds": Raw(
        (get() + post(LENGTH) + get(target=b"/nothing") + chunked(HALVES + b"0\r\n\r\n")) * 5, (200, 200, 404, 200) * 5
    ),
    "requests, then no HTTP": Raw(get() * 3 + b"garbage\r\n\r\n", (200, 200, 200, 400), False),
    "requests, then a version": Raw(get() * 2 + get(version=b"1.0") + HIDDEN, (200, 200, 200), False),
    "requests, one with two lengths": Raw(
        get() + post(LENGTH, CHUNKED, body=HALVES + b"0\r\n\r\n") + HIDDEN, (200, 200), False
    ),
    "a HEAD between": Raw(get() + get(method=b"HEAD") + get(), (200, 200, 200)),
    "a body like a request": Raw(post(b"Content-Length: %d" % len(HIDDEN), body=HIDDEN), REFUSED),
    # Clients that send no more
    "half closed": Raw(get(), OK, False, half_closed=True),
    "half closed after a page": Raw(get(target=b"/about"), OK, False, half_closed=True),
    "half closed after a body": Raw(post(LENGTH), OK, False, half_closed=True),
    "half closed after close": Raw(get(CLOSES), OK, False, half_closed=True),
    "half closed after twenty": Raw(get() * 10 + get(target=b"/about") * 10, (200,) * 20, False, half_closed=True),
    "half closed at once": Raw(b"", (), False, half_closed=True),
    "half closed after an empty line": Raw(b"\r\n", (), False, half_closed=True),
    "half closed in the request line": Raw(b"GET /api", REFUSED, False, half_closed=True),
    "half closed in a header": Raw(get()[:-10], REFUSED, False, half_closed=True),
    "half closed in a body": Raw(post(b"Content-Length: 99"), REFUSED, False, half_closed=True),
    "half closed in a body of nothing": Raw(
        post(b"Content-Length: 99", target=b"/nothing"), REFUSED, False, half_closed=True
    ),
    "half closed in a body of a GET": Raw(get(b"Content-Length: 99") + APP, REFUSED, False, half_closed=True),
    "half closed in chunks": Raw(chunked(HALVES), REFUSED, False, half_closed=True),
    "half closed in a trailer": Raw(chunked(HALVES + b"0\r\n"), REFUSED, False, half_closed=True),
    "half closed in the second": Raw(get() + get()[:20], (200, 400), False, half_closed=True),
}  # fmt: skip
