"""The seed checklist's rows on the service as a whole: paths, caching, apps, refusals, the public preview."""

import base64
import re
from datetime import timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from troupe.http.answers import cached
from troupe.http.router import all_endpoints

from ..clients import Client, Person, Stage, address, link
from .rows import rows

INSTANCE = "/api/v1/instance"
APPS = "/api/v1/apps"
APP = {"client_name": "Tusk", "redirect_uris": "urn:ietf:wg:oauth:2.0:oob", "scopes": "read write"}
LARGEST = 9223372036854775807

ENDPOINTS = [endpoint for endpoint in all_endpoints() if endpoint.path.startswith("/api/v")]


@rows("S001", "S002", "S259", "S022")
async def test_paths_are_below_their_version_under_any_name_of_the_host(stage: Stage, ada: Person) -> None:
    for path in (INSTANCE, "/api/v2/search?q=x", "/api/v1/timelines/home"):
        for host in ("localhost:3000", "elsewhere.example"):
            answer = await ada.get(path, headers={"Host": host})
            assert (answer.status, answer.headers["Content-Type"]) == (200, "application/json; charset=utf-8")
    assert {re.match("/api/v[12]/", endpoint.path) is not None for endpoint in ENDPOINTS} == {True}
    assert (await ada.get("/timelines/home")).status == 404
    assert (await stage.anybody().get(INSTANCE, headers={"Host": "elsewhere.example"})).status == 200
    assert (await ada.publish())["url"].startswith("http://localhost:3000/")


@rows("S022")
async def test_the_instance_is_there_for_all_clients(stage: Stage) -> None:
    told = (await stage.anybody().get(INSTANCE)).json
    assert re.match(r"[0-9]+\.[0-9]+\.[0-9]+ \(compatible; Troupe ", told["version"])
    assert told["uri"] == stage.http_context.settings.local_domain


@rows("S042", "S198")
async def test_an_app_is_told_the_key_for_push(stage: Stage) -> None:
    made = (await stage.anybody().post(APPS, APP)).json
    assert all(isinstance(made[name], str) and made[name] for name in ("client_id", "client_secret", "vapid_key"))
    form = {"grant_type": "client_credentials", "client_id": made["client_id"], "client_secret": made["client_secret"]}
    token = (await stage.anybody().post("/oauth/token", form)).json["access_token"]
    shown = await stage.anybody(token).get(f"{APPS}/verify_credentials")
    assert shown.json["vapid_key"] == made["vapid_key"]
    assert re.fullmatch("[A-Za-z0-9_-]+", made["vapid_key"])
    point = base64.urlsafe_b64decode(made["vapid_key"] + "=" * (-len(made["vapid_key"]) % 4))
    assert (len(point), point[0]) == (65, 4)
    assert ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point).key_size == 256
    configured = (await stage.anybody().get("/api/v2/instance")).json["configuration"]["vapid"]["public_key"]
    assert configured == made["vapid_key"]


@rows("S199")
async def test_an_app_looks_at_itself_with_its_token_alone(stage: Stage) -> None:
    shown = await stage.anybody(await stage.token(None)).get(f"{APPS}/verify_credentials")
    assert (shown.status, shown.json["name"]) == (200, "Test app")
    for client in (stage.anybody(), stage.anybody("no such token")):
        refused = await client.get(f"{APPS}/verify_credentials")
        assert (refused.status, refused.json) == (401, {"error": "The access token is invalid"})


@rows("S109")
async def test_ids_in_links_keep_all_their_digits(stage: Stage, ada: Person) -> None:
    await stage.sql(
        "INSERT INTO account_domain_blocks (id, account_id, domain, created_at) "
        "SELECT $2::bigint - n, $1, 'd' || n, now() FROM generate_series(1, 3) n", ada.account.id, LARGEST
    )  # fmt: skip
    page = await ada.get("/api/v1/domain_blocks?limit=1")
    for expected in ("d1", "d2", "d3"):
        assert page.json == [expected]
        assert f"={LARGEST - int(expected[1])}>" in page.headers["Link"]
        page = await ada.get(link(page, "next"))


@pytest.mark.parametrize("who", ["anybody", "ada", "app", "nobody"])
@rows("S112", "S252")
async def test_no_answer_is_stored_and_every_refusal_says_why(stage: Stage, ada: Person, who: str) -> None:
    clients: dict[str, Client] = {
        "anybody": stage.anybody(), "ada": ada, "app": stage.anybody(await stage.token(None)),
        "nobody": stage.anybody("no such token"),
    }  # fmt: skip
    for endpoint in ENDPOINTS:
        answer = await clients[who].send(endpoint.method, address(endpoint, "103"))
        assert "no-store" in answer.headers["Cache-Control"], endpoint.path
        assert answer.status < 500, endpoint.path
        if answer.status >= 400:
            assert isinstance(answer.json["error"], str)
            assert answer.json["error"]


@rows("S113")
async def test_what_costs_a_count_is_made_now_and_then(
    stage: Stage, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await stage.anybody().get(INSTANCE)
    await ada.publish()
    assert (await stage.anybody().get(INSTANCE)).body == before.body
    monkeypatch.setattr(cached, "FRESH", timedelta())
    now = (await stage.anybody().get(INSTANCE)).json
    assert now["stats"]["status_count"] == before.json["stats"]["status_count"] + 1


@rows("S192")
async def test_public_timelines_are_open_while_there_is_a_preview(stage: Stage, ada: Person) -> None:
    status = await ada.publish("#cat")
    for path in ("public", "tag/cat"):
        shown = await stage.anybody().get(f"/api/v1/timelines/{path}")
        assert [one["id"] for one in shown.json] == [status["id"]]


class TestWithoutPreview:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return {"rate_limits": False, "public_preview": False}

    @rows("S191", "S231")
    async def test_public_timelines_are_for_users(self, stage: Stage, ada: Person) -> None:
        for path in ("public", "tag/cat"):
            refused = await stage.anybody().get(f"/api/v1/timelines/{path}")
            assert (refused.status, refused.json) == (401, {"error": "This method requires an authenticated user"})
            assert (await ada.get(f"/api/v1/timelines/{path}")).status == 200
        assert (await stage.anybody().get(INSTANCE)).status == 200
