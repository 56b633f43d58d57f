"""Acts of staff on accounts, as the account, other users and visitors notice them."""

from ..clients import HOME, SCOPES, Person, Stage, ids

STAFF = (*SCOPES, "admin:read", "admin:write")


async def moderator(stage: Stage, name: str = "mod", role: str = "moderator") -> Person:
    return await stage.person(name, STAFF, role=role)


async def moderate(staff: Person, target: Person, type: str, **more: object) -> int:
    reply = await staff.post(f"/api/v1/admin/accounts/{target.id}/action", {"type": type, **more})
    return reply.status


async def test_a_suspended_account_is_gone(stage: Stage) -> None:
    mod, ada, bob = await moderator(stage), await stage.person("ada"), await stage.person("bob")
    await bob.post(f"/api/v1/accounts/{ada.id}/follow")
    published = await ada.publish("hello")
    assert ids(await bob.get(HOME)) == [published["id"]]
    assert ids(await stage.anybody().get("/api/v1/timelines/public")) == [published["id"]]
    assert await moderate(mod, ada, "suspend") == 200
    assert (await bob.get(f"/api/v1/accounts/{ada.id}")).status == 410
    assert (await bob.get(f"/api/v1/statuses/{published['id']}")).status == 404
    assert ids(await bob.get(HOME)) == []
    assert ids(await stage.anybody().get("/api/v1/timelines/public")) == []
    refused = await ada.get("/api/v1/accounts/verify_credentials")
    assert (refused.status, refused.json) == (403, {"error": "Your login is currently disabled"})


async def test_a_silenced_account_is_not_in_public(stage: Stage) -> None:
    mod, ada, bob = await moderator(stage), await stage.person("ada"), await stage.person("bob")
    await bob.post(f"/api/v1/accounts/{ada.id}/follow")
    published = await ada.publish("hello #world")
    for path in ("/api/v1/timelines/public", "/api/v1/timelines/tag/world"):
        assert ids(await stage.anybody().get(path)) == [published["id"]]
    assert await moderate(mod, ada, "silence") == 200
    for path in ("/api/v1/timelines/public", "/api/v1/timelines/tag/world"):
        assert ids(await stage.anybody().get(path)) == []
    assert ids(await bob.get(HOME)) == [published["id"]]
