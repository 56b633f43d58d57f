"""Pins and muted conversations."""

from ..clients import Person, Stage


async def test_five_pins_and_no_more(ada: Person) -> None:
    ids = [(await ada.publish(str(number)))["id"] for number in range(6)]
    for id in [*ids[:5], ids[0]]:
        answer = await ada.post(f"/api/v1/statuses/{id}/pin")
        assert (answer.status, answer.json["pinned"]) == (200, True)
    answer = await ada.post(f"/api/v1/statuses/{ids[5]}/pin")
    text = "Validation failed: You have already pinned the maximum number of posts"
    assert (answer.status, answer.json) == (422, {"error": text})
    assert (await ada.delete(f"/api/v1/statuses/{ids[0]}")).status == 200
    assert (await ada.post(f"/api/v1/statuses/{ids[5]}/pin")).status == 200
    assert (await ada.post(f"/api/v1/statuses/{ids[5]}/unpin")).json["pinned"] is False


async def test_what_cannot_be_pinned(ada: Person, bob: Person) -> None:
    others = (await bob.publish("hi"))["id"]
    direct = (await ada.publish("psst", visibility="direct"))["id"]
    boost = (await ada.post(f"/api/v1/statuses/{others}/reblog")).json["id"]
    for id, text in (
        (others, "Someone else's post cannot be pinned"),
        (direct, "Posts that are only visible to mentioned users cannot be pinned"),
        (boost, "A boost cannot be pinned"),
    ):
        answer = await ada.post(f"/api/v1/statuses/{id}/pin")
        assert (answer.status, answer.json) == (422, {"error": f"Validation failed: {text}"})
    private = (await ada.publish("psst", visibility="private"))["id"]
    assert (await ada.post(f"/api/v1/statuses/{private}/pin")).status == 200


async def test_a_muted_conversation_is_silent_for_its_parts_only(stage: Stage, ada: Person, bob: Person) -> None:
    root = await ada.publish("root")
    reply = await bob.publish("@ada one", in_reply_to_id=root["id"])
    assert (await ada.post(f"/api/v1/statuses/{reply['id']}/mute")).json["muted"] is True
    assert (await ada.get(f"/api/v1/statuses/{root['id']}")).json["muted"] is True
    assert (await bob.get(f"/api/v1/statuses/{root['id']}")).json["muted"] is False
    own = await ada.publish("three", in_reply_to_id=reply["id"])
    assert own["muted"] is True
    assert (await ada.get(f"/api/v1/statuses/{own['id']}")).json["muted"] is True
    await bob.publish("@ada two", in_reply_to_id=root["id"])
    await bob.post(f"/api/v1/statuses/{root['id']}/favourite")
    assert len(await stage.rows("SELECT FROM notifications WHERE account_id = $1", ada.account.id)) == 1
    assert (await ada.post(f"/api/v1/statuses/{root['id']}/unmute")).json["muted"] is False
    assert (await ada.get(f"/api/v1/statuses/{reply['id']}")).json["muted"] is False
    await bob.publish("@ada three", in_reply_to_id=root["id"])
    assert len(await stage.rows("SELECT FROM notifications WHERE account_id = $1", ada.account.id)) == 2


async def test_only_who_takes_part_mutes_a_conversation(ada: Person, bob: Person) -> None:
    status = await ada.publish("hi")
    assert (await bob.post(f"/api/v1/statuses/{status['id']}/mute")).status == 403
    named = await ada.publish("hi @bob")
    assert (await bob.post(f"/api/v1/statuses/{named['id']}/mute")).status == 200


async def test_pins_are_paged_in_the_order_of_pinning(ada: Person) -> None:
    made = [(await ada.publish(str(number)))["id"] for number in range(4)]
    pinned = [made[1], made[3], made[0]]  # the last one first
    for id in reversed(pinned):
        await ada.post(f"/api/v1/statuses/{id}/pin")

    async def page(query: str) -> list[str]:
        found = await ada.get(f"/api/v1/accounts/{ada.id}/statuses?pinned=true&{query}")
        assert "Link" not in found.headers
        return [status["id"] for status in found.json]

    assert await page("") == pinned
    assert await page("limit=1") == pinned[:1]
    assert await page(f"limit=1&max_id={pinned[0]}") == pinned[1:2]
    assert await page(f"limit=2&max_id={pinned[0]}") == pinned[1:]
    assert await page(f"max_id={pinned[2]}") == []
    assert await page(f"limit=1&min_id={pinned[2]}") == pinned[1:2]
    assert await page(f"limit=1&since_id={pinned[2]}") == pinned[:1]
    assert await page(f"max_id={made[2]}") == [made[1], made[0]]
    assert await page("limit=0") == []
