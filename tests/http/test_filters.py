"""Filters over both versions of the API: what clients get wrong, limits, and rows of other users."""

from typing import Any

import pytest

from troupe.actors.rules.limits import FILTER_KEYWORD_CHARACTERS, FILTER_KEYWORDS_CHARACTERS, FILTERS

from ..clients import HOME, Person, Stage

FILTERS_V1 = "/api/v1/filters"
FILTERS_V2 = "/api/v2/filters"
MISSING = (404, {"error": "Record not found"})

FILL = """
    INSERT INTO filters (id, account_id, title, contexts, action, created_at, updated_at)
    SELECT n, $1, 'old', '{home}', 'warn', now(), now() FROM generate_series(1, $2::bigint) n
"""
FILL_KEYWORDS = """
    INSERT INTO filter_keywords (id, filter_id, keyword, created_at)
    SELECT n, n, repeat('k', $1::int), now() FROM generate_series(1, $2::bigint) n
"""


def body(*keywords: Any, **more: Any) -> dict[str, Any]:
    return {"title": "animals", "context": ["home"], "keywords_attributes": list(keywords)} | more


async def create(person: Person, *keywords: str, **more: Any) -> Any:
    return await person.done("POST", FILTERS_V2, json=body(*({"keyword": keyword} for keyword in keywords), **more))


async def titles_found(person: Person) -> list[list[str]]:
    """Return the titles of the filters that match each status at home."""
    return [[one["filter"]["title"] for one in status["filtered"]] for status in (await person.get(HOME)).json]


def words(made: Any) -> list[str]:
    return [keyword["keyword"] for keyword in made["keywords"]]


async def test_a_filter_is_made_by_a_form_as_by_json(ada: Person) -> None:
    form = (
        "title=animals&context[]=home&context[]=thread&context[]=home&filter_action=hide&expires_in=60"
        "&keywords_attributes[][keyword]=lion&keywords_attributes[][whole_word]=false"
        "&keywords_attributes[][keyword]=zebra"
    )
    written = {"Content-Type": "application/x-www-form-urlencoded"}
    by_form = (await ada.post(FILTERS_V2, headers=written, data=form)).json
    by_json = await create(ada, filter_action="hide", expires_in=60, context=["home", "thread"])
    assert by_form["context"] == by_json["context"] == ["home", "thread"]
    assert by_form["filter_action"] == by_json["filter_action"] == "hide"
    assert [(one["keyword"], one["whole_word"]) for one in by_form["keywords"]] == [("lion", False), ("zebra", True)]


@pytest.mark.parametrize("given", [["", "home"], [" home ", "home"], ["home", "", " "]])
@pytest.mark.parametrize(("path", "name"), [(FILTERS_V1, {"phrase": "zebra"}), (FILTERS_V2, {"title": "zebra"})])
async def test_empty_elements_of_forms_are_no_contexts(
    ada: Person, path: str, name: dict[str, str], given: list[str]
) -> None:
    made = await ada.done("POST", path, json=name | {"context": given})
    assert made["context"] == ["home"]
    changed = await ada.done("PUT", f"{path}/{made['id']}", json=name | {"context": [*given, "public"]})
    assert changed["context"] == ["home", "public"]


async def test_an_unknown_action_warns(ada: Person) -> None:
    made = await create(ada, "zebra", filter_action="explode")
    assert made["filter_action"] == "warn"


REFUSED: list[tuple[dict[str, object], str]] = [
    ({"title": ""}, "Title can't be blank"),
    ({"title": " \n"}, "Title can't be blank"),
    ({"title": "t" * 257}, "Title is too long (maximum is 256 characters)"),
    ({"context": []}, "Context can't be blank, Context None or invalid context supplied"),
    ({"context": [" "]}, "Context can't be blank, Context None or invalid context supplied"),
    ({"context": ["home", "everywhere"]}, "Context None or invalid context supplied"),
    ({"keywords_attributes": [{"keyword": ""}]}, "Keyword can't be blank"),
    ({"keywords_attributes": [{"keyword": " \t\u200b"}]}, "Keyword can't be blank"),
    ({"keywords_attributes": [{"keyword": "k" * 513}]}, "Keyword is too long (maximum is 512 characters)"),
    ({"keywords_attributes": [{}]}, "Keyword can't be blank"),
    ({"expires_in": 10**12}, "Expires in is too far into the future"),
    ({"expires_in": "soon"}, "Expires in is invalid"),
    ({"expires_in": 1e300}, "Expires in is invalid"),
]


@pytest.mark.parametrize(("more", "text"), REFUSED)
async def test_bad_input_is_refused_and_changes_nothing(ada: Person, more: dict[str, Any], text: str) -> None:
    made = await create(ada, "zebra")
    wrong = body({"keyword": "lion"}) | more
    for answer in (
        await ada.post(FILTERS_V2, json=wrong),
        await ada.put(f"{FILTERS_V2}/{made['id']}", json=wrong),
    ):
        assert (answer.status, answer.json["error"]) == (422, f"Validation failed: {text}")
    assert (await ada.get(FILTERS_V2)).json == [made]


async def test_a_phrase_keeps_its_contexts_when_a_change_names_none(ada: Person) -> None:
    made = (await ada.post(FILTERS_V1, json={"phrase": "zebra", "context": ["home", "thread"]})).json
    path = f"{FILTERS_V1}/{made['id']}"
    assert (await ada.put(path, json={"phrase": "lion"})).json == made | {"phrase": "lion"}
    for wrong in ([], ["everywhere"]):
        refused = await ada.put(path, json={"phrase": "gnu", "context": wrong})
        assert refused.status == 422
        assert "Context None or invalid context supplied" in refused.json["error"]
    refused = await ada.post(FILTERS_V1, json={"phrase": "gnu"})
    assert (refused.status, "Context can't be blank" in refused.json["error"]) == (422, True)
    assert (await ada.get(FILTERS_V1)).json == [made | {"phrase": "lion"}]


@pytest.mark.parametrize("keyword", ["k" * 1_000_000, "zebra\0", "\ud800"])
async def test_hostile_keywords_are_refused(ada: Person, keyword: str) -> None:
    made = await create(ada, "zebra")
    sent = [
        await ada.post(FILTERS_V2, json=body({"keyword": keyword})),
        await ada.post(f"{FILTERS_V2}/{made['id']}/keywords", json={"keyword": keyword}),
        await ada.put(f"{FILTERS_V2}/keywords/{made['keywords'][0]['id']}", json={"keyword": keyword}),
        await ada.post(FILTERS_V1, json={"phrase": keyword, "context": ["home"]}),
    ]
    assert {answer.status for answer in sent} <= {400, 413, 422}
    assert all(answer.json["error"] for answer in sent)
    assert (await ada.get(FILTERS_V2)).json == [made]


async def test_keywords_are_no_patterns(ada: Person) -> None:
    patterns = ["(a+)+$", ".*", "[", "\\w+", "(?#", "%", "a{1,99999}", "^", "$1"]
    await create(ada, *patterns)
    await ada.publish("a" * 400)
    assert await titles_found(ada) == [[]]
    await ada.publish("what is .* for?")
    (first, _) = (await ada.get(HOME)).json
    assert [one["keyword_matches"] for one in first["filtered"]] == [[".*"]]


async def test_thousands_of_keywords_are_refused(ada: Person) -> None:
    for count in (1_001, 20_000):
        refused = await ada.post(FILTERS_V2, json=body(*({"keyword": f"k{number}"} for number in range(count))))
        assert refused.status in (400, 413, 422), count
        assert refused.json["error"]
    assert (await ada.get(FILTERS_V2)).json == []


async def test_an_expiry_in_the_past_is_over_at_once_and_none_is_never(ada: Person) -> None:
    await ada.publish("a zebra")
    made = await create(ada, "zebra", expires_in=-5)
    assert made["expires_at"] is not None
    assert await titles_found(ada) == [[]]
    revived = await ada.put(f"{FILTERS_V2}/{made['id']}", json={"expires_in": ""})
    assert revived.json["expires_at"] is None
    assert await titles_found(ada) == [["animals"]]
    unchanged = await ada.put(f"{FILTERS_V2}/{made['id']}", json={"title": "beasts"})
    assert unchanged.json == revived.json | {"title": "beasts"}


async def test_keywords_are_changed_added_and_destroyed_in_one_call(ada: Person) -> None:
    made = await create(ada, "lion", "zebra", "gnu")
    lion, zebra, gnu = (keyword["id"] for keyword in made["keywords"])
    attributes = [
        {"id": lion, "keyword": "tiger"},
        {"id": zebra, "_destroy": "1", "keyword": ""},
        {"id": gnu, "whole_word": "false"},
        {"keyword": "okapi"},
        {"keyword": "never", "_destroy": True},
    ]
    changed = (await ada.put(f"{FILTERS_V2}/{made['id']}", json={"keywords_attributes": attributes})).json
    assert words(changed) == ["tiger", "gnu", "okapi"]
    assert [keyword["whole_word"] for keyword in changed["keywords"]] == [True, False, True]
    assert [keyword["id"] for keyword in changed["keywords"]][:2] == [lion, gnu]
    assert (await ada.get(f"{FILTERS_V2}/{made['id']}")).json == changed


@pytest.mark.parametrize("change", [{"keyword": "stolen"}, {"_destroy": True}])
async def test_a_keyword_of_another_filter_can_not_be_named(ada: Person, bob: Person, change: dict[str, Any]) -> None:
    own, other, strange = await create(ada, "lion"), await create(ada, "zebra"), await create(bob, "gnu")
    for id in (other["keywords"][0]["id"], strange["keywords"][0]["id"], "1", str(2**63)):
        attributes = [{"keyword": "okapi"}, {"id": id} | change]
        answer = await ada.put(f"{FILTERS_V2}/{own['id']}", json={"keywords_attributes": attributes})
        assert (answer.status, answer.json) == MISSING, id
    assert (await ada.get(FILTERS_V2)).json == [own, other]
    assert (await bob.get(FILTERS_V2)).json == [strange]


async def test_every_route_is_closed_to_others(ada: Person, bob: Person) -> None:
    status = await ada.publish("a zebra")
    made = await create(ada, "zebra")
    named = (await ada.post(f"{FILTERS_V2}/{made['id']}/statuses", {"status_id": status["id"]})).json
    keyword, before = made["keywords"][0]["id"], (await ada.get(FILTERS_V2)).json
    for method, path in (
        ("GET", f"{FILTERS_V2}/{made['id']}"),
        ("PUT", f"{FILTERS_V2}/{made['id']}"),
        ("DELETE", f"{FILTERS_V2}/{made['id']}"),
        ("GET", f"{FILTERS_V2}/{made['id']}/keywords"),
        ("POST", f"{FILTERS_V2}/{made['id']}/keywords"),
        ("GET", f"{FILTERS_V2}/{made['id']}/statuses"),
        ("POST", f"{FILTERS_V2}/{made['id']}/statuses"),
        ("GET", f"{FILTERS_V2}/keywords/{keyword}"),
        ("PUT", f"{FILTERS_V2}/keywords/{keyword}"),
        ("DELETE", f"{FILTERS_V2}/keywords/{keyword}"),
        ("GET", f"{FILTERS_V2}/statuses/{named['id']}"),
        ("DELETE", f"{FILTERS_V2}/statuses/{named['id']}"),
        ("GET", f"{FILTERS_V1}/{keyword}"),
        ("PUT", f"{FILTERS_V1}/{keyword}"),
        ("DELETE", f"{FILTERS_V1}/{keyword}"),
    ):
        sent = {"title": "x", "keyword": "x", "phrase": "x", "context": ["home"], "status_id": status["id"]}
        answer = await (bob.get(path) if method == "GET" else bob.send(method, path, json=sent))
        assert (answer.status, answer.json) == MISSING, (method, path)
    assert (await ada.get(FILTERS_V2)).json == before


async def test_a_filter_names_no_status_that_its_owner_may_not_see(ada: Person, bob: Person) -> None:
    made, secret = await create(ada), await bob.publish("for me", visibility="direct")
    for id in (secret["id"], "1", "x", str(2**64)):
        answer = await ada.post(f"{FILTERS_V2}/{made['id']}/statuses", {"status_id": id})
        assert answer.status == 404 or (id == "x" and answer.status in (400, 404)), id
    assert (await ada.get(f"{FILTERS_V2}/{made['id']}/statuses")).json == []


async def test_the_keywords_of_all_filters_have_a_longest_length(ada: Person) -> None:
    whole, rest = divmod(FILTER_KEYWORDS_CHARACTERS, FILTER_KEYWORD_CHARACTERS)
    made = await create(ada, *(f"{number:03}".ljust(FILTER_KEYWORD_CHARACTERS, "k") for number in range(whole)))
    assert rest > 0
    assert (await ada.post(FILTERS_V1, {"phrase": "k" * rest, "context[]": "home"})).status == 200
    refused = await ada.post(f"{FILTERS_V2}/{made['id']}/keywords", {"keyword": "k"})
    assert refused.status == 422
    assert "too long" in refused.json["error"]


async def test_an_account_over_the_limits_may_still_have_less(stage: Stage, ada: Person) -> None:
    """The limits may have been higher once."""
    await stage.sql(FILL, ada.account.id, FILTERS + 3)
    await stage.sql(FILL_KEYWORDS, FILTER_KEYWORDS_CHARACTERS // FILTERS, FILTERS + 3)
    assert (await ada.post(FILTERS_V2, json=body())).status == 422
    assert (await ada.post(f"{FILTERS_V2}/1/keywords", {"keyword": "one more"})).status == 422
    for answer in (
        await ada.put(f"{FILTERS_V2}/1", json={"title": "renamed"}),
        await ada.put(f"{FILTERS_V2}/keywords/1", {"keyword": "shorter"}),
        await ada.put(f"{FILTERS_V2}/1", json={"keywords_attributes": [{"id": "1", "_destroy": True}]}),
        await ada.delete(f"{FILTERS_V2}/keywords/2"),
        await ada.delete(f"{FILTERS_V1}/3"),
        await ada.delete(f"{FILTERS_V2}/1"),
    ):
        assert answer.status == 200, answer.text
    assert len((await ada.get(FILTERS_V2)).json) == FILTERS + 1
    assert (await ada.post(FILTERS_V2, json=body())).status == 422


async def test_what_a_change_of_a_keyword_leaves_out_stays(ada: Person) -> None:
    made = await create(ada, "zebra")
    path = f"{FILTERS_V2}/keywords/{made['keywords'][0]['id']}"
    for change, keyword, whole_word in (
        ({"whole_word": "false"}, "zebra", False),
        ({"keyword": "okapi"}, "okapi", False),
        ({"whole_word": "true"}, "okapi", True),
        ({}, "okapi", True),
    ):
        assert {"keyword": keyword, "whole_word": whole_word}.items() <= (await ada.done("PUT", path, change)).items()
    assert (await ada.put(path, {"keyword": ""})).json == {"error": "Validation failed: Keyword can't be blank"}


async def test_the_answer_to_a_deletion_has_the_matches(ada: Person) -> None:
    await create(ada, "zebra")
    status = await ada.publish("a zebra")
    deleted = (await ada.delete(f"/api/v1/statuses/{status['id']}")).json
    assert [one["keyword_matches"] for one in deleted["filtered"]] == [["zebra"]]
