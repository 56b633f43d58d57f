"""What is alike is told as one."""

from typing import Any

from ..clients import Person, Stage, link

GROUPS = "/api/v2/notifications"


async def page(person: Person, query: str = "") -> Any:
    return await person.done("GET", f"{GROUPS}{query}")


def brief(told: Any) -> list[tuple[str, int, list[str]]]:
    names = {account["id"]: account["username"] for account in told["accounts"]}
    return [
        (group["type"], group["notifications_count"], [names[id] for id in group["sample_account_ids"]])
        for group in told["notification_groups"]
    ]


async def favourites(stage: Stage, ada: Person, bob: Person) -> tuple[Person, Any]:
    """Bob and Cleo like a post of Ada's, and Bob mentions her in between."""
    cleo = await stage.person("cleo")
    liked = await ada.publish("like me")
    await bob.post(f"/api/v1/statuses/{liked['id']}/favourite")
    await bob.publish("@ada hello")
    await cleo.post(f"/api/v1/statuses/{liked['id']}/favourite")
    return cleo, liked


async def test_likes_of_one_status_are_one_group(stage: Stage, ada: Person, bob: Person) -> None:
    _, liked = await favourites(stage, ada, bob)
    told = await page(ada)
    assert brief(told) == [("favourite", 2, ["cleo", "bob"]), ("mention", 1, ["bob"])]
    assert sorted(account["username"] for account in told["accounts"]) == ["bob", "cleo"]
    first, second = told["notification_groups"]
    assert first["status_id"] == liked["id"]
    assert {status["id"] for status in told["statuses"]} == {first["status_id"], second["status_id"]}
    assert first["page_max_id"] == first["most_recent_notification_id"]
    assert second["group_key"] == f"ungrouped-{second['most_recent_notification_id']}"
    assert (await page(ada, "/unread_count")) == {"count": 2}
    assert (await ada.get("/api/v1/notifications/unread_count")).json == {"count": 3}
    one = (await ada.get("/api/v1/notifications?limit=1")).json[0]
    assert one["group_key"] == first["group_key"]


async def test_a_client_says_what_it_wants_grouped(stage: Stage, ada: Person, bob: Person) -> None:
    await favourites(stage, ada, bob)
    told = await page(ada, "?grouped_types[]=follow")
    assert [(group["type"], group["notifications_count"]) for group in told["notification_groups"]] == [
        ("favourite", 1),
        ("mention", 1),
        ("favourite", 1),
    ]
    assert brief(await page(ada, "?types[]=mention")) == [("mention", 1, ["bob"])]
    assert (await page(ada, f"?account_id={ada.id}"))["notification_groups"] == []


async def test_pages_count_groups_and_are_walked_both_ways(stage: Stage, ada: Person, bob: Person) -> None:
    await favourites(stage, ada, bob)
    first = await ada.get(f"{GROUPS}?limit=1")
    assert [group["type"] for group in first.json["notification_groups"]] == ["favourite"]
    second = await ada.get(link(first, "next"))
    assert [group["type"] for group in second.json["notification_groups"]] == ["mention"]
    third = await ada.get(link(second, "next"))  # the rest of the first group, beyond the mention
    assert [group["type"] for group in third.json["notification_groups"]] == ["favourite"]
    back = await ada.get(link(third, "prev"))
    assert [group["type"] for group in back.json["notification_groups"]] == ["mention"]
    assert "Link" not in (await bob.get(GROUPS)).headers


async def test_small_pictures_for_those_in_the_background(stage: Stage, ada: Person, bob: Person) -> None:
    cleo, _ = await favourites(stage, ada, bob)
    told = await page(ada, "?expand_accounts=partial_avatars&types[]=favourite")
    assert [account["id"] for account in told["accounts"]] == [cleo.id]
    assert [account["id"] for account in told["partial_accounts"]] == [bob.id]
    refused = await ada.get(f"{GROUPS}?expand_accounts=none")
    assert refused.status == 400
    assert refused.json["error"] == (
        "Invalid value for 'expand_accounts': 'none', allowed values are 'full' and 'partial_avatars'"
    )


async def test_one_group_is_shown_listed_and_dismissed(stage: Stage, ada: Person, bob: Person) -> None:
    cleo, _ = await favourites(stage, ada, bob)
    group, mention = (await page(ada))["notification_groups"]
    shown = await page(ada, f"/{group['group_key']}")
    assert shown["notification_groups"][0]["notifications_count"] == 2
    assert "page_min_id" not in shown["notification_groups"][0]
    people = await ada.get(f"{GROUPS}/{group['group_key']}/accounts")
    assert [account["id"] for account in people.json] == [cleo.id, bob.id]
    assert (await bob.get(f"{GROUPS}/{group['group_key']}")).status == 404
    assert (await ada.post(f"{GROUPS}/{group['group_key']}/dismiss")).json == {}
    assert brief(await page(ada)) == [("mention", 1, ["bob"])]
    assert (await ada.post(f"{GROUPS}/{mention['group_key']}/dismiss")).json == {}
    assert (await page(ada))["notification_groups"] == []


async def test_a_group_is_open_for_half_a_day(stage: Stage, ada: Person, bob: Person) -> None:
    cleo, liked = await favourites(stage, ada, bob)
    await stage.sql("UPDATE notifications SET group_hour = group_hour - 12 WHERE type = 'favourite'")
    dora = await stage.person("dora")
    await dora.post(f"/api/v1/statuses/{liked['id']}/favourite")
    assert brief(await page(ada, "?types[]=favourite")) == [
        ("favourite", 1, ["dora"]),
        ("favourite", 2, ["cleo", "bob"]),
    ]
    assert cleo.id != dora.id
