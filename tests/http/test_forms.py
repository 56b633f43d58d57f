"""Forms as browsers, apps and libraries send them: each of them sent to five endpoints.

The names in comments are of clients that send a form so.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
import pyvips

from troupe.http.intake.decoding import Upload
from troupe.http.intake.multipart import read_multipart

from ..clients import Person, Reply, Stage
from .uploading import fetched, picture

Pairs = list[tuple[str, str]]
URLENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary="
NAME = "Zo\u00eb + 100% & \u201cmore\u201d; a=b"
LONGEST = "-" * 20 + "WebKitFormBoundary" + "a1" * 16  # 70 characters


@dataclass(frozen=True)
class Form:
    """What is sent: a body, its type (None: the header is left out), and a query."""

    body: bytes
    type: str | None
    query: str = ""


def urlencoded(pairs: Pairs, escape: Callable[..., str] = quote_plus, safe: str = "") -> bytes:
    return "&".join(f"{escape(name, safe=safe)}={escape(value, safe=safe)}" for name, value in pairs).encode()


def escaped(text: str, safe: str) -> str:
    """Every byte as an escape in lower case."""
    return "".join(f"%{byte:02x}" for byte in text.encode())


def tree_of(pairs: Pairs) -> dict[str, Any]:
    """The same as JSON: lists are marked by empty brackets, objects by names in brackets."""
    tree: dict[str, Any] = {}
    for name, value in pairs:
        head, *rest = name.replace("]", "").split("[")
        here: Any = tree
        for step, following in zip([head, *rest], rest, strict=False):
            here = here.setdefault(step, [] if following == "" else {})
        here.append(value) if rest and rest[-1] == "" else here.__setitem__([head, *rest][-1], value)
    return tree


def parts(
    pairs: Pairs, boundary: str = "edge", *, head: str = 'Content-Disposition: form-data; name="{}"', end: str = "\r\n",
    more: str = "", charset: str = "utf-8",
) -> bytes:  # fmt: skip
    """A multipart body. `more` has headers of each part, or whole parts before the last delimiter."""
    body = b""
    for name, value in pairs:
        lines = [f"--{boundary}", *head.format(name).split("\n"), "", ""]
        body += end.join(lines).encode() + value.encode(charset, "replace") + end.encode()
    return body + more.encode() + f"--{boundary}--{end}".encode()


def bracketed(pairs: Pairs) -> dict[str, Any]:
    """JSON with the names of a form: a list is below `name[]`."""
    tree: dict[str, Any] = {}
    for name, value in pairs:
        tree.setdefault(name, []).append(value) if name.endswith("[]") else tree.__setitem__(name, value)
    return tree


def with_json(pairs: Pairs) -> Pairs:
    """Pairs whose lists and objects are JSON in a text."""
    return [(name, value if isinstance(value, str) else json.dumps(value)) for name, value in tree_of(pairs).items()]


def typed(pairs: Pairs, type: str, **how: Any) -> Form:
    """A multipart form with the boundary `edge`."""
    return Form(parts(pairs, **how), type)


DISPOSITION = 'Content-Disposition: form-data; name="{}"'
EMPTY_FILE = (
    '--edge\r\nContent-Disposition: form-data; name="{}"; filename=""\r\n'
    "Content-Type: application/octet-stream\r\n\r\n\r\n"
)

FORMS: dict[str, Callable[[Pairs], Form]] = {
    # URL-encoded
    "plain": lambda pairs: Form(urlencoded(pairs), URLENCODED),
    "charset (axios, jQuery)": lambda pairs: Form(urlencoded(pairs), f"{URLENCODED}; charset=UTF-8"),
    "quoted charset (Alamofire)": lambda pairs: Form(urlencoded(pairs), f'{URLENCODED};charset="utf-8"'),
    "type in capitals": lambda pairs: Form(urlencoded(pairs), URLENCODED.upper()),
    "spaces as %20 (OkHttp)": lambda pairs: Form(urlencoded(pairs, quote), URLENCODED),
    "brackets as they are (curl)": lambda pairs: Form(urlencoded(pairs, quote, "[]"), URLENCODED),
    "lower-case escapes": lambda pairs: Form(urlencoded(pairs, escaped), URLENCODED),
    "no type (curl -H 'Content-Type:')": lambda pairs: Form(urlencoded(pairs), None),
    "empty type": lambda pairs: Form(urlencoded(pairs), ""),
    "two types joined": lambda pairs: Form(urlencoded(pairs), f"{URLENCODED}, {URLENCODED}"),
    "empty pairs and keys": lambda pairs: Form(b"&&=1&" + urlencoded(pairs) + b"&&", URLENCODED),
    "Rails' mark": lambda pairs: Form("utf8=\u2713&".encode() + urlencoded(pairs), URLENCODED),
    "the last of two counts": lambda pairs: Form(
        urlencoded([(name, "wrong") for name, _ in pairs if not name.endswith("[]")] + pairs), URLENCODED
    ),
    "in the query": lambda pairs: Form(b"", None, urlencoded(pairs).decode()),
    "in query and body": lambda pairs: Form(urlencoded(pairs[1:]), URLENCODED, urlencoded(pairs[:1]).decode()),
    # JSON
    "JSON": lambda pairs: Form(json.dumps(tree_of(pairs)).encode(), "application/json"),
    "JSON with a charset (Retrofit)": lambda pairs: Form(
        json.dumps(tree_of(pairs), ensure_ascii=False).encode(), "application/json;charset=utf8"
    ),
    "JSON, type in capitals": lambda pairs: Form(
        json.dumps(tree_of(pairs)).encode(), "Application/JSON; Charset=UTF-8"
    ),
    "JSON with a mark (.NET)": lambda pairs: Form(
        b"\xef\xbb\xbf" + json.dumps(tree_of(pairs)).encode(), "application/json"
    ),
    "JSON without a type": lambda pairs: Form(b"\r\n " + json.dumps(tree_of(pairs)).encode(), None),
    "text/json": lambda pairs: Form(json.dumps(tree_of(pairs)).encode(), "text/json"),
    "JSON as plain text (fetch)": lambda pairs: Form(json.dumps(tree_of(pairs)).encode(), "text/plain;charset=UTF-8"),
    "JSON as a form (curl -d)": lambda pairs: Form(json.dumps(tree_of(pairs)).encode(), URLENCODED),
    "JSON with names of a form": lambda pairs: Form(
        json.dumps(bracketed(pairs)).encode(), "application/json"
    ),
    "lists as JSON in JSON (tsl-mastodon-api)": lambda pairs: Form(
        json.dumps(dict(with_json(pairs))).encode(), "application/json"
    ),
    "lists as JSON in a form": lambda pairs: Form(urlencoded(with_json(pairs)), URLENCODED),
    "lists as JSON in parts": lambda pairs: Form(parts(with_json(pairs)), MULTIPART + "edge"),
    "JSON of an API": lambda pairs: Form(json.dumps(tree_of(pairs)).encode(), "application/vnd.api+json"),
    # Multipart
    "multipart": lambda pairs: typed(pairs, MULTIPART + "edge"),
    "boundary with a slash": lambda pairs: Form(parts(pairs, "b/QeEb"), MULTIPART + "b/QeEb"),
    "boundary with signs": lambda pairs: Form(parts(pairs, "=_'(a+b)?:,x=/"), MULTIPART + "=_'(a+b)?:,x=/"),
    "quoted boundary (URLSession)": lambda pairs: Form(parts(pairs, "a b;c"), f'{MULTIPART}"a b;c"'),
    "quoted boundary with an escape": lambda pairs: Form(parts(pairs, 'a"b'), f'{MULTIPART}"a\\"b"'),
    "boundary of 70 characters": lambda pairs: Form(parts(pairs, LONGEST), MULTIPART + LONGEST),
    "options around the boundary (Ktor)": lambda pairs: typed(
        pairs, "Multipart/Form-Data ; charset=utf-8 ; BOUNDARY=edge ; x=y"
    ),
    "preamble and epilogue": lambda pairs: Form(
        b"This is a message\r\nin parts.\r\n" + parts(pairs) + b"\r\nthe end\r\n--edge\r\n", MULTIPART + "edge"
    ),
    "no line end after all": lambda pairs: Form(parts(pairs)[:-2], MULTIPART + "edge"),
    "LF alone": lambda pairs: typed(pairs, MULTIPART + "edge", end="\n"),
    "space after delimiters": lambda pairs: Form(
        parts(pairs).replace(b"--edge\r\n", b"--edge \t\r\n"), MULTIPART + "edge"
    ),
    "names without quotes (PHP)": lambda pairs: typed(
        pairs, MULTIPART + "edge", head="Content-Disposition: form-data; name={}"
    ),
    "header in lower case (undici)": lambda pairs: typed(
        pairs, MULTIPART + "edge", head='content-disposition:form-data;name="{}"'
    ),
    "folded header": lambda pairs: typed(
        pairs, MULTIPART + "edge", head='Content-Disposition: form-data;\n name="{}"'
    ),
    "length and encoding of parts (OkHttp, Dio)": lambda pairs: typed(
        pairs, MULTIPART + "edge",
        head=f"Content-Transfer-Encoding: binary\nContent-Type: text/plain; charset=utf-8\n{DISPOSITION}",
    ),
    "type without a charset (Apache)": lambda pairs: typed(
        pairs, MULTIPART + "edge", head=f"{DISPOSITION}\nContent-Type: text/plain; charset=ISO-8859-1"
    ),
    "windows-1252 (Apache)": lambda pairs: typed(
        pairs, MULTIPART + "edge", head=f"{DISPOSITION}\nContent-Type: text/plain; charset=US-ASCII", charset="cp1252"
    ),
    "a field of charsets": lambda pairs: typed([("_charset_", "UTF-8"), *pairs], MULTIPART + "edge"),
    "a file field without a file (browsers)": lambda pairs: typed(
        pairs, MULTIPART + "edge", more=EMPTY_FILE.format("avatar") + EMPTY_FILE.format("media_ids[]")
    ),
    "the names twice": lambda pairs: typed(
        pairs, MULTIPART + "edge", head=f"{DISPOSITION}; x=\"a;name=wrong\""
    ),
    "another kind of multipart": lambda pairs: typed(pairs, "multipart/mixed; boundary=edge"),
}  # fmt: skip


async def sent(by: Any, method: str, path: str, form: Form) -> Reply:
    headers = {} if form.type is None else {"Content-Type": form.type}
    query = f"?{form.query}" if form.query else ""
    return await by.send(method, path + query, headers=headers, data=form.body)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
async def test_every_form_is_read_by_five_endpoints(stage: Stage, ada: Person, form: Callable[[Pairs], Form]) -> None:
    post = [
        ("status", NAME), ("spoiler_text", "careful"), ("sensitive", "true"), ("visibility", "unlisted"),
        ("poll[options][]", "tea"), ("poll[options][]", "coffee"), ("poll[expires_in]", "3600"),
        ("poll[multiple]", "1"),
    ]  # fmt: skip
    posted = await sent(ada, "POST", "/api/v1/statuses", form(post))
    assert posted.status == 200, posted.text
    status = posted.json
    source = (await ada.get(f"/api/v1/statuses/{status['id']}/source")).json["text"]
    assert (source, status["spoiler_text"], status["sensitive"]) == (NAME, "careful", True)
    assert (status["visibility"], status["poll"]["multiple"]) == ("unlisted", True)
    assert [option["title"] for option in status["poll"]["options"]] == ["tea", "coffee"]

    profile = [
        ("display_name", NAME), ("locked", "on"), ("source[privacy]", "private"), ("note", ""),
        ("fields_attributes[0][name]", "site"), ("fields_attributes[0][value]", "\u00e9"),
    ]  # fmt: skip
    changed = await sent(ada, "PATCH", "/api/v1/accounts/update_credentials", form(profile))
    assert changed.status == 200, changed.text
    account = changed.json
    assert (account["display_name"], account["locked"], account["source"]["privacy"]) == (NAME, True, "private")
    assert [(field["name"], field["value"]) for field in account["source"]["fields"]] == [("site", "\u00e9")]

    app = [("client_name", NAME), ("redirect_uris", "app://cb?a=b&c"), ("scopes", "read write:media")]
    registered = await sent(stage.anybody(), "POST", "/api/v1/apps", form(app))
    assert registered.status == 200, registered.text
    assert (registered.json["name"], registered.json["redirect_uri"]) == (NAME, "app://cb?a=b&c")

    asking = [
        ("grant_type", "client_credentials"), ("client_id", registered.json["client_id"]),
        ("client_secret", registered.json["client_secret"]), ("scope", "read write:media"),
    ]  # fmt: skip
    token = await sent(stage.anybody(), "POST", "/oauth/token", form(asking))
    assert (token.status, token.json.get("scope")) == (200, "read write:media"), token.text

    wanted = [
        ("title", NAME), ("context[]", "home"), ("context[]", "public"), ("filter_action", "hide"),
        ("keywords_attributes[0][keyword]", "spoiler"), ("keywords_attributes[0][whole_word]", "false"),
    ]  # fmt: skip
    made = await sent(ada, "POST", "/api/v2/filters", form(wanted))
    assert made.status == 200, made.text
    assert (made.json["title"], made.json["context"], made.json["filter_action"]) == (NAME, ["home", "public"], "hide")
    assert [(one["keyword"], one["whole_word"]) for one in made.json["keywords"]] == [("spoiler", False)]


@pytest.mark.parametrize(
    ("form", "complaint"),
    [
        (Form(b"{", None), "The request body is not valid JSON"),
        (Form(b'["a"]', "application/json"), "The request body must be a JSON object"),
        (Form(b'{"a": ', "application/json"), "The request body is not valid JSON"),
        (Form(b'{"a": "\xff"}', "application/json"), "The request body is not valid JSON"),
        (Form(b"status=%ff", URLENCODED), "Parameters must be valid UTF-8"),
        (Form(b"status=%00", None), "Parameters must not contain NUL"),
        (Form(b"poll=1&poll[options][]=2", URLENCODED), "Parameter poll is given in two shapes"),
        (Form(parts([("status", "a")]), "multipart/form-data"), "The multipart body has no boundary"),
        (Form(parts([("status", "a")]), MULTIPART + "other"), "The multipart body ends before its last boundary"),
        (Form(parts([("status", "a")])[:-9], MULTIPART + "edge"), "The multipart body ends before its last boundary"),
        (typed([("status", "a")], MULTIPART + "edge", head="X: {}"), "A part of the multipart body has no name"),
        (Form(b"a=1&" * 1001, URLENCODED), "Too many parameters"),
    ],
)  # fmt: skip
async def test_what_is_no_form_is_refused_in_words(stage: Stage, ada: Person, form: Form, complaint: str) -> None:
    for by, method, path in (
        (ada, "POST", "/api/v1/statuses"),
        (ada, "PATCH", "/api/v1/accounts/update_credentials"),
        (ada, "POST", "/api/v2/filters"),
        (stage.anybody(), "POST", "/api/v1/apps"),
    ):
        answer = await sent(by, method, path, form)
        assert (answer.status, answer.json) == (400, {"error": complaint}), path
    answer = await sent(stage.anybody(), "POST", "/oauth/token", form)
    assert (answer.status, answer.json) == (400, {"error": "invalid_request", "error_description": complaint})


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
async def test_other_methods_have_forms_too(stage: Stage, ada: Person, bob: Person, method: str) -> None:
    list_id = (await ada.post("/api/v1/lists", json={"title": "friends"})).json["id"]
    if method == "DELETE":
        await ada.post(f"/api/v1/accounts/{bob.id}/follow")
        for type in (URLENCODED, None):
            added = await ada.post(f"/api/v1/lists/{list_id}/accounts", json={"account_ids": [bob.id]})
            assert added.status == 200
            form = Form(f"account_ids[]={bob.id}".encode(), type)
            assert (await sent(ada, "DELETE", f"/api/v1/lists/{list_id}/accounts", form)).status == 200
            assert (await ada.get(f"/api/v1/lists/{list_id}/accounts")).json == []
        return
    path = {"PUT": f"/api/v1/lists/{list_id}", "PATCH": "/api/v1/accounts/update_credentials"}[method]
    field = {"PUT": "title", "PATCH": "display_name"}[method]
    for form in (Form(f"{field}=caf%C3%A9".encode(), None), typed([(field, "caf\u00e9")], MULTIPART + "edge")):
        assert (await sent(ada, method, path, form)).json[field] == "caf\u00e9"


async def test_a_read_with_a_body_and_a_hidden_method(stage: Stage, ada: Person) -> None:
    ids = [(await ada.publish(f"post {number}"))["id"] for number in range(2)]
    read = await sent(ada, "GET", "/api/v1/timelines/home", Form(b'{"limit": 1}', "application/json"))
    assert [status["id"] for status in read.json] == [ids[1]]
    # A form can't name another method: what a path and a method do must be seen without reading the body.
    assert (await sent(ada, "POST", f"/api/v1/statuses/{ids[0]}", Form(b"_method=delete", URLENCODED))).status in (
        404,
        405,
    )
    assert (await ada.get(f"/api/v1/statuses/{ids[0]}")).status == 200


async def test_values_of_json_may_have_any_scalar_type(ada: Person) -> None:
    body: dict[str, Any] = {
        "status": 5,
        "sensitive": 1,
        "spoiler_text": None,
        "poll": None,
        "media_ids": [],
        "language": "",
    }
    posted = await ada.post("/api/v1/statuses", json=body)
    assert (posted.status, posted.json["sensitive"], posted.json["poll"]) == (200, True, None)
    assert (await ada.get(f"/api/v1/statuses/{posted.json['id']}/source")).json["text"] == "5"
    changed = await ada.send(
        "PATCH", "/api/v1/accounts/update_credentials", json={"locked": "true", "display_name": None}
    )
    assert (changed.status, changed.json["locked"]) == (200, True)


async def test_a_picture_may_have_no_file_name(ada: Person) -> None:
    """An app that sends the bytes of a picture from its memory names none (Ktor)."""
    head = b'--edge\r\nContent-Disposition: form-data; name="file"\r\nContent-Type: image/gif\r\n\r\n'
    gif = b"GIF89a\1\0\1\0\x80\0\0\xff\xff\xff\0\0\0,\0\0\0\0\1\0\1\0\0\2\2D\1\0;"
    form = Form(head + gif + b"\r\n--edge--\r\n", MULTIPART + "edge")
    assert (await sent(ada, "POST", "/api/v2/media", form)).status in (200, 202)


async def test_a_chosen_file_beside_empty_ones_counts(ada: Person) -> None:
    """Fields without a file do not hide those with one, and an empty file with a name is refused as one."""
    named = '--edge\r\nContent-Disposition: form-data; name="avatar"; filename="a.png"\r\n\r\n\r\n'
    form = typed([("display_name", "Ada")], MULTIPART + "edge", more=named)
    assert (await sent(ada, "PATCH", "/api/v1/accounts/update_credentials", form)).status == 422


@pytest.mark.parametrize("as_", ["json", "form"])
@pytest.mark.parametrize(
    "head", ["data:image/png;base64,", "DATA:image/svg+xml;charset=utf-8;base64,", "data:;base64,"]
)
async def test_a_picture_may_be_a_text(ada: Person, as_: str, head: str) -> None:
    """As libraries send avatars. What a picture is, its bytes say."""
    text = head + b64encode(picture(30, 30)).decode()
    path = "/api/v1/accounts/update_credentials"
    reply = await ada.send("PATCH", path, **{as_: {"avatar": text}})
    assert reply.status == 200, reply.text
    assert pyvips.Image.new_from_buffer((await fetched(ada, reply.json["avatar"])).body, "").width == 400


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("data:image/png;base64,", "Avatar can't be blank"),
        ("data:image/png;base64,PGI+", "Avatar content type is invalid, Avatar is invalid"),
        ("data:image/png;base64,AAAAA", "Avatar is invalid"),
        ("data:image/png;base64,\u00e9", "Avatar is invalid"),
        ("data:image/png,a", "Avatar is invalid"),
        (f"data:image/png{';a=b' * 11};base64,PGI+", "Avatar is invalid"),  # no more of its parameters are read
        (f"data:image/{'x' * 128};base64,PGI+", "Avatar is invalid"),
        ("iVBORw0KGgo=", "Avatar is invalid"),
    ],
)
async def test_a_text_that_is_no_picture_is_refused(ada: Person, text: str, error: str) -> None:
    reply = await ada.send("PATCH", "/api/v1/accounts/update_credentials", json={"avatar": text})
    assert (reply.status, reply.json["error"]) == (422, f"Validation failed: {error}")


@pytest.mark.parametrize("head", [DISPOSITION, f"{DISPOSITION}\nContent-Type: application/octet-stream"])
@pytest.mark.parametrize("kind", ["png", "jpg", "gif", "webp"])
async def test_a_file_is_known_by_its_beginning_if_it_has_no_name(ada: Person, head: str, kind: str) -> None:
    """Libraries send bytes in memory so (the form-data of Node, megalodon)."""
    described = parts([("description", "alt text of a picture")]).removesuffix(b"--edge--\r\n")
    lines = ["--edge", *head.format("file").split("\n"), "", ""]
    body = described + "\r\n".join(lines).encode() + picture(kind=kind) + b"\r\n--edge--\r\n"
    made = await sent(ada, "POST", "/api/v2/media", Form(body, MULTIPART + "edge"))
    assert (made.status, made.json.get("description")) == (200, "alt text of a picture"), made.text


async def test_a_film_without_a_name_is_known_by_its_beginning() -> None:
    """The first bytes of WebM have no NUL."""
    beginning = b"\x1aE\xdf\xa3\x9fB\x86\x81\x01B\xf7\x81\x01B\xf2\x81\x04"

    async def chunks() -> AsyncIterator[bytes]:
        yield b"--edge\r\n" + DISPOSITION.format("file").encode() + b"\r\n\r\n" + beginning + b"\r\n--edge--\r\n"

    [(name, file)] = await read_multipart(MULTIPART + "edge", chunks())
    assert isinstance(file, Upload)
    assert (name, file.size) == ("file", len(beginning))


async def test_names_with_brackets_count_after_those_without(ada: Person) -> None:
    both = {"title": "tea", "context[]": ["public"], "context": ["home"]}
    assert (await ada.post("/api/v2/filters", json=both)).json["context"] == ["home"]


@pytest.mark.parametrize("text", ["[tea", "{tea}", "[1, 2", "{}", '["a"', "[" * 2000])
async def test_a_text_that_is_no_list_stays_a_text(ada: Person, text: str) -> None:
    posted = await ada.post("/api/v1/statuses", {"status": text[:400]})
    assert (await ada.get(f"/api/v1/statuses/{posted.json['id']}/source")).json["text"] == text[:400]
    assert (await ada.post("/api/v2/filters", {"title": "x", "context": text})).status == 422


async def test_false_is_nothing_where_it_is_no_flag(ada: Person) -> None:
    """JavaScript's `hasPoll && poll` is false without a poll (Phanpy)."""
    fields = (
        "poll", "media_ids", "media_attributes", "language", "spoiler_text", "visibility", "in_reply_to_id",
        "quoted_status_id", "quote_approval_policy", "scheduled_at",
    )  # fmt: skip
    nothing = dict.fromkeys(fields, False)
    posted = await ada.post("/api/v1/statuses", json={"status": "hi", "sensitive": False, **nothing})
    assert posted.status == 200, posted.text
    assert (posted.json["spoiler_text"], posted.json["visibility"], posted.json["poll"]) == ("", "public", None)
    edited = await ada.send("PUT", f"/api/v1/statuses/{posted.json['id']}", json={"status": "ho", **nothing})
    assert (edited.status, edited.json["content"]) == (200, "<p>ho</p>")
    profile = dict.fromkeys(("avatar", "header", "display_name", "source", "attribution_domains"), False)
    assert (await ada.send("PATCH", "/api/v1/accounts/update_credentials", json=profile)).status == 200
    rows = [{"name": "site", "value": False}, {"name": "b", "value": "c"}]
    shown = await ada.send("PATCH", "/api/v1/accounts/update_credentials", json={"fields_attributes": rows})
    assert [(row["name"], row["value"]) for row in shown.json["source"]["fields"]] == [("site", ""), ("b", "c")]
    made = await ada.post(
        "/api/v2/filters",
        json={"title": "x", "context": ["home"], "keywords_attributes": False, "expires_in": False},
    )
    assert (made.status, made.json["expires_at"]) == (200, None)
