"""The seed checklist's rows on timelines, notifications, markers, preferences and what is gone."""

from typing import Any

import pytest

from troupe.storage.engine.json_values import is_list, object_or_empty

from ..clients import Client, Person, Stage, ids, link
from ..emojis import add_emoji
from .rows import rows

NOTIFICATIONS = "/api/v1/notifications"
MARKERS = "/api/v1/markers"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def walked(pages: list[list[str]]) -> list[str]:
    return [id for page in pages for id in page]


async def walk(client: Client, path: str) -> list[str]:
    """Every id from the newest page to the end, following Link; then the way back must show the same."""
    pages = [await client.get(path)]
    while len(ids(after := await client.get(link(pages[-1], "next")))):
        pages.append(after)
    back = [ids(pages[-1])]
    page = pages[-1]
    while len(ids(page := await client.get(link(page, "prev")))):
        back.append(ids(page))
    found = walked([ids(page) for page in pages])
    assert walked(back[::-1]) == found
    return found


async def entry(client: Client, path: str) -> Any:
    return await client.done("GET", path)


@rows("S006", "S189")
async def test_timelines_take_max_id_and_min_id(ada: Person, bob: Person) -> None:
    await ada.post(f"/api/v1/accounts/{bob.id}/follow")
    list = (await ada.post("/api/v1/lists", {"title": "friends"})).json["id"]
    await ada.post(f"/api/v1/lists/{list}/accounts", json={"account_ids": [bob.id]})
    made = [(await bob.publish(f"{number} #cat"))["id"] for number in range(5)][::-1]
    for place in ("home", "public", f"list/{list}", "tag/cat", "tag/cat?any[]=dog&"):
        path = f"/api/v1/timelines/{place}{'' if '?' in place else '?'}"
        assert await walk(ada, f"{path}limit=2") == made
        assert ids(await ada.get(f"{path}min_id={made[4]}&limit=2")) == made[2:4]
        assert ids(await ada.get(f"{path}max_id={made[1]}&limit=2")) == made[2:4]


@rows("S019", "S212")
async def test_markers_are_kept(ada: Person, bob: Person) -> None:
    assert (await ada.get(MARKERS)).json == {}
    assert (await ada.get(f"{MARKERS}?timeline[]=home")).json == {}
    written = await ada.post(MARKERS, {"home[last_read_id]": "103035", "elsewhere[last_read_id]": "1"})
    assert set(written.json) == {"home"}
    assert written.json["home"]["last_read_id"] == "103035"
    assert written.json["home"]["version"] == 1
    both = await ada.post(
        MARKERS, json={"home": {"last_read_id": "5"}, "notifications": {"last_read_id": "9223372036854775807"}}
    )
    assert both.json["home"] | {"updated_at": ""} == {"last_read_id": "5", "version": 2, "updated_at": ""}
    shown = await ada.get(f"{MARKERS}?timeline[]=home&timeline[]=notifications&timeline[]=else")
    assert shown.json == both.json
    assert (await bob.get(f"{MARKERS}?timeline[]=home")).json == {}
    assert (await ada.post(MARKERS, json={"home": None, "notifications": {"last_read_id": None}})).json == {}


async def test_the_slower_of_two_devices_is_told_to_try_again(ada: Person) -> None:
    await ada.post(MARKERS, json={"home": {"last_read_id": "103", "version": 0}})
    slow = await ada.post(
        MARKERS, json={"notifications": {"last_read_id": "7"}, "home": {"last_read_id": "101", "version": 0}}
    )
    assert (slow.status, slow.json) == (409, {"error": "Conflict during update, please try again"})
    kept = await ada.get(f"{MARKERS}?timeline[]=home&timeline[]=notifications")
    assert {name: marker["last_read_id"] for name, marker in kept.json.items()} == {"home": "103"}
    assert (await ada.post(MARKERS, json={"home": {"last_read_id": "104", "version": 1}})).status == 200


@rows("S020", "S213")
async def test_preferences_can_be_read(ada: Person) -> None:
    assert (await ada.get("/api/v1/preferences")).json == {
        "posting:default:visibility": "public",
        "posting:default:sensitive": False,
        "posting:default:language": None,
        "posting:default:quote_policy": "public",
        "reading:expand:media": "default",
        "reading:expand:spoilers": False,
        "reading:autoplay:gifs": False,
    }


@rows("S023", "S161", "S193", "S209", "S266")
async def test_deleted_statuses_are_gone_for_all_viewers(stage: Stage, ada: Person) -> None:
    status = await ada.publish("with a card?")
    removed = (
        "/api/v1/timelines/direct", "/api/v1/search", f"/api/v1/statuses/{status['id']}/card",
        f"{NOTIFICATIONS}/dismiss", "/api/push", "/api/salmon/1", "/api/subscriptions/1", "/users/ada.atom",
    )  # fmt: skip
    for path in removed:
        for client in (ada, stage.anybody(), stage.anybody("no such token")):
            for method in METHODS:
                reply = await client.send(method, path)
                assert (reply.status, method, path) == (404, method, path)
        assert (await ada.get(path)).json == {"error": "Not Found"}


@rows("S028", "S183")
async def test_activity_is_told_in_texts(stage: Stage, ada: Person) -> None:
    await ada.publish("something")
    weeks = (await stage.anybody().get("/api/v1/instance/activity")).json
    assert len(weeks) == 12
    assert all(isinstance(value, str) and value.isdigit() for week in weeks for value in week.values())
    assert {**weeks[0], "week": ""} == {"week": "", "statuses": "1", "logins": "1", "registrations": "1"}
    assert (await stage.anybody().get("/api/v1/instance/peers")).json == []


async def test_what_there_is_none_of_is_an_empty_list(stage: Stage) -> None:
    assert await entry(stage.anybody(), "/api/v1/instance/rules") == []


@pytest.mark.parametrize("path", ["trends", "trends/tags", "trends/statuses", "trends/links"])
@rows("S016")
async def test_trends_need_no_token_and_name_nothing_that_staff_has_not_allowed(
    stage: Stage, ada: Person, path: str
) -> None:
    for number in range(6):
        await (await stage.person(f"p{number}")).publish("#cat https://cats.example")
    for client in (ada, stage.anybody()):
        answer = await client.get(f"/api/v1/{path}?limit=5")
        assert (answer.status, answer.json) == (200, [])
        assert "Link" not in answer.headers


@rows("S018")
async def test_custom_emoji_are_a_list_of_all_that_statuses_and_accounts_show(stage: Stage, ada: Person) -> None:
    await add_emoji(stage, "cat")
    listed = await entry(stage.anybody(), "/api/v1/custom_emojis")
    assert is_list(listed)
    codes = {emoji["shortcode"] for emoji in map(object_or_empty, listed)}
    assert codes == {"cat"}
    await ada.put("/api/v1/accounts/update_credentials", {"display_name": "Ada :cat:"})
    status = await ada.publish("a :cat: and a :dog:")
    assert ":cat:" in status["content"]
    for shown in (status, status["account"]):
        assert {emoji["shortcode"] for emoji in shown["emojis"]} == codes & {"cat", "dog"}


@rows("S071", "S186")
async def test_custom_emoji_have_a_category(stage: Stage) -> None:
    await add_emoji(stage, "cat", category="Animals")
    await add_emoji(stage, "dot")
    listed = {one["shortcode"]: one for one in await entry(stage.anybody(), "/api/v1/custom_emojis")}
    assert listed["cat"]["category"] == "Animals"
    assert "category" not in listed["dot"]


@rows("S072", "S186")
async def test_an_unlisted_emoji_is_shown_and_not_suggested(stage: Stage, ada: Person) -> None:
    await add_emoji(stage, "cat")
    await add_emoji(stage, "dog", visible_in_picker=False)
    listed = await entry(stage.anybody(), "/api/v1/custom_emojis")
    assert {one["shortcode"]: one["visible_in_picker"] for one in listed} == {"cat": True, "dog": False}
    assert [one["shortcode"] for one in (await ada.publish("a :dog:"))["emojis"]] == ["dog"]


async def told(person: Person, query: str = "") -> list[tuple[str, str]]:
    return [(one["type"], one["account"]["username"]) for one in await entry(person, f"{NOTIFICATIONS}{query}")]


@rows("S145")
async def test_notifications_of_one_account_are_walked_both_ways(stage: Stage, ada: Person, bob: Person) -> None:
    cleo = await stage.person("cleo")
    for number in range(5):
        await bob.publish(f"@ada {number}")
        await cleo.publish(f"@ada {number}")
    path = f"{NOTIFICATIONS}?account_id={bob.id}"
    of_bob = [one["id"] for one in await entry(ada, NOTIFICATIONS) if one["account"]["id"] == bob.id]
    assert len(of_bob) == 5
    assert [one["id"] for one in await entry(ada, path)] == of_bob
    assert await walk(ada, f"{path}&limit=2") == of_bob
    assert ids(await ada.get(f"{path}&max_id={of_bob[1]}&limit=2")) == of_bob[2:4]
    assert ids(await ada.get(f"{path}&min_id={of_bob[4]}&limit=2")) == of_bob[2:4]
    assert f"account_id={bob.id}" in (await ada.get(f"{path}&limit=2")).headers["Link"]


@rows("S068", "S070")
async def test_notifications_have_a_type_and_an_account(stage: Stage, ada: Person, bob: Person) -> None:
    cleo = await stage.person("cleo")
    await bob.post(f"/api/v1/accounts/{ada.id}/follow")
    await bob.publish("hello @ada")
    await cleo.publish("hello @ada")
    assert await told(ada) == [("mention", "cleo"), ("mention", "bob"), ("follow", "bob")]
    assert await told(ada, f"?account_id={bob.id}&limit=1") == [("mention", "bob")]
    assert await told(ada, "?types[]=follow&types[]=unheard-of") == [("follow", "bob")]
    assert await told(ada, "?types[]=unheard-of") == []
    assert await told(ada, "?exclude_types[]=mention&exclude_types[]=unheard-of") == [("follow", "bob")]
    one = (await entry(ada, NOTIFICATIONS))[0]
    assert one["status"]["mentions"][0]["username"] == "ada"
    assert one["status"]["favourited"] is False


@rows("S069")
async def test_asking_to_follow_is_told(ada: Person, bob: Person, stage: Stage) -> None:
    await stage.sql("UPDATE accounts SET locked = true WHERE id = $1", ada.account.id)
    await bob.post(f"/api/v1/accounts/{ada.id}/follow")
    assert await told(ada) == [("follow_request", "bob")]


@rows("S146")
async def test_an_unknown_account_has_no_notifications(ada: Person, bob: Person) -> None:
    await bob.publish("hello @ada")
    for nobody in ("999999999999", "x", "-1", "1.5", str(2**63)):
        assert await told(ada, f"?account_id={nobody}") == []
        assert (await ada.get(f"/api/v2/notifications?account_id={nobody}")).json["notification_groups"] == []
        assert (await ada.get(f"{NOTIFICATIONS}/unread_count?account_id={nobody}")).json == {"count": 0}


@rows("S144", "S147")
async def test_notifications_are_walked_both_ways(ada: Person, bob: Person) -> None:
    for number in range(5):
        await bob.publish(f"@ada {number}")
    made = [one["id"] for one in await entry(ada, NOTIFICATIONS)]
    assert await walk(ada, f"{NOTIFICATIONS}?limit=2&types[]=mention") == made
    assert ids(await ada.get(f"{NOTIFICATIONS}?min_id={made[4]}&limit=2")) == made[2:4]
    assert "Link" not in (await bob.get(NOTIFICATIONS)).headers


async def test_one_notification_is_shown_dismissed_and_all_are_cleared(ada: Person, bob: Person) -> None:
    for number in range(3):
        await bob.publish(f"@ada {number}")
    first, second, third = [one["id"] for one in await entry(ada, NOTIFICATIONS)]
    assert (await entry(ada, f"{NOTIFICATIONS}/{first}"))["id"] == first
    assert (await bob.get(f"{NOTIFICATIONS}/{first}")).status == 404
    assert (await bob.post(f"{NOTIFICATIONS}/{first}/dismiss")).status == 404
    assert (await entry(ada, f"{NOTIFICATIONS}/unread_count")) == {"count": 3}
    await ada.post(MARKERS, {"notifications[last_read_id]": third})
    assert (await entry(ada, f"{NOTIFICATIONS}/unread_count")) == {"count": 2}
    assert (await entry(ada, f"{NOTIFICATIONS}/unread_count?limit=1")) == {"count": 1}
    assert (await ada.post(f"{NOTIFICATIONS}/{second}/dismiss")).json == {}
    assert (await ada.get(f"{NOTIFICATIONS}/{second}")).status == 404
    assert (await ada.post(f"{NOTIFICATIONS}/clear")).json == {}
    assert await told(ada) == []
