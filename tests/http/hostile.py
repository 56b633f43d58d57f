"""What a hostile client sends, as data: bodies that are none, values of the wrong kind, text that hurts."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import orjson

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=x"


@dataclass(frozen=True, slots=True)
class Sent:
    """A request's body and query."""

    name: str
    content_type: str | None = None
    body: bytes = b""
    query: bytes = b""
    declared: int | None = None  # the length it claims
    refused: int | None = None  # the status when the endpoint reads parameters at all


def part(name: bytes, value: bytes, more: bytes = b"") -> bytes:
    return b'--x\r\nContent-Disposition: form-data; name="' + name + b'"' + more + b"\r\n\r\n" + value + b"\r\n"


DEEP = b'{"a":' * 200 + b"1" + b"}" * 200

# Unreadable by any parser.
UNREADABLE = (
    Sent("no json", JSON, b"{", refused=400),
    Sent("no object", JSON, b"[1]", refused=400),
    Sent("a number", JSON, b"1e999", refused=400),
    Sent("not a number", JSON, b'{"status": NaN}', refused=400),
    Sent("a lone surrogate", JSON, b'{"status": "\\ud800"}', refused=400),
    Sent("NUL", JSON, b'{"status": "a\\u0000b"}', refused=400),
    Sent("NUL in a name", JSON, b'{"a\\u0000b": 1}', refused=400),
    Sent("bad UTF-8", JSON, b'{"status": "\xff"}', refused=400),
    Sent("another encoding", JSON, '{"status": "a"}'.encode("utf-16"), refused=400),
    Sent("deep", JSON, DEEP, refused=400),
    Sent("very deep", JSON, b"[" * 100_000, refused=400),
    Sent("wide", JSON, orjson.dumps({f"a{number}": 1 for number in range(1001)}), refused=400),
    Sent("NUL in a form", FORM, b"status=a%00b", refused=400),
    Sent("bad UTF-8 in a form", FORM, b"status=%ff", refused=400),
    Sent("a surrogate in a form", FORM, b"status=%ed%a0%80", refused=400),
    Sent("deep form", FORM, b"a" + b"[b]" * 20 + b"=1", refused=400),
    Sent("wide form", FORM, b"a=1&" * 1001, refused=400),
    Sent("a long name", FORM, b"a[" + b"b" * 300 + b"]=1", refused=400),
    Sent("no boundary", "multipart/form-data", b"--x--", refused=400),
    Sent("no end", MULTIPART, part(b"status", b"a"), refused=400),
    Sent("no name", MULTIPART, b"--x\r\nContent-Disposition: form-data\r\n\r\na\r\n--x--", refused=400),
    Sent("NUL in a part", MULTIPART, part(b"status", b"\0") + b"--x--", refused=400),
    Sent("too large", JSON, b"{}", declared=2**40, refused=413),
    Sent("a length that is none", JSON, b"{}", declared=-1, refused=400),
    Sent("NUL in the query", query=b"limit=%00", refused=400),
    Sent("bad UTF-8 in the query", query=b"limit=%ff", refused=400),
    Sent("wide query", query=b"a=1&" * 1001, refused=400),
)

# These can be read, and say something odd.
ODD = (
    Sent("nothing", JSON, b""),
    Sent("no type", None, b"\xff\xfe"),
    Sent("another type", "text/plain", b"status=a"),
    Sent("duplicates", JSON, b'{"status": "a", "status": ["b"]}'),
    Sent("a text and a hash", FORM, b"poll=a&poll[options][]=b&poll=c&source[privacy]=x&source=y"),
    Sent("a list and a hash", FORM, b"id[]=1&id[a]=2&id=3&id[0][b]=4&id[][c]=5"),
    Sent("broken brackets", FORM, b"a[=1&[b]=2&a]]=3&[]=4&a[[b]]=5&a[b=6"),
    Sent("query against body", JSON, b'{"limit": {"a": 1}}', b"limit=1&limit[]=2&limit[a]=3"),
    Sent("all cursors", query=b"max_id=1&since_id=2&min_id=3&offset=4&page=5"),
    Sent("large cursors", query=b"max_id=99999999999999999999999&min_id=18446744073709551616"),
    Sent("cursors that are none", query=b"max_id=-1&since_id=%CE%B1&min_id=1.5"),
    Sent("large limit", query=b"limit=99999999999999999999999"),
    Sent("negative limit", query=b"limit=-5&offset=-5"),
    Sent("a file for each text", MULTIPART, part(b"status", b"a", b'; filename="a"') + b"--x--"),
    Sent("an empty name", MULTIPART, part(b"", b"a") + b"--x--"),
)

BOMB = "(" * 2000 + "a" * 2000 + "!" * 2000

# A value for any parameter, written as JSON.
VALUES: dict[str, object] = {
    "null": None,
    "true": True,
    "a hash": {"a": {"b": "c"}},
    "a list of hashes": [{"a": 1}, [2], None, "3"],
    "a fraction": 1.5,
    "a large number": 1e308,
    "an id beyond 64 bits": 2**63,
    "an id far beyond": "9" * 40,
    "a negative id": -(2**63),
    "digits of other scripts": "٣²",
    "empty": "",
    "blank": " \u00a0\u200b\t\n",
    "html": '<script>alert(1)</script><img src=x onerror=alert(1)>"&amp;',
    "a look-alike": "\u0430dmin@\u217cocalhost",
    "upside down": "\u202etxet\u2066\ufeff\U000e0041",
    "marks on marks": "Z" + "\u0301" * 3000,
    "a long text": "a" * 200_000,
    "regex food": BOMB,
    "at signs": "@" * 5000,
    "thousands of mentions": " ".join(f"@user{number}@d{number}.example" for number in range(4000)),
    "thousands of tags": "#a" * 4000 + " " + " ".join(f"#t{number}" for number in range(4000)),
    "links in links": "http://" * 3000,
    "a format": "%s%n{0}$1; DROP TABLE accounts; --",
    "a path": "../../../../etc/passwd",
    "a date that is none": "2026-13-45T99:99:99Z",
    "a year beyond": "+99999-01-01T00:00:00Z",
}

# What stands where an id should.
SEGMENTS = ("0", "-1", "9" * 19, "9" * 40, "1e5", "%00", "%ff", "%D9%A3", "a" * 3000, "..%2f..", "%3Cscript%3E", "1;2")


async def chunks(body: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(body), 16_384):
        yield body[start : start + 16_384]
