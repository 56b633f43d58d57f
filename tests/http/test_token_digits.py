"""The end of an access token names the shard of its account, for proxies. Nothing in the server reads it."""

import re
from typing import Any

import pytest

from troupe.storage.engine.shards import SHARDS, shard_of
from troupe.storage.oauth import Application
from troupe.storage.secrets import access_token

from ..clients import PASSWORD, Client, Person, Stage
from .registering import ACCOUNTS, OPEN, app_client, form
from .settling import signed_in
from .signing_in import CALLBACK, SECRET, asked, code_in, consent, exchange

ME = "/api/v1/accounts/verify_credentials"


@pytest.fixture
def options() -> dict[str, Any]:
    return OPEN | {"password_grant": True}


@pytest.fixture
async def application(stage: Stage) -> Application:
    return await stage.application(SECRET, redirect_uris=(CALLBACK,))


async def granted(stage: Stage, application: Application, **form: str) -> str:
    client = {"client_id": application.client_id, "client_secret": SECRET}
    return (await stage.anybody().post("/oauth/token", form | client)).json["access_token"]


def digits(account_id: str | int) -> str:
    return f"{shard_of(account_id):02x}"


def test_every_shard_has_two_digits() -> None:
    ends = {access_token("secret", account_id)[-2:] for account_id in range(10 * SHARDS)}
    assert ends == {f"{shard:02x}" for shard in range(SHARDS)}
    assert access_token("secret", 7).removesuffix(digits(7)) == "secret", "the secret loses nothing"


async def test_the_token_of_a_code(stage: Stage, ada: Person, application: Application) -> None:
    answer = await exchange(stage, application, code_in(await consent(stage.anybody(), asked(application))))
    assert answer.json["access_token"].endswith(digits(ada.id))


async def test_the_token_of_a_password(stage: Stage, ada: Person, application: Application) -> None:
    token = await granted(stage, application, grant_type="password", username="ada", password=PASSWORD)
    assert token.endswith(digits(ada.id))


async def test_the_token_of_a_sign_up(stage: Stage) -> None:
    app = await app_client(stage)
    token = (await app.post(ACCOUNTS, form("eve", email="eve@example.org"))).json["access_token"]
    ((id,),) = await stage.rows("SELECT account_id FROM users WHERE email = 'eve@example.org'")
    assert token.endswith(digits(id))
    assert (await Client(stage, token).get("/api/v1/apps/verify_credentials")).status == 200


async def test_the_token_of_an_own_program(stage: Stage, ada: Person) -> None:
    page = await (await signed_in(stage)).send("/settings/applications/new", name="Weather", **{"scopes[0]": "read"})
    assert re.findall(r'id="token">([^<]+)</code>', page.text)[0].endswith(digits(ada.id))


async def test_the_token_of_an_application_goes_to_any_node(stage: Stage, application: Application) -> None:
    token = await granted(stage, application, grant_type="client_credentials")
    assert not re.search("[0-9a-f]{2}$", token)
    assert (await Client(stage, token).get("/api/v1/apps/verify_credentials")).status == 200


async def test_a_token_without_digits_is_as_good(stage: Stage, ada: Person) -> None:
    """Those of earlier versions have none: here it ends in others than those of its account."""
    earlier = await stage.token(ada.account)
    assert (await Client(stage, earlier).get(ME)).json["id"] == ada.id


async def test_a_token_with_other_digits_is_unknown(stage: Stage, ada: Person, application: Application) -> None:
    answer = await exchange(stage, application, code_in(await consent(stage.anybody(), asked(application))))
    token = answer.json["access_token"]
    other = f"{(shard_of(ada.id) + 1) % SHARDS:02x}"
    for wrong in (token[:-2] + other, token[:-2], token[:-2] + digits(ada.id).upper() + "x", token + digits(ada.id)):
        assert (await Client(stage, wrong).get(ME)).status == 401
    assert (await Client(stage, token).get(ME)).status == 200
