"""Served media files: never changing, never more than a file, and in parts for those who ask."""

import pytest

from ..clients import BASE, Person, Stage
from ..emojis import add_emoji
from .serving import request, say
from .uploading import fetched, picture, store_file, uploaded


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
    [
        ("bytes=0-99", 0, 99),
        ("bytes=100-", 100, -1),
        ("bytes=-50", -50, -1),
        ("bytes=10-99999999", 10, -1),
        (f"bytes=10-{2**64 - 1}", 10, -1),
        ("Bytes=0-99", 0, 99),
    ],
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
    for ending in ("html", "svg"):
        store_file(stage, "a" * 32 + "." + ending, b"<script>alert(1)</script>")
    assert (await stage.anybody().get(f"/media/{name}")).status == 404


PICTURES = ["avatar", "avatar_static", "header", "emoji", "media"]


@pytest.fixture
async def pictures(stage: Stage, ada: Person, url: str) -> dict[str, str]:
    """The addresses of what a client shows: pictures of accounts that have none, of an emoji and of a status."""
    account = (await ada.get(f"/api/v1/accounts/{ada.id}")).json
    await add_emoji(stage, "blob")
    (emoji,) = (await ada.get("/api/v1/custom_emojis")).json
    store_file(stage, emoji["url"].rpartition("/")[2], b"GIF89a")
    named = {name: account[name] for name in ("avatar", "avatar_static", "header")}
    return named | {"emoji": emoji["url"], "media": url}


@pytest.mark.parametrize("name", PICTURES)
async def test_web_clients_of_other_origins_may_read_pictures(
    stage: Stage, pictures: dict[str, str], name: str
) -> None:
    """Also when they have them already, when they ask for a part, and when there is none."""
    path, anybody = pictures[name].removeprefix(BASE), stage.anybody()
    whole = await anybody.get(path, headers={"Origin": "https://client.example"})
    assert whole.status == 200
    etag = whole.headers.get("ETag", '"none"')
    answers = [
        whole,
        await anybody.get(path, headers={"If-None-Match": etag}),
        await anybody.get(path, headers={"Range": "bytes=0-3"}),
        await anybody.get(path, headers={"Range": "bytes=999999999-"}),
        await anybody.get(path + "x"),
    ]
    statuses = [answer.status for answer in answers]
    assert statuses == ([200, 304, 206, 416, 404] if name in ("emoji", "media") else [200, 200, 200, 200, 404])
    assert [answer.headers["Access-Control-Allow-Origin"] for answer in answers] == ["*"] * len(answers)
    assert "Authorization" not in whole.headers.get("Vary", "")


@pytest.mark.parametrize("name", PICTURES)
async def test_browsers_may_ask_for_a_picture_with_headers_of_their_own(
    stage: Stage, pictures: dict[str, str], name: str
) -> None:
    asked = {"Origin": "https://client.example", "Access-Control-Request-Headers": "range"}
    answer = await stage.anybody().send("OPTIONS", pictures[name].removeprefix(BASE), headers=asked)
    assert answer.status == 200
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert (answer.headers["Access-Control-Allow-Headers"], answer.body) == ("range", b"")
