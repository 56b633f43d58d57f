"""Custom emoji in every text that accounts of this server write."""

from typing import Any

from ..clients import BASE, Person, Stage
from ..emojis import add_emoji, reload_emojis

LISTED = "/api/v1/custom_emojis"


def names(shown: Any) -> list[str]:
    return [one["shortcode"] for one in shown["emojis"]]


async def test_an_emoji_has_two_pictures(stage: Stage) -> None:
    emoji = await add_emoji(stage, "cat")
    assert (await stage.anybody().get(LISTED)).json == [
        {
            "shortcode": "cat", "url": f"{BASE}/media/{emoji.file}", "static_url": f"{BASE}/media/{emoji.static_file}",
            "visible_in_picker": True,
        }
    ]  # fmt: skip


async def test_emoji_of_a_status_are_those_of_all_its_texts_each_once(stage: Stage, ada: Person) -> None:
    for name in ("cat", "dog", "owl", "unused"):
        await add_emoji(stage, name)
    poll = {"options": [":owl:", "none"], "expires_in": 300}
    form = {"status": ":dog: :dog: :missing:", "spoiler_text": "a :cat:", "poll": poll}
    status = (await ada.send("POST", "/api/v1/statuses", json=form)).json
    assert names(status) == ["cat", "dog", "owl"]
    assert names(status["poll"]) == ["owl"]
    poll_path = f"/api/v1/polls/{status['poll']['id']}"
    for client in (ada, stage.anybody()):
        assert names((await client.get(poll_path)).json) == ["owl"]
    boost = (await ada.post(f"/api/v1/statuses/{status['id']}/reblog")).json
    assert names(boost["reblog"]) == ["cat", "dog", "owl"]
    deleted = (await ada.delete(f"/api/v1/statuses/{status['id']}")).json
    assert names(deleted) == ["cat", "dog", "owl"]


async def test_each_state_of_an_edited_status_has_its_own(stage: Stage, ada: Person) -> None:
    await add_emoji(stage, "cat")
    status = await ada.publish("a :cat: & more")
    path = f"/api/v1/statuses/{status['id']}"
    assert [names(one) for one in (await ada.get(f"{path}/history")).json] == [["cat"]]
    assert names((await ada.put(path, {"status": "no cat"})).json) == []
    assert [names(one) for one in (await ada.get(f"{path}/history")).json] == [["cat"], []]


async def test_emoji_of_a_profile_are_those_of_name_note_and_fields(stage: Stage, ada: Person, bob: Person) -> None:
    for name in ("cat", "dog", "owl", "fox"):
        await add_emoji(stage, name)
    form = {
        "display_name": "Ada :cat:", "note": "likes :dog:", "fields_attributes[0][name]": ":owl:",
        "fields_attributes[0][value]": "a :fox:",
    }  # fmt: skip
    updated = (await ada.put("/api/v1/accounts/update_credentials", form)).json
    shown = (await bob.get(f"/api/v1/accounts/{ada.id}")).json
    assert names(updated) == names(shown) == ["cat", "dog", "owl", "fox"]
    await stage.sql("UPDATE accounts SET suspended_at = now() WHERE id = $1", ada.account.id)
    assert names((await stage.anybody().get("/api/v1/accounts/lookup?acct=ada")).json) == []


async def test_a_change_of_the_emoji_is_seen_in_what_was_rendered_before(stage: Stage, ada: Person) -> None:
    status = await ada.publish("a :cat:")
    path = f"/api/v1/statuses/{status['id']}"
    assert names(status) == []
    await add_emoji(stage, "cat")
    assert names((await stage.anybody().get(path)).json) == ["cat"]
    await stage.sql("UPDATE custom_emojis SET disabled = true")
    await reload_emojis(stage)
    assert names((await stage.anybody().get(path)).json) == []
    assert (await stage.anybody().get(LISTED)).json == []


async def test_an_emoji_that_is_not_in_the_picker_is_shown_in_texts(stage: Stage, ada: Person) -> None:
    await add_emoji(stage, "cat", visible_in_picker=False, category="Animals")
    await add_emoji(stage, "dog")
    listed = (await stage.anybody().get(LISTED)).json
    assert [(one["shortcode"], one["visible_in_picker"], one.get("category")) for one in listed] == [
        ("cat", False, "Animals"), ("dog", True, None),
    ]  # fmt: skip
    status = await ada.publish("a :cat: and a :dog:")
    assert names(status) == ["cat", "dog"]
    assert [one["visible_in_picker"] for one in status["emojis"]] == [False, True]


async def test_a_disabled_emoji_is_shown_nowhere(stage: Stage, ada: Person) -> None:
    await add_emoji(stage, "cat", disabled=True)
    await add_emoji(stage, "dog")
    assert [one["shortcode"] for one in (await stage.anybody().get(LISTED)).json] == ["dog"]
    profile = (await ada.put("/api/v1/accounts/update_credentials", {"display_name": "Ada :cat:"})).json
    assert names(profile) == []
    assert names(await ada.publish("a :cat: and a :dog:")) == ["dog"]


async def test_texts_of_other_servers_use_no_emoji_of_this_one(stage: Stage, ada: Person) -> None:
    await add_emoji(stage, "cat")
    status = await ada.publish("a :cat:")
    await stage.sql("UPDATE statuses SET local = false WHERE id = $1", int(status["id"]))
    stage.http_context.statuses.clear()
    assert names((await stage.anybody().get(f"/api/v1/statuses/{status['id']}")).json) == []
