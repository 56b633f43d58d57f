"""Who may read documents: signatures that are demanded, wrong, late or of suspended domains."""

from typing import Any

import pytest

from troupe.http.router import all_endpoints

from ...clients import BASE, Person, Stage, address
from ..serving import say
from ..uploading import uploaded
from .peers import DOCUMENT, Peer, ask, peer

OPEN_PATHS = ("/actor", "/actor/outbox", "/.well-known/nodeinfo", "/.well-known/host-meta", "/nodeinfo/2.0",
              "/.well-known/webfinger?resource=acct:ada@localhost:3000")  # fmt: skip
SUSPEND = """
    INSERT INTO blocked_domains (id, domain, severity, reject_media, reject_reports, obfuscate, created_at)
    VALUES (1, 'peer.example', 'suspend', true, true, false, now())
"""


@pytest.fixture
async def una(stage: Stage) -> Peer:
    return await peer(stage)


async def suspend(stage: Stage) -> None:
    await stage.sql(SUSPEND)
    await stage.http_context.blocks.reload()


async def test_a_wrong_signature_counts_as_none(stage: Stage, ada: Person, una: Peer) -> None:
    await una.follow(ada)
    status = await ada.write("psst", visibility="private")
    path = status["uri"].removeprefix(BASE)
    assert (await una.get(path)).status == 200
    signature = una.signed("/users/ada")["Signature"]  # of another path
    assert (await una.get(path, Signature=signature)).status == 404
    assert (await una.get(path, Date="Mon, 01 Jan 2024 00:00:00 GMT")).status == 404
    assert (await una.get("/users/ada", Signature="nonsense")).status == 200
    assert (await una.get("/users/ada", Signature=signature.replace("una", "zed"))).status == 200


async def test_a_signature_is_of_this_host_and_this_path(stage: Stage, ada: Person, una: Peer, port: int) -> None:
    """Over a socket, where the name of the server comes as the client has sent it."""
    await una.follow(ada)
    status = await ada.write("psst", visibility="private")
    path = status["uri"].removeprefix(BASE)
    for host, expected in (("localhost:3000", b"200"), ("other.example", b"404")):
        headers = una.signed(path) | {"Host": host, "Accept": DOCUMENT, "Connection": "close"}
        lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        assert (await say(port, "\r\n".join(lines).encode())).split()[1] == expected, host


async def test_another_actor_of_the_domain_does_not_read_for_a_follower(stage: Stage, ada: Person, una: Peer) -> None:
    await una.follow(ada)
    status = await ada.write("psst", visibility="private")
    server = await peer(stage, "server", known=False)
    assert (await server.get(status["uri"].removeprefix(BASE))).status == 404


async def test_a_requested_follow_opens_nothing(stage: Stage, ada: Person, una: Peer) -> None:
    await stage.sql(
        "INSERT INTO follow_requests (id, account_id, target_account_id, created_at) VALUES (1, $1, $2, now())",
        una.account.id, ada.account.id,
    )  # fmt: skip
    status = await ada.write("psst", visibility="private")
    assert (await una.get(status["uri"].removeprefix(BASE))).status == 404


async def test_an_end_of_a_follow_is_noticed_at_once(stage: Stage, ada: Person, una: Peer) -> None:
    await una.follow(ada)
    status = await ada.write("psst", visibility="private")
    assert (await una.get(status["uri"].removeprefix(BASE))).status == 200
    assert (await ada.post(f"/api/v1/accounts/{una.account.id}/remove_from_followers")).status == 200
    assert (await una.get(status["uri"].removeprefix(BASE))).status == 404


@pytest.mark.parametrize("path", ["/users/ada", "/users/ada/outbox", "/@ada", "/users/nobody"])
async def test_actors_of_a_suspended_domain_get_nothing(stage: Stage, ada: Person, una: Peer, path: str) -> None:
    await suspend(stage)
    assert (await una.get(path)).status == 403


async def test_a_suspended_actor_gets_nothing(stage: Stage, ada: Person, una: Peer) -> None:
    await stage.sql("UPDATE accounts SET suspended_at = now() WHERE id = $1", una.account.id)
    assert (await una.get("/users/ada")).status == 403


async def test_no_cache_keeps_what_a_signed_request_was_answered(stage: Stage, ada: Person, una: Peer) -> None:
    """What an actor gets is for this actor alone, also an outbox that is empty because the actor is blocked."""
    status, gone = await ada.write("hello"), await ada.write("goodbye")
    await ada.post(f"/api/v1/statuses/{status['id']}/pin")
    await ada.delete(f"/api/v1/statuses/{gone['id']}")
    await una.be_blocked_by(ada)
    found = [one for one in all_endpoints() if one.documents != "none" and one.path.startswith(("/users", "/@"))]
    assert len(found) > 10
    answered = 0
    for endpoint in found:
        path = endpoint.path.replace("<name>", "ada")
        alive, deleted = path.replace("<id>", status["id"]), path.replace("<id>", gone["id"])
        for asked in (alive, f"{alive}?page=true", deleted):
            for signed in (await una.get(asked), await una.get(asked, Signature="nonsense")):
                assert signed.headers["Cache-Control"] == "private, no-store", asked
                answered += signed.status in (200, 410)
            unsigned = await ask(stage, asked)
            if unsigned.status in (200, 410):
                assert unsigned.headers["Cache-Control"] == "public, max-age=60", asked
                assert unsigned.headers["Vary"] == "Accept, Signature", asked
    assert answered > 30


class TestAuthorizedFetch:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return {"rate_limits": False, "authorized_fetch": True}

    async def test_documents_need_a_signature(self, stage: Stage, ada: Person, una: Peer) -> None:
        status = await ada.write("hello")
        paths = ("/users/ada", "/@ada", f"/users/ada/statuses/{status['id']}", f"/@ada/{status['id']}",
                 "/users/ada/outbox", "/users/ada/outbox?page=true", "/users/ada/followers",
                 "/users/ada/collections/featured", f"/users/ada/statuses/{status['id']}/replies")  # fmt: skip
        for path in paths:
            assert (await ask(stage, path)).status == 401, path
            reply = await una.get(path)
            assert reply.status == 200, path
            assert reply.headers["Cache-Control"] == "private, no-store"
            assert reply.headers["Vary"] == "Accept, Signature"

    async def test_a_signature_that_can_not_be_right_is_refused(self, stage: Stage, ada: Person, una: Peer) -> None:
        assert (await una.get("/users/ada", Signature=una.signed("/users/bob")["Signature"])).status == 401

    async def test_a_key_of_this_server_opens_nothing(self, stage: Stage, ada: Person) -> None:
        """Its documents are not fetched from itself, to wait for its own answer."""
        for uri in (f"{BASE}/actor", f"{BASE}/users/ada"):
            assert (await Peer(stage, uri, None).get("/users/ada")).status == 401

    async def test_nobody_learns_who_is_here(self, stage: Stage) -> None:
        assert (await ask(stage, "/users/nobody")).status == 401

    async def test_every_document_of_an_account_is_closed(self, stage: Stage, ada: Person) -> None:
        closed = [one for one in all_endpoints() if one.documents != "none" and one.path.startswith(("/users", "/@"))]
        assert len(closed) > 10
        for endpoint in closed:
            reply = await ask(stage, address(endpoint, "1"))
            assert reply.status == 401, endpoint.path

    async def test_what_two_strict_servers_need_of_each_other_stays_open(self, stage: Stage, ada: Person) -> None:
        for path in OPEN_PATHS:
            assert (await ask(stage, path)).status == 200, path

    async def test_pages_stay_open(self, stage: Stage, ada: Person) -> None:
        assert (await stage.anybody().get("/@ada", headers={"Accept": "text/html"})).status == 200


class TestLimitedFederation:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return {"rate_limits": False, "limited_federation": True}

    async def test_allowed_servers_alone_read_documents(self, stage: Stage, ada: Person, una: Peer) -> None:
        assert (await ask(stage, "/users/ada")).status == 401
        assert (await una.get("/users/ada")).status == 403
        await stage.sql("INSERT INTO allowed_domains (id, domain, created_at) VALUES (1, 'peer.example', now())")
        await stage.http_context.blocks.reload()
        assert (await una.get("/users/ada")).status == 200
        assert (await una.get("/@ada")).status == 200

    async def test_pages_stay_closed_whoever_signs(self, stage: Stage, ada: Person, una: Peer) -> None:
        await stage.sql("INSERT INTO allowed_domains (id, domain, created_at) VALUES (1, 'peer.example', now())")
        await stage.http_context.blocks.reload()
        for path in ("/@ada", "/users/ada", "/@ada/with_replies", "/web/@ada", "/deck/@ada/1", "/statuses/1"):
            assert (await una.get(path, Accept="text/html")).status == 401, path
        assert (await una.get("/@ada/with_replies")).status == 401


async def test_uploads_are_never_documents(stage: Stage, ada: Person) -> None:
    medium = await uploaded(ada)
    reply = await stage.anybody().get(medium["url"].removeprefix(BASE), headers={"Accept": DOCUMENT})
    assert reply.headers["Content-Type"] == "image/png"
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
