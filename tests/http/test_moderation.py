"""Acts of staff on accounts, as the account, other users and visitors notice them."""

import pytest

from troupe.actors.broadcast.broadcast import account_address
from troupe.actors.broadcast.events import StatusAppeared
from troupe.actors.commands.media import FinishMedia
from troupe.actors.commands.moderation import Action
from troupe.actors.commands.statuses import PublishStatus
from troupe.actors.facts.statuses import StatusPublished
from troupe.actors.kernel import Address, Refused
from troupe.actors.shown.statuses import entry_of
from troupe.storage import media
from troupe.storage.media import ProcessedMedia
from troupe.storage.moderation import State

from ..clients import HOME, Stage, ids
from .moderating import act, moderate, moderator, placed, undo
from .signing_in import SECRET, asked, code_in, consent, exchange
from .stored import change_unnoticed, rows
from .uploading import attach, fetched, part, picture, store_file, uploaded

DISABLED = (403, {"error": "Your login is currently disabled"})


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


async def test_files_of_a_suspended_account_are_not_served(stage: Stage) -> None:
    mod, ada = await moderator(stage), await stage.person("ada")
    profile = {"avatar": part(picture(400, 400)), "header": part(picture(1500, 500))}
    answer = await ada.send("PATCH", "/api/v1/accounts/update_credentials", files=profile)
    image, draft = await uploaded(ada), await uploaded(ada)
    await attach(ada, image)
    urls = [answer.json["avatar"], answer.json["header"], image["url"], image["preview_url"], draft["url"]]
    assert [(await fetched(mod, url)).status for url in urls] == [200] * 5
    assert await moderate(mod, ada, "suspend") == 200
    await placed(stage)
    assert [(await fetched(mod, url)).status for url in urls] == [404] * 5
    await undo(stage, ada.account, "suspend")
    await placed(stage)
    assert [(await fetched(mod, url)).status for url in urls] == [200] * 5


async def test_an_upload_that_ends_after_the_suspension_is_not_served(stage: Stage) -> None:
    """The queue of uploads finishes what was accepted before."""
    mod, ada = await moderator(stage), await stage.person("ada")
    id, node, name = stage.http_context.ids.next(), stage.http_context.media.folder.node, f"{'4f' * 16}.mp4"
    now, insert = stage.http_context.clock.now(), media.insert_waiting
    await stage.http_context.database.transact(
        lambda db: insert(db, id, ada.account.id, "video", node, None, "", None, now)
    )
    assert await moderate(mod, ada, "suspend") == 200
    await placed(stage)
    store_file(stage, name, b"film")
    made = ProcessedMedia("video", name, "video/mp4", 4, None, None, {})
    await stage.http_context.runtime.ask(account_address(ada.account.id), FinishMedia(id, made))
    await placed(stage)
    assert (await mod.get(f"/media/{name}")).status == 404
    await undo(stage, ada.account, "suspend")
    await placed(stage)
    assert (await mod.get(f"/media/{name}")).status == 200


@pytest.mark.parametrize("state", ["disable", "suspend"])
async def test_a_command_that_comes_after_the_act_is_refused(stage: Stage, state: State) -> None:
    """Its request was admitted before."""
    mod, ada = await moderator(stage), await stage.person("ada")
    await ada.get("/api/v1/accounts/verify_credentials")
    assert await moderate(mod, ada, state) == 200
    with pytest.raises(Refused) as refusal:
        await stage.http_context.runtime.ask(account_address(ada.account.id), PublishStatus("too late"))
    assert (refusal.value.status, {"error": refusal.value.text}) == DISABLED
    assert await stage.rows("SELECT id FROM statuses") == []
    await undo(stage, ada.account, state)
    await ada.publish("again")


async def test_media_of_a_sensitive_account_are_sensitive_everywhere(stage: Stage) -> None:
    mod, ada, bob = await moderator(stage), await stage.person("ada"), await stage.person("bob")
    await bob.post(f"/api/v1/accounts/{ada.id}/follow")
    status, words = await attach(ada, await uploaded(ada)), await ada.publish("only words")
    path = f"/api/v1/statuses/{status['id']}"
    await bob.post(f"{path}/reblog")

    async def marked() -> list[bool]:
        home = {one["id"]: one for one in (await bob.get(HOME)).json}
        (shared,) = (await bob.get(f"/api/v1/accounts/{bob.id}/statuses")).json
        feed = "media:content" not in (await bob.get("/@ada.rss")).text
        return [
            (await bob.get(path)).json["sensitive"], home[status["id"]]["sensitive"], home[words["id"]]["sensitive"],
            shared["reblog"]["sensitive"], (await bob.get(f"{path}/history")).json[0]["sensitive"], feed,
        ]  # fmt: skip

    assert await marked() == [False, False, False, False, False, False]
    assert await moderate(mod, ada, "sensitive") == 200
    assert await marked() == [True, True, False, True, True, True]
    await undo(stage, ada.account, "sensitive")
    assert await marked() == [False, False, False, False, False, False]


async def test_a_suspended_profile_is_blank_where_others_are_shown_with_it(stage: Stage) -> None:
    """In the relations of accounts that may undo them, and wherever its id is asked for among others."""
    mod, ada, bob = await moderator(stage), await stage.person("ada"), await stage.person("bob")
    texts = {"display_name": "Secret", "note": "secret", "avatar_description": "me"}
    await ada.send("PATCH", "/api/v1/accounts/update_credentials", form=texts)
    assert await moderate(mod, ada, "suspend") == 200
    (shown,) = (await bob.get(f"/api/v1/accounts?id[]={ada.id}")).json
    assert shown == shown | {
        "suspended": True, "display_name": "", "note": "", "fields": [], "avatar_description": "",
        "avatar": "http://localhost:3000/avatars/original/missing.png",
    }  # fmt: skip


@pytest.mark.parametrize("state", ["disable", "suspend"])
async def test_a_code_that_no_app_has_redeemed_ends(stage: Stage, state: str) -> None:
    mod, ada = await moderator(stage), await stage.person("ada")
    application = await stage.application(SECRET)
    code = code_in(await consent(stage.anybody(), asked(application)))
    assert await moderate(mod, ada, state) == 200
    await mod.post(f"/api/v1/admin/accounts/{ada.id}/{'enable' if state == 'disable' else 'unsuspend'}")
    assert (await ada.get("/api/v1/accounts/verify_credentials")).status == 200
    refused = await exchange(stage, application, code)
    assert (refused.status, refused.json["error"]) == (400, "invalid_grant")


async def test_a_silenced_user_keeps_a_code(stage: Stage) -> None:
    mod, ada = await moderator(stage), await stage.person("ada")
    application = await stage.application(SECRET)
    code = code_in(await consent(stage.anybody(), asked(application)))
    assert await moderate(mod, ada, "silence") == 200
    assert (await exchange(stage, application, code)).status == 200


@pytest.mark.parametrize("type", ["none", "disable", "sensitive", "silence", "suspend"])
async def test_nobody_acts_on_an_equal_or_higher_role(stage: Stage, type: str) -> None:
    mod = await moderator(stage)
    targets = [await moderator(stage, name, role) for name, role in (("second", "moderator"), ("admin", "admin"))]
    before = await rows(stage)
    for target in (*targets, mod):
        assert await moderate(mod, target, type) == 403
        assert (await target.get("/api/v1/accounts/verify_credentials")).status == 200
    assert await rows(stage) == before
    assert await moderate(targets[1], mod, type) == 200


@pytest.mark.parametrize("role", ["user", "moderator"])
async def test_the_rank_is_the_one_of_now(stage: Stage, role: str) -> None:
    """An admin who was demoted: the token that the server remembers still has the old role."""
    admin, mod = await moderator(stage, "admin", "admin"), await moderator(stage)
    assert await moderate(admin, mod, "none") == 200
    await change_unnoticed(stage, "UPDATE users SET role = $2 WHERE account_id = $1", admin.account.id, role)
    assert await moderate(admin, mod, "suspend") == 403
    assert (await mod.get("/api/v1/accounts/verify_credentials")).status == 200


async def test_a_demoted_moderator_acts_on_nobody(stage: Stage) -> None:
    mod, ada = await moderator(stage), await stage.person("ada")
    published = await ada.publish("hello")
    assert await moderate(mod, ada, "none") == 200
    await change_unnoticed(stage, "UPDATE users SET role = 'user' WHERE account_id = $1", mod.account.id)
    for type in ("none", "silence", "suspend"):
        assert await moderate(mod, ada, type) == 403
    assert await moderate(mod, ada, "delete_statuses", **{"status_ids[]": published["id"]}) == 403
    assert (await ada.get(f"/api/v1/statuses/{published['id']}")).status == 200


async def test_a_promoted_account_is_out_of_reach(stage: Stage) -> None:
    mod, ada = await moderator(stage), await stage.person("ada")
    assert await moderate(mod, ada, "none") == 200
    await change_unnoticed(stage, "UPDATE users SET role = 'admin' WHERE account_id = $1", ada.account.id)
    assert await moderate(mod, ada, "suspend") == 403


@pytest.mark.parametrize(("action", "shown_at_home"), [("silence", True), ("suspend", False)])
async def test_a_post_that_was_on_its_way_to_timelines_is_held_back(
    stage: Stage, action: Action, shown_at_home: bool
) -> None:
    """It was told to the timelines before the act, and they come to it afterwards, when they have read their rows."""
    ada, bob = await stage.person("ada"), await stage.person("bob")
    await bob.post(f"/api/v1/accounts/{ada.id}/follow")
    context, told = stage.http_context, int((await ada.publish("#tea"))["id"])
    shown = await context.statuses.show(told)
    assert shown is not None
    late = StatusPublished(entry_of(shown), StatusAppeared(shown))
    await act(stage, ada.account, action)
    paths = {"public/all": "/api/v1/timelines/public", "tag/tea": "/api/v1/timelines/tag/tea", f"home/{bob.id}": HOME}
    for path in paths.values():
        await bob.get(path)
    for name, path in paths.items():
        kind, _, key = name.partition("/")
        context.runtime.tell(Address(kind, key), late)
        await bob.get(path)
        window = context.runtime.inspection.actor(Address(kind, key))
        assert window is not None
        assert window.holds.startswith(f"window {int(kind == 'home' and shown_at_home)},"), name
