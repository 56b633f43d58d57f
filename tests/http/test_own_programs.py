"""The page on which a user makes a token for a program of their own."""

import re

import pytest

from ..clients import Client, Person, Reply, Stage
from .settling import Browser, is_signed_out, problems, signed_in

PAGE = "/settings/applications/new"
ME = "/api/v1/accounts/verify_credentials"


def shown(page: Reply, what: str) -> str:
    return re.findall(rf'id="{what}">([^<]+)</code>', page.text)[0]


async def made(stage: Stage, *scopes: str, name: str = "Weather") -> Reply:
    browser = await signed_in(stage)
    return await browser.send(PAGE, **{"name": name} | {f"scopes[{n}]": scope for n, scope in enumerate(scopes)})


async def test_a_program_uses_the_account_with_its_token(stage: Stage, ada: Person) -> None:
    page = await made(stage, "write", "read")
    program = Client(stage, shown(page, "token"))
    status = await program.done("POST", "/api/v1/statuses", {"status": "It rains"})
    assert (status["account"]["id"], status["application"]) == (ada.id, {"name": "Weather", "website": None})
    assert (await program.get("/api/v1/push/subscription")).status == 403
    application = await program.done("GET", "/api/v1/apps/verify_credentials")
    assert (application["name"], application["scopes"]) == ("Weather", ["read", "write"])


async def test_the_key_and_the_secret_are_a_client_of_oauth(stage: Stage, ada: Person) -> None:
    page = await made(stage, "read")
    form = {"client_id": shown(page, "client-key"), "client_secret": shown(page, "client-secret")}
    answer = await stage.anybody().post("/oauth/token", form | {"grant_type": "client_credentials"})
    assert (answer.status, answer.json["scope"]) == (200, "read")
    revoked = await stage.anybody().post("/oauth/revoke", form | {"token": shown(page, "token")})
    assert revoked.status == 200
    assert (await Client(stage, shown(page, "token")).get(ME)).status == 401


async def test_it_is_one_of_the_apps_and_signed_out_like_them(stage: Stage, ada: Person) -> None:
    token = shown(await made(stage, "read", name="<Weather>"), "token")
    browser = await signed_in(stage)
    page = await browser.get("/settings/applications")
    assert "<h2>&lt;Weather&gt;</h2>" in page.text
    assert token not in page.text
    await browser.send(
        "/settings/applications", application_id=re.findall(r'application_id" value="(\d+)"', page.text)[0]
    )
    assert (await Client(stage, token).get(ME)).status == 401


@pytest.mark.parametrize(
    ("name", "scopes", "complaint"),
    [
        (" ", ["read"], {"name": "The name can't be blank."}),
        ("x" * 61, ["read"], {"name": "The name is too long (maximum is 60 characters)."}),
        ("Weather", [], {"scopes": "Please choose what the program may do."}),
        ("Weather", ["read", "admin:read"], {"scopes": "Please choose what the program may do."}),
    ],
)
async def test_what_is_wrong_makes_no_token(
    stage: Stage, ada: Person, name: str, scopes: list[str], complaint: dict[str, str]
) -> None:
    before = await stage.rows("SELECT count(*) FROM applications")
    page = await made(stage, *scopes, name=name)
    assert (page.status, problems(page)) == (422, complaint)
    assert await stage.rows("SELECT count(*) FROM applications") == before


async def test_a_form_of_another_site_makes_no_token(stage: Stage, ada: Person) -> None:
    form = {"name": "Weather", "scopes[]": "read"}
    assert is_signed_out(await Browser(stage).post(PAGE, form))
    assert (await (await signed_in(stage)).post(PAGE, form)).status == 403
