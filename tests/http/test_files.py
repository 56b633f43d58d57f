"""Served media files: never changing, never more than a file, and in parts for those who ask."""

import pytest

from ..clients import Person, Stage
from .serving import request, say
from .uploading import fetched, picture, uploaded


@pytest.fixture
async def url(ada: Person) -> str:
    return (await uploaded(ada, picture()))["url"]


async def test_a_file_is_kept_by_browsers_and_run_by_none(stage: Stage, url: str) -> None:
    anybody = stage.anybody()
    reply = await fetched(anybody, url, Accept="application/activity+json")
    assert reply.status == 200
    assert reply.headers["Content-Type"] == "image/png"
    assert reply.headers["Content-Length"] == str(len(reply.body))
    assert reply.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert reply.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert reply.headers["Content-Disposition"] == "inline"
    assert reply.headers["Access-Control-Allow-Origin"] == "*"
    tag = reply.headers["ETag"]
    for known in (tag, f"W/{tag}", f'"another", {tag}'):
        same = await fetched(anybody, url, **{"If-None-Match": known})
        assert (same.status, same.body) == (304, b"")
    assert (await fetched(anybody, url, **{"If-None-Match": '"another"'})).status == 200


async def test_a_head_says_how_long_it_is(stage: Stage, url: str, port: int) -> None:
    whole = await fetched(stage.anybody(), url)
    line = f"HEAD /{url.split('/', 3)[3]}".encode()
    head, _, body = (await say(port, request(line))).partition(b"\r\n\r\n")
    assert f"content-length: {len(whole.body)}\r\n".encode() in head.lower()
    assert body == b""


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [("bytes=0-99", 0, 99), ("bytes=100-", 100, -1), ("bytes=-50", -50, -1), ("bytes=10-99999999", 10, -1)],
)
async def test_a_part(stage: Stage, url: str, asked: str, first: int, last: int) -> None:
    whole = (await fetched(stage.anybody(), url)).body
    size = len(whole)
    reply = await fetched(stage.anybody(), url, Range=asked)
    first, last = first % size, last % size
    assert (reply.status, reply.headers["Content-Range"]) == (206, f"bytes {first}-{last}/{size}")
    assert reply.body == whole[first : last + 1]


@pytest.mark.parametrize("asked", ["bytes=99999999-", "bytes=5-4", "bytes=-0"])
async def test_a_part_that_is_not_there(stage: Stage, url: str, asked: str) -> None:
    reply = await fetched(stage.anybody(), url, Range=asked)
    assert (reply.status, reply.body) == (416, b"")
    assert reply.headers["Content-Range"].startswith("bytes */")


@pytest.mark.parametrize("asked", ["bytes=0-1,3-4", "lines=1-2", "bytes=-", "bytes=a-b", "bytes=" + "9" * 40 + "-"])
async def test_a_range_of_another_kind_gets_the_whole(stage: Stage, url: str, asked: str) -> None:
    assert (await fetched(stage.anybody(), url, Range=asked)).status == 200


async def test_a_range_of_what_was_another_file_gets_the_whole(stage: Stage, url: str) -> None:
    reply = await fetched(stage.anybody(), url, **{"Range": "bytes=0-9", "If-Range": '"another"'})
    assert reply.status == 200


@pytest.mark.parametrize(
    "name",
    [
        "../keys/vapid.json",
        "..%2Fkeys%2Fvapid.json",
        "%2e%2e/%2e%2e/etc/passwd",
        "incoming",
        "a" * 32 + ".html",
        "a" * 32 + ".svg",
        "a" * 32 + ".jpg",
        "a" * 32 + ".jpg%00.html",
    ],
)
async def test_nothing_else_in_the_folder_is_served(stage: Stage, name: str) -> None:
    folder = stage.http_context.media.folder
    for ending in ("html", "svg"):
        lying = folder.path("a" * 32 + "." + ending)
        lying.parent.mkdir(parents=True, exist_ok=True)
        lying.write_text("<script>alert(1)</script>")
    assert (await stage.anybody().get(f"/media/{name}")).status == 404
