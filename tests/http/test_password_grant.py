"""A password for a token: only where the operator says so."""

from typing import Any

import pytest

from troupe.storage.oauth import Application

from ..clients import PASSWORD, Person, Reply, Stage

SECRET = "application secret"


async def ask(stage: Stage, application: Application, **more: str) -> Reply:
    form = {"grant_type": "password", "client_id": application.client_id, "client_secret": SECRET}
    return await stage.anybody().post(
        "/oauth/token", form | {"username": "ada@example.org", "password": PASSWORD} | more
    )


async def test_it_is_off_unless_switched_on(stage: Stage, ada: Person) -> None:
    answer = await ask(stage, await stage.application(SECRET))
    assert (answer.status, answer.json["error"]) == (400, "unsupported_grant_type")
    told = await stage.anybody().get("/.well-known/oauth-authorization-server")
    assert told.json["grant_types_supported"] == ["authorization_code", "client_credentials"]


class TestSwitchedOn:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return {"rate_limits": True, "password_grant": True}

    async def test_the_token_is_the_users(self, stage: Stage, ada: Person) -> None:
        answer = await ask(stage, await stage.application(SECRET), scope="read:accounts")
        assert answer.json["scope"] == "read:accounts"
        own = await stage.anybody(answer.json["access_token"]).get("/api/v1/accounts/verify_credentials")
        assert own.json["id"] == ada.id
        told = await stage.anybody().get("/.well-known/oauth-authorization-server")
        assert "password" in told.json["grant_types_supported"]

    @pytest.mark.parametrize(
        ("wrong", "status", "error"),
        [
            ({"password": "wrong"}, 400, "invalid_grant"),
            ({"username": "nobody@example.org"}, 400, "invalid_grant"),
            ({"username": ""}, 400, "invalid_request"),
            ({"password": ""}, 400, "invalid_request"),
            ({"scope": "admin:read"}, 400, "invalid_scope"),
            ({"client_secret": "wrong"}, 401, "invalid_client"),
        ],
    )
    async def test_what_is_wrong(
        self, stage: Stage, ada: Person, wrong: dict[str, str], status: int, error: str
    ) -> None:
        answer = await ask(stage, await stage.application(SECRET), **wrong)
        assert (answer.status, answer.json["error"]) == (status, error)

    async def test_who_may_not_sign_in_gets_none(self, stage: Stage, ada: Person) -> None:
        application = await stage.application(SECRET)
        for state in ("confirmed_at = NULL", "confirmed_at = now(), disabled_at = now()"):
            await stage.sql(f"UPDATE users SET {state}")
            assert (await ask(stage, application)).json["error"] == "invalid_grant"
