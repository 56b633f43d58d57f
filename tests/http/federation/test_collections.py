"""Collections: paged or whole, and without what the reader may not see."""

from typing import Any

from ...activitypub.documents_read import undeclared
from ...clients import BASE, Person, Stage
from .peers import ask, document, peer

ADA = f"{BASE}/users/ada"


async def items_of(stage: Stage, path: str) -> list[Any]:
    """The items of all pages, and that the pages are parts of one collection."""
    collection = await document(stage, path)
    found, address = list[Any](), collection["first"]
    while address is not None:
        page = await document(stage, address)
        assert (page["id"], page["partOf"]) == (address, collection["id"])
        assert undeclared(page) == set()
        found += page.get("orderedItems", page.get("items"))
        address = page.get("next")
    return found


async def test_an_outbox_has_public_and_unlisted_posts_and_boosts(stage: Stage, ada: Person, bob: Person) -> None:
    theirs = await bob.write("theirs")
    boost = (await ada.post(f"/api/v1/statuses/{theirs['id']}/reblog")).json
    written = {one: await ada.write(one, visibility=one) for one in ("public", "unlisted", "private", "direct")}
    outbox = await document(stage, "/users/ada/outbox")
    assert (outbox["id"], outbox["type"]) == (f"{ADA}/outbox", "OrderedCollection")
    found = await items_of(stage, "/users/ada/outbox")
    assert [(one["type"], one["id"]) for one in found] == [
        ("Create", f"{written['unlisted']['uri']}/activity"), ("Create", f"{written['public']['uri']}/activity"),
        ("Announce", boost["uri"]),
    ]  # fmt: skip


async def test_an_outbox_is_paged(stage: Stage, ada: Person) -> None:
    written = [(await ada.write(str(number)))["uri"] for number in range(23)]
    found = [one["object"]["id"] for one in await items_of(stage, "/users/ada/outbox")]
    assert found == written[::-1]


async def test_a_follower_gets_more_of_the_outbox(stage: Stage, ada: Person) -> None:
    await ada.write("psst", visibility="private")
    fay = await peer(stage, "fay")
    await fay.follow(ada)
    page = await fay.get("/users/ada/outbox?page=true")
    assert [one["object"]["content"] for one in page.json["orderedItems"]] == ["<p>psst</p>"]
    assert page.headers["Cache-Control"] == "private, no-store"
    stranger = await peer(stage, "sue")
    assert (await stranger.get("/users/ada/outbox?page=true")).json["orderedItems"] == []


async def test_followers_and_follows_are_listed_unless_they_are_hidden(stage: Stage, ada: Person, bob: Person) -> None:
    una = await peer(stage)
    await una.follow(ada)
    await ada.post(f"/api/v1/accounts/{bob.id}/follow")
    await stage.sql("SELECT 1")
    assert await items_of(stage, "/users/ada/followers") == [una.uri]
    assert await items_of(stage, "/users/ada/following") == [f"{BASE}/users/bob"]
    following = await document(stage, "/users/ada/following")
    assert (following["type"], following["totalItems"]) == ("OrderedCollection", 1)
    await ada.send("PATCH", "/api/v1/accounts/update_credentials", form={"hide_collections": "true"})
    for name in ("followers", "following"):
        hidden = await document(stage, f"/users/ada/{name}")
        assert hidden.keys() == {"@context", "id", "type", "totalItems"}
        assert (await ask(stage, f"/users/ada/{name}?page=true")).status == 404


async def test_who_is_blocked_gets_nothing_of_the_network(stage: Stage, ada: Person) -> None:
    ben = await peer(stage, "ben")
    await ben.be_blocked_by(ada)
    assert (await ben.get("/users/ada/followers?page=true")).status == 404
    assert "first" not in (await ben.get("/users/ada/followers")).json
    await ada.post("/api/v1/featured_tags", {"name": "tea"})
    assert (await ben.get("/users/ada/collections/tags")).json["items"] == []


async def test_pinned_posts_are_whole_documents_on_no_pages(stage: Stage, ada: Person) -> None:
    pinned, hidden = await ada.write("pinned"), await ada.write("psst", visibility="private")
    for one in (pinned, hidden):
        assert (await ada.post(f"/api/v1/statuses/{one['id']}/pin")).status == 200
    featured = await document(stage, "/users/ada/collections/featured")
    assert (featured["type"], "first" in featured) == ("OrderedCollection", False)
    assert [(one["type"], one["id"]) for one in featured["orderedItems"]] == [("Note", pinned["uri"])]
    assert undeclared(featured) == set()
    fay = await peer(stage, "fay")
    await fay.follow(ada)
    more = await fay.get("/users/ada/collections/featured")
    assert len(more.json["orderedItems"]) == 2
    assert more.headers["Cache-Control"] == "private, no-store"


async def test_featured_hashtags(stage: Stage, ada: Person) -> None:
    await ada.post("/api/v1/featured_tags", {"name": "Tea"})
    tags = await document(stage, "/users/ada/collections/tags")
    assert tags["items"] == [{"type": "Hashtag", "href": f"{BASE}/tags/tea", "name": "#Tea"}]
    assert undeclared(tags) == set()


async def test_replies_of_a_post_are_named_without_the_private_ones(stage: Stage, ada: Person, bob: Person) -> None:
    root = await ada.write("tea?")
    replies = [await bob.write(f"@ada {one}", in_reply_to_id=root["id"], visibility=one)
               for one in ("public", "unlisted", "private", "direct")]  # fmt: skip
    own = await ada.write("and cake", in_reply_to_id=root["id"])
    note = await document(stage, root["uri"])
    assert (note["replies"]["type"], note["replies"]["id"]) == ("Collection", f"{root['uri']}/replies")
    assert await items_of(stage, note["replies"]["id"]) == [replies[0]["uri"], replies[1]["uri"], own["uri"]]
    assert note["replies"]["first"] == (await document(stage, note["replies"]["id"]))["first"]


async def test_many_replies_are_paged(stage: Stage, ada: Person) -> None:
    root = await ada.write("0")
    written = [(await ada.write(str(number), in_reply_to_id=root["id"]))["uri"] for number in range(42)]
    assert await items_of(stage, f"{root['uri']}/replies") == written


async def test_likes_and_shares_are_counted(stage: Stage, ada: Person, bob: Person) -> None:
    status = await ada.write("hello")
    for act in ("favourite", "reblog"):
        await bob.post(f"/api/v1/statuses/{status['id']}/{act}")
    note = await document(stage, status["uri"])
    for name in ("likes", "shares"):
        collection = await document(stage, note[name]["id"])
        assert (collection["totalItems"], note[name]["totalItems"]) == (1, 1)
        assert not {"items", "first"} & collection.keys()
