"""Applications register themselves."""

from collections.abc import Callable
from typing import Any

import pytest

from ..clients import Stage

OOB = "urn:ietf:wg:oauth:2.0:oob"
APPS = "/api/v1/apps"


async def test_the_website_of_an_application_is_shown_in_ascii(stage: Stage) -> None:
    form = {"client_name": "Tusk", "redirect_uris": OOB, "website": "https://tusk.example/\u00fc"}
    assert (await stage.anybody().post(APPS, form)).json["website"] == "https://tusk.example/%C3%BC"


async def test_a_new_application_has_what_clients_need(stage: Stage) -> None:
    form = {"client_name": "Tusk", "redirect_uris": OOB, "scopes": "read write", "website": "https://tusk.example"}
    app = (await stage.anybody().post(APPS, form)).json
    assert app["id"].isdigit()
    assert app["vapid_key"] == stage.http_context.push_key.public
    assert len(app["client_id"]) > 20
    assert len(app["client_secret"]) > 20
    expected = {"name": "Tusk", "website": "https://tusk.example", "scopes": ["read", "write"], "redirect_uri": OOB}
    assert expected.items() <= app.items()
    assert app["redirect_uris"] == [OOB]


@pytest.mark.parametrize(
    "redirects", [f"{OOB}\nmyapp://cb", f"{OOB} myapp://cb", [OOB, "myapp://cb"], {"0": OOB, "1": "myapp://cb"}]
)
async def test_redirects_in_any_shape(stage: Stage, redirects: object) -> None:
    app = (await stage.anybody().send("POST", APPS, json={"client_name": "x", "redirect_uris": redirects})).json
    assert app["redirect_uris"] == [OOB, "myapp://cb"]
    assert app["scopes"] == ["read"]


@pytest.mark.parametrize("uri", ["http://localhost/cb", "http://127.0.0.1:80/", "com.example.app:/cb", "a+b-c.d://x"])
async def test_custom_schemes_and_plain_http_are_fine(stage: Stage, uri: str) -> None:
    assert (await stage.anybody().post(APPS, {"client_name": "x", "redirect_uris": uri})).status == 200


@pytest.mark.parametrize(
    "scheme",
    [
        "about", "blob", "data", "file", "filesystem", "javascript", "vbscript", "view-source",
    ],
)  # fmt: skip
@pytest.mark.parametrize("spelled", [str.lower, str.upper, str.title, "view-source:{}".format])
async def test_an_address_that_a_browser_would_open_itself_is_refused(
    stage: Stage, scheme: str, spelled: Callable[[str], str]
) -> None:
    answer = await stage.anybody().post(APPS, {"client_name": "x", "redirect_uris": f"{spelled(scheme)}:x"})
    assert (answer.status, answer.json["error"]) == (422, "Validation failed: Redirect URI must be a valid URI.")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"redirect_uris": "/cb"}, "Redirect URI must be an absolute URI."),
        ({"redirect_uris": "https:///cb"}, "Redirect URI must be an absolute URI."),
        ({"redirect_uris": "https://[::1/cb"}, "Redirect URI must be a valid URI."),
        ({"redirect_uris": "https://größe.example/cb"}, "Redirect URI must be a valid URI."),
        ({"redirect_uris": 'https://app.example/"cb'}, "Redirect URI must be a valid URI."),
        ({"redirect_uris": "javascript:alert(1)"}, "Redirect URI must be a valid URI."),
        ({"redirect_uris": "data:text/html,x"}, "Redirect URI must be a valid URI."),
        ({"redirect_uris": "https://app.example/#x"}, "Redirect URI cannot contain a fragment."),
        (
            {"redirect_uris": "https://app.example/" + "x" * 2000},
            "Redirect URI is too long (maximum is 2000 characters)",
        ),
        ({"scopes": "read everything"}, "Scopes doesn't match configured on the server."),
        ({"website": "tusk.example"}, "Website is not a valid URL"),
        ({"website": "javascript:alert(1)"}, "Website is not a valid URL"),
        ({"website": "https://tusk example.org/"}, "Website is not a valid URL"),
        ({"client_name": "x" * 61}, "Name is too long (maximum is 60 characters)"),
    ],
)
async def test_what_can_be_no_application(stage: Stage, change: dict[str, Any], text: str) -> None:
    answer = await stage.anybody().post(APPS, {"client_name": "x", "redirect_uris": OOB} | change)
    assert answer.status == 422
    assert text in answer.json["error"]
    assert answer.json["error"].startswith("Validation failed: ")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("client_name", "Validation failed: Name can't be blank"),
        ("redirect_uris", "Validation failed: Redirect URI can't be blank"),
    ],
)
async def test_a_missing_parameter_is_named(stage: Stage, name: str, text: str) -> None:
    form = {"client_name": "x", "redirect_uris": OOB}
    for given in ({key: value for key, value in form.items() if key != name}, form | {name: " "}):
        answer = await stage.anybody().post(APPS, given)
        assert (answer.status, answer.json) == (422, {"error": text})


async def test_an_application_looks_at_itself_with_any_of_its_tokens(stage: Stage) -> None:
    ada = await stage.person("ada", scopes=("push",))
    for client in (stage.anybody(await stage.token(None)), ada):
        app = (await client.get(f"{APPS}/verify_credentials")).json
        assert app["name"] == "Test app"
        assert app["vapid_key"] == stage.http_context.push_key.public
        assert "client_secret" not in app
    assert (await stage.anybody().get(f"{APPS}/verify_credentials")).status == 401


@pytest.mark.parametrize(
    "given",
    [
        {"scopes": "read write:media"},
        {"scopes": "read+write:media"},
        {"scopes": ["read", "write:media"]},
        {"scope": "read write:media"},  # mastodon/mastodon#8210
        {"scopes": "", "scope": ["read", "write:media"]},
    ],
)
async def test_scopes_are_read_however_a_library_names_them(stage: Stage, given: dict[str, Any]) -> None:
    form = {"client_name": "App", "redirect_uris": "app://cb"} | given
    made = await stage.anybody().post("/api/v1/apps", json=form)
    assert (made.status, made.json["scopes"]) == (200, ["read", "write:media"])
