"""A hashtag's timeline, by page and by stream."""

from urllib.parse import quote

import pytest

from ..checklist.rows import rows
from ..clients import BASE, Person, Stage, ids, link

TAG = "/api/v1/timelines/tag"


async def test_a_tag_has_answers_but_neither_boosts_nor_what_is_not_public(ada: Person, bob: Person) -> None:
    root = await ada.publish("a #cat")
    answer = await bob.publish("another #Cat", in_reply_to_id=root["id"])
    await ada.publish("#cat in private", visibility="private")
    await ada.publish("#cat unlisted", visibility="unlisted")
    await ada.publish("a #dog")
    assert ids(await ada.get(f"{TAG}/cat")) == [answer["id"], root["id"]]
    assert ids(await ada.get(f"{TAG}/{quote('#CAT')}?local=true")) == [answer["id"], root["id"]]
    assert ids(await ada.get(f"{TAG}/cat?remote=true")) == []
    assert ids(await ada.get(f"{TAG}/cat?only_media=true")) == []
    assert ids(await ada.get(f"{TAG}/nobody-has-used-this")) == []
    await bob.delete(f"/api/v1/statuses/{answer['id']}")
    assert ids(await ada.get(f"{TAG}/cat")) == [root["id"]]


async def test_an_awake_tag_is_told_of_what_comes(stage: Stage, ada: Person) -> None:
    assert ids(await stage.anybody().get(f"{TAG}/cat")) == []
    status = await ada.publish("the first #cat")
    assert ids(await stage.anybody().get(f"{TAG}/cat")) == [status["id"]]


async def test_the_silenced_and_the_blocked_are_not_there(stage: Stage, ada: Person, bob: Person) -> None:
    await bob.publish("#cat")
    await ada.post(f"/api/v1/accounts/{bob.id}/mute")
    assert ids(await ada.get(f"{TAG}/cat")) == []
    assert ids(await ada.get(f"{TAG}/cat?any[]=dog")) == []
    assert len(ids(await bob.get(f"{TAG}/cat"))) == 1
    await stage.sql("UPDATE accounts SET silenced_at = now() WHERE id = $1", bob.account.id)
    assert ids(await bob.get(f"{TAG}/cat?any[]=dog")) == []


@rows("S190")
async def test_tags_are_joined_by_four_names_each_and_stay_in_links(ada: Person) -> None:
    cat, both, dog, _ = [(await ada.publish(text))["id"] for text in ("#cat", "#cat #dog", "#dog", "#e5")]
    assert ids(await ada.get(f"{TAG}/cat?any[]=DOG")) == [dog, both, cat]
    assert ids(await ada.get(f"{TAG}/cat?all[]=dog")) == [both]
    assert ids(await ada.get(f"{TAG}/cat?none[]=dog")) == [cat]
    assert ids(await ada.get(f"{TAG}/cat?any[]=e5&all[]=dog&none[]=cat")) == []
    five = "&".join(f"any[]={name}" for name in ("b1", "b2", "b3", "dog", "e5"))
    assert len(ids(await ada.get(f"{TAG}/cat?{five}"))) == 3
    page = await ada.get(f"{TAG}/cat?any[]=dog&none[]=e5&limit=2")
    assert "any%5B%5D=dog&none%5B%5D=e5&limit=2&max_id=" in link(page, "next")
    assert len(ids(await ada.get(link(page, "next")))) == 1


async def test_a_tag_in_any_script_has_addresses_of_ascii(ada: Person) -> None:
    status = await ada.publish("#мёд")
    page = f"{BASE}/tags/%D0%BC%D1%91%D0%B4"
    assert status["tags"] == [{"name": "мёд", "url": page}]
    assert f'href="{page}"' in status["content"]
    timeline = await ada.get(f"{TAG}/{quote('МЁД')}")
    assert timeline.headers["Link"].isascii()
    assert ids(await ada.get(link(timeline, "next").replace("max_id", "x"))) == [status["id"]]


async def test_spellings_with_and_without_accents_are_one_hashtag(stage: Stage, ada: Person) -> None:
    posts = [await ada.publish(f"bon dia #{written}") for written in ("Català", "catala", "CATALÀ")]
    assert [post["tags"] for post in posts] == [[{"name": "catala", "url": f"{BASE}/tags/catala"}]] * 3
    assert "#<span>CATALÀ</span></a>" in posts[2]["content"]
    for asked in ("Català", "catala", "Catala\u0300"):
        assert ids(await ada.get(f"{TAG}/{quote(asked)}")) == [post["id"] for post in reversed(posts)]
        for page in (f"/tags/{quote(asked)}", f"/tags/{quote(asked)}.rss"):
            assert "Posts about #Català on" in (await stage.anybody().get(page)).text


@pytest.mark.parametrize("name", ["never", "#never", "NEVER", "größe", "\uff03\uff4e\uff45\uff56\uff45\uff52"])
async def test_an_unused_hashtag_has_an_empty_history(stage: Stage, ada: Person, name: str) -> None:
    for client in (ada, stage.anybody()):
        answer = await client.get(f"/api/v1/tags/{quote(name)}")
        tag = answer.json
        assert (answer.status, tag["name"]) == (200, "grosse" if name == "größe" else "never")
        assert [(day["uses"], day["accounts"]) for day in tag["history"]] == [("0", "0")] * 7
        assert tag.get("featuring") is tag.get("following") is (False if client is ada else None)
    assert await stage.rows("SELECT FROM tags") == []


@pytest.mark.parametrize("name", ["123", "two words", "a-b", "%23%23a", "!", "x" * 256])
async def test_what_is_no_name_of_a_hashtag_is_missing(ada: Person, name: str) -> None:
    answer = await ada.get(f"/api/v1/tags/{quote(name, safe='%')}")
    assert (answer.status, answer.json) == (404, {"error": "Record not found"})


async def test_an_unused_hashtag_can_be_featured_and_unfeatured(ada: Person) -> None:
    for action, featuring in (("unfeature", False), ("feature", True), ("feature", True), ("unfeature", False)):
        answer = await ada.post(f"/api/v1/tags/Never/{action}")
        assert (answer.status, answer.json["name"], answer.json["featuring"]) == (200, "never", featuring)
