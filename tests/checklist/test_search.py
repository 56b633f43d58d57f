"""The seed checklist's rows on search."""

from typing import Any

import pytest

from ..clients import Client, Person, Stage, ids
from .rows import rows

SEARCH = "/api/v2/search"


async def found(client: Client, q: str, **more: str) -> dict[str, list[Any]]:
    return await client.done("GET", SEARCH, query_string={"q": q} | more)


def names(result: dict[str, list[Any]]) -> list[str]:
    return [tag["name"] for tag in result["hashtags"]]


@rows("S073", "S260")
async def test_accounts_statuses_and_rich_hashtags(stage: Stage, ada: Person, bob: Person) -> None:
    status = await ada.publish("the #Kestrel is a bird")
    await bob.put("/api/v1/accounts/update_credentials", {"display_name": "Kestrel Watcher"})
    result = await found(ada, "kestrel")
    assert set(result) == {"accounts", "statuses", "hashtags"}
    assert [account["id"] for account in result["accounts"]] == [bob.id]
    assert [one["id"] for one in result["statuses"]] == [status["id"]]
    tag = result["hashtags"][0]
    assert (tag["name"], tag["url"]) == ("kestrel", "http://localhost:3000/tags/kestrel")
    assert len(tag["history"]) == 7
    assert tag["history"][0] | {"day": ""} == {"day": "", "uses": "1", "accounts": "1"}
    assert tag["history"][6]["uses"] == "0"


@rows("S152")
async def test_a_type_leaves_the_others_empty(ada: Person) -> None:
    await ada.publish("#ada writes of ada")
    kinds = ("accounts", "statuses", "hashtags")
    for kind in kinds:
        result = await found(ada, "ada", type=kind)
        assert [one for one in kinds if result[one]] == [kind]
    assert (await ada.get(f"{SEARCH}?q=x&type=everything")).status == 422


@rows("S153", "S154", "S155")
async def test_limit_and_offset_go_with_a_type(stage: Stage, ada: Person) -> None:
    for name in ("cat", "cats", "catsup"):
        await ada.publish(f"#{name}")
    assert names(await found(ada, "cat")) == ["cat", "cats", "catsup"]
    assert names(await found(ada, "#cat", type="hashtags", limit="1")) == ["cat"]
    assert names(await found(ada, "cat", type="hashtags", offset="1")) == ["cats", "catsup"]
    assert names(await found(ada, "cat", offset="1")) == ["cat", "cats", "catsup"]


@rows("S156", "S157")
async def test_statuses_between_ids_and_of_one_author(ada: Person, bob: Person) -> None:
    made = [await ada.publish("owl") for _ in range(3)]
    await bob.publish("@ada owl")
    low, middle, high = [status["id"] for status in made]
    result = await found(ada, "owl", type="statuses", min_id=low, max_id=high)
    assert [one["id"] for one in result["statuses"]] == [middle]
    result = await found(ada, "owl", type="statuses", account_id=bob.id)
    assert [one["account"]["id"] for one in result["statuses"]] == [bob.id]


@rows("S158", "S159")
async def test_unreviewed_hashtags_can_be_left_out(stage: Stage, ada: Person) -> None:
    await ada.publish("#dove #dovetail")
    await stage.sql("UPDATE tags SET reviewed_at = now() WHERE name = 'dove'")
    assert names(await found(ada, "dove")) == ["dove", "dovetail"]
    assert names(await found(ada, "dove", exclude_unreviewed="true")) == ["dove"]


class TestCap:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return {"rate_limits": False, "search_results": 3}

    @rows("S160", "S258")
    async def test_the_most_results_are_a_setting(self, ada: Person) -> None:
        for number in range(5):
            await ada.publish(f"#jay{number}")
        assert len(names(await found(ada, "jay", type="hashtags", limit="10"))) == 3


@rows("S161", "S262")
async def test_the_first_search_is_gone(stage: Stage, ada: Person) -> None:
    for client in (ada, stage.anybody()):
        assert (await client.get("/api/v1/search?q=x")).status == 404


async def test_what_is_no_search(stage: Stage, ada: Person) -> None:
    assert (await ada.get(SEARCH)).status == 400
    negative = await ada.get(f"{SEARCH}?q=x&type=accounts&limit=-1")
    assert (negative.status, negative.json["error"][:17]) == (400, "Pagination values")
    for more, text in (
        ("offset=1", "Search queries pagination is not supported without authentication"),
        ("resolve=true", "Search queries that resolve remote resources are not supported without authentication"),
    ):
        answer = await stage.anybody().get(f"{SEARCH}?q=x&{more}")
        assert (answer.status, answer.json) == (401, {"error": text})
    assert (await stage.anybody().get(f"{SEARCH}?q=ada")).json["statuses"] == []


async def test_whose_statuses_are_found(stage: Stage, ada: Person, bob: Person) -> None:
    status = await ada.publish("a heron <b>stood</b>")
    assert (await found(bob, "heron"))["statuses"] == []
    assert (await found(bob, "b"))["statuses"] == []
    await bob.post(f"/api/v1/statuses/{status['id']}/bookmark")
    assert [one["id"] for one in (await found(bob, "heron"))["statuses"]] == [status["id"]]
    cyd = await stage.person("cyd")
    await ada.put("/api/v1/accounts/update_credentials", {"indexable": "true"})
    assert [one["id"] for one in (await found(cyd, "heron"))["statuses"]] == [status["id"]]
    await cyd.post(f"/api/v1/accounts/{ada.id}/mute")
    assert (await found(cyd, "heron"))["statuses"] == []
    await ada.publish("a secret heron", visibility="private")
    assert (await found(bob, "secret heron"))["statuses"] == []


@pytest.mark.parametrize("query", ["ada", "@ada", "ADA", "ada@localhost:3000", "@ada@localhost:3000"])
async def test_an_exact_handle_stands_first(stage: Stage, ada: Person, query: str) -> None:
    adam = await stage.person("adam")
    await adam.post(f"/api/v1/accounts/{(await stage.account('adamant')).id}/follow")
    answer = ids(await adam.get("/api/v1/accounts/search", query_string={"q": query}))
    assert answer[0] == ada.id
    assert len(answer) == 3


async def test_accounts_by_words_by_follow_and_by_page(stage: Stage, ada: Person, bob: Person) -> None:
    path = "/api/v1/accounts/search"
    await bob.put("/api/v1/accounts/update_credentials", {"display_name": "Robert the Bruce"})
    assert ids(await ada.get(f"{path}?q=the bru")) == [bob.id]
    assert ids(await ada.get(f"{path}?q=bruce&following=true")) == []
    await ada.post(f"/api/v1/accounts/{bob.id}/follow")
    assert ids(await ada.get(f"{path}?q=bruce&following=true")) == [bob.id]
    assert ids(await ada.get(f"{path}?q=bruce&offset=1")) == []
    for nothing in ("%", "!!", "_", "&|:*", "a'b\\ & !"):
        assert ids(await ada.get(path, query_string={"q": nothing})) == []
    assert (await ada.get(path)).status == 400
    await stage.sql("UPDATE accounts SET suspended_at = now() WHERE id = $1", bob.account.id)
    assert ids(await ada.get(f"{path}?q=bruce")) == []


@pytest.mark.parametrize(
    "q",
    ["-" * 40 + "cat", "- " * 40, "<!--" * 100, '-" -' * 40, "cat " * 200_000, "a.b@" * 200_000, "\ufdfa" * 150_000],
)
async def test_what_is_looked_for_may_be_anything(ada: Person, q: str) -> None:
    for path, more in ((SEARCH, {}), (SEARCH, {"type": "statuses"}), ("/api/v1/accounts/search", {})):
        answer = await ada.send("GET", path, json={"q": q} | more)
        assert answer.status == 200, answer.text


async def test_a_sign_before_a_word_denies_it_and_one_inside_is_part_of_it(ada: Person) -> None:
    cat, dog = [(await ada.publish(text))["id"] for text in ("a cat, well-known", "a dog")]
    for q, there in (("a -dog", [cat]), ('a -"a dog"', [cat]), ("well-known", [cat]), ("a --- -", [dog, cat])):
        assert ids_of(await found(ada, q, type="statuses")) == there


def ids_of(result: dict[str, list[Any]]) -> list[str]:
    return [one["id"] for one in result["statuses"]]


@pytest.mark.parametrize("query", ["#cat", " #Cat "])
async def test_a_hashtag_alone_finds_hashtags_unless_another_type_is_asked_for(
    stage: Stage, ada: Person, query: str
) -> None:
    cat = await stage.person("cat")
    status = await ada.publish("a #cat")
    result = await found(ada, query)
    assert (names(result), result["accounts"], result["statuses"]) == (["cat"], [], [])
    assert [one["id"] for one in (await found(ada, query, type="statuses"))["statuses"]] == [status["id"]]
    assert [one["id"] for one in (await found(ada, query, type="accounts"))["accounts"]] == [cat.id]
    assert names(await found(ada, "\uff03cat")) == ["cat"]
    for words in ("cat", "a #cat"):
        assert [one["id"] for one in (await found(ada, words))["statuses"]] == [status["id"]]


@pytest.mark.parametrize("id", ["x", "-1", "1.5", str(2**63)])
async def test_statuses_of_an_account_with_an_id_that_is_none_are_not_found(ada: Person, id: str) -> None:
    await ada.publish("owl")
    assert (await found(ada, "owl", type="statuses", account_id=id))["statuses"] == []
