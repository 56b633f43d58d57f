"""Followed hashtags: their list, and the home timeline, which shows public statuses with them."""

import pytest

from troupe.actors.rules.limits import FOLLOWED_TAGS

from ..clients import HOME, Person, Stage, ids, link

FOLLOWED = "/api/v1/followed_tags"
TAGS = "/api/v1/tags"
MAKE_TAGS = """
    INSERT INTO tags (id, name, display_name, created_at)
    SELECT n, 'x' || n, 'x' || n, now() FROM generate_series(1, $1::int) n
"""
FOLLOW_ALL = "INSERT INTO followed_tags (id, account_id, tag_id, created_at) SELECT id, $1, id, now() FROM tags"


async def follow(person: Person, name: str) -> None:
    answer = await person.post(f"{TAGS}/{name}/follow")
    assert (answer.status, answer.json["following"]) == (200, True), answer.text


async def names(person: Person, query: str = "") -> list[str]:
    answer = await person.done("GET", f"{FOLLOWED}{query}")
    return [tag["name"] for tag in answer]


async def test_a_hashtag_is_followed_listed_and_unfollowed(stage: Stage, ada: Person, bob: Person) -> None:
    unused = (await ada.post(f"{TAGS}/%23Tea/follow")).json
    assert (unused["name"], unused["following"], unused["featuring"]) == ("tea", True, False)
    assert (await ada.get(f"{TAGS}/TEA")).json == unused
    assert (await ada.get(FOLLOWED)).json == [unused]
    assert (await ada.get("/api/v2/search?q=tea&type=hashtags")).json["hashtags"] == [unused]
    assert (await ada.post(f"{TAGS}/{unused['id']}/follow")).json == unused, "a repeat, by the id"
    assert (await bob.get(f"{TAGS}/tea")).json["following"] is False
    assert await names(bob) == []
    for _ in range(2):
        assert (await ada.post(f"{TAGS}/tea/unfollow")).json == unused | {"following": False}
    assert await names(ada) == []
    for path in ("no%20tag/follow", "1/follow", "no%20tag/unfollow"):
        assert (await ada.post(f"{TAGS}/{path}")).status == 404
    assert (await stage.anybody().post(f"{TAGS}/tea/follow")).status == 401


async def test_followed_hashtags_are_paged_the_latest_first(ada: Person) -> None:
    for name in ("one", "two", "three"):
        await follow(ada, name)
    page = await ada.get(f"{FOLLOWED}?limit=2")
    assert [tag["name"] for tag in page.json] == ["three", "two"]
    assert [tag["name"] for tag in (await ada.get(link(page, "next"))).json] == ["one"]
    assert (await ada.get(link(page, "prev"))).json == []


async def test_too_many_hashtags_are_not_followed(stage: Stage, ada: Person) -> None:
    await stage.sql(MAKE_TAGS, FOLLOWED_TAGS - 1)
    await stage.sql(FOLLOW_ALL, ada.account.id)
    await follow(ada, "last")
    refused = await ada.post(f"{TAGS}/more/follow")
    assert refused.status == 422
    assert refused.json == {"error": f"Validation failed: You cannot follow more than {FOLLOWED_TAGS} hashtags"}
    await follow(ada, "last")


@pytest.mark.parametrize("awake", [True, False])
async def test_home_shows_public_statuses_with_a_followed_hashtag_once(
    stage: Stage, ada: Person, bob: Person, awake: bool
) -> None:
    eve = await stage.person("eve")
    await ada.post(f"/api/v1/accounts/{bob.id}/follow")
    old = await eve.publish("an old #tea")
    if awake:
        assert ids(await ada.get(HOME)) == []
    await follow(ada, "tea")
    await follow(ada, "milk")
    if awake:
        assert ids(await ada.get(HOME)) == [old["id"]]
    of_bob = await bob.publish("#tea and #milk")
    of_eve = await eve.publish("#Tea and #milk")
    for visibility in ("unlisted", "private", "direct"):
        await eve.publish("#tea", visibility=visibility)
    await eve.publish("#rum")
    due = [of_eve["id"], of_bob["id"], old["id"]]
    assert ids(await ada.get(HOME)) == due
    assert ids(await ada.get(f"{HOME}?max_id={of_bob['id']}")) == [old["id"]]
    assert ids(await eve.get(HOME))[-1] == old["id"]
    await ada.post(f"{TAGS}/milk/unfollow")
    assert ids(await ada.get(HOME)) == due
    await ada.post(f"{TAGS}/tea/unfollow")
    assert ids(await ada.get(HOME)) == [of_bob["id"]]


async def test_replies_with_a_followed_hashtag_are_shown_as_other_replies(ada: Person, bob: Person) -> None:
    await follow(ada, "tea")
    root = await bob.publish("no tag")
    own = await bob.publish("#tea to myself", in_reply_to_id=root["id"])
    hers = await ada.publish("also no tag")
    to_her = await bob.publish("#tea to ada", in_reply_to_id=hers["id"])
    assert ids(await ada.get(HOME)) == [to_her["id"], hers["id"], own["id"]]


async def test_replies_to_strangers_stay_out_although_they_have_a_followed_hashtag(
    stage: Stage, ada: Person, bob: Person
) -> None:
    eve = await stage.person("eve")
    await follow(ada, "tea")
    assert ids(await ada.get(HOME)) == []
    root = await eve.publish("a root")
    await bob.publish("#tea to eve", in_reply_to_id=root["id"])
    assert ids(await ada.get(HOME)) == []


async def test_edits_and_deletions_change_which_statuses_home_shows(ada: Person, bob: Person) -> None:
    await follow(ada, "tea")
    assert ids(await ada.get(HOME)) == []
    status = await bob.publish("without")
    path = f"/api/v1/statuses/{status['id']}"
    for text, shown in (("#tea now", True), ("#milk now", False), ("#tea again", True)):
        assert (await bob.put(path, {"status": text})).status == 200
        assert ids(await ada.get(HOME)) == [status["id"]] * shown
    await bob.delete(path)
    assert ids(await ada.get(HOME)) == []


@pytest.mark.parametrize("how", ["block", "mute"])
async def test_a_block_or_mute_hides_statuses_with_followed_hashtags(ada: Person, bob: Person, how: str) -> None:
    await follow(ada, "tea")
    status = await bob.publish("#tea")
    assert ids(await ada.get(HOME)) == [status["id"]]
    await ada.post(f"/api/v1/accounts/{bob.id}/{how}")
    await bob.publish("#tea again")
    assert ids(await ada.get(HOME)) == []
    await ada.post(f"/api/v1/accounts/{bob.id}/un{how}")
    assert len(ids(await ada.get(HOME))) == 2


async def test_a_followed_hashtag_brings_nothing_onto_lists(ada: Person, bob: Person) -> None:
    await bob.put("/api/v1/accounts/update_credentials", {"locked": "true"})
    assert (await ada.post(f"/api/v1/accounts/{bob.id}/follow")).json["requested"] is True
    made = (await ada.post("/api/v1/lists", {"title": "mine", "exclusive": "true"})).json["id"]
    assert (await ada.post(f"/api/v1/lists/{made}/accounts", json={"account_ids": [bob.id]})).status == 200
    await follow(ada, "tea")
    status = await bob.publish("#tea")
    assert ids(await ada.get(f"/api/v1/timelines/list/{made}")) == []
    assert ids(await ada.get(HOME)) == [], "members of exclusive lists are read there"
    await ada.post(f"/api/v1/accounts/{bob.id}/unfollow")
    assert ids(await ada.get(HOME)) == [status["id"]]


async def test_an_unfollowed_author_stays_by_hashtag(ada: Person, bob: Person) -> None:
    await ada.post(f"/api/v1/accounts/{bob.id}/follow")
    made = (await ada.post("/api/v1/lists", {"title": "mine", "exclusive": "true"})).json["id"]
    await ada.post(f"/api/v1/lists/{made}/accounts", json={"account_ids": [bob.id]})
    await follow(ada, "tea")
    assert ids(await ada.get(HOME)) == []
    status = await bob.publish("#tea")
    await bob.publish("without")
    assert ids(await ada.get(HOME)) == []
    await ada.post(f"/api/v1/accounts/{bob.id}/unfollow")
    assert ids(await ada.get(HOME)) == [status["id"]]
