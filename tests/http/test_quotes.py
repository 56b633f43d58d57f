"""Quotes: who may quote a status, what is shown of it to each viewer, and how a quote ends."""

from typing import Any

import pytest

from troupe.storage.engine.json_values import is_list, object_or_empty

from ..clients import HOME, Client, Person, Reply, Stage, ids, link

STATUSES = "/api/v1/statuses"
NO_QUOTED = {"error": "The post you are trying to quote does not appear to exist."}
NOT_ALLOWED = {"error": "This action is not allowed"}
MISSING = {"error": "Record not found"}
ALONE = {"error": "Validation failed: A post with a quote can't have media or a poll"}
ALL, FOLLOWERS, NOBODY = (
    {"automatic": automatic, "manual": []} for automatic in (["public"], ["followers"], list[str]())
)


async def quote(person: Person, status: Any, text: str = "look", **more: Any) -> Any:
    return await person.publish(text, quoted_status_id=status["id"], **more)


async def try_to_quote(person: Person, status: Any, **more: Any) -> Reply:
    return await person.post(STATUSES, {"status": "look", "quoted_status_id": status["id"], **more})


async def seen(person: Client, status: Any) -> Any:
    return (await person.get(f"{STATUSES}/{status['id']}")).json


async def quotes_of(person: Person, status: Any, query: str = "") -> Reply:
    return await person.get(f"{STATUSES}/{status['id']}/quotes{query}")


async def revoke(person: Person, status: Any, quoting: Any) -> Reply:
    return await person.post(f"{STATUSES}/{status['id']}/quotes/{quoting['id']}/revoke")


async def told(person: Person, *types: str) -> list[tuple[str, str, str]]:
    answer = await person.get("/api/v1/notifications")
    return [
        (one["type"], one["account"]["acct"], one["status"]["id"])
        for one in answer.json
        if not types or one["type"] in types
    ]


# -- quoting


async def test_a_quote_shows_the_quoted_status_and_counts(ada: Person, bob: Person) -> None:
    post = await ada.publish("a needle")
    made = await quote(bob, post)
    assert (made["quote"]["state"], made["quote"]["quoted_status"]["content"]) == ("accepted", "<p>a needle</p>")
    assert made["quote"]["quoted_status"]["account"]["acct"] == "ada"
    assert (await seen(bob, made))["quote"] == made["quote"]
    assert (await seen(ada, post))["quotes_count"] == 1
    assert made["quote"]["quoted_status"]["quotes_count"] == 1
    assert await told(ada) == [("quote", "bob", made["id"])]
    assert (await seen(ada, post))["quote"] is None


async def test_of_what_a_quoted_status_quotes_the_id_is_shown(ada: Person, bob: Person, cyd: Person) -> None:
    post = await ada.publish("one")
    second = await quote(bob, post, "two")
    third = await quote(cyd, second, "three")
    assert third["quote"]["quoted_status"]["quote"] == {"state": "accepted", "quoted_status_id": post["id"]}
    assert (await quote(ada, third, "four"))["quote"]["quoted_status"]["quote"]["quoted_status_id"] == second["id"]
    await ada.post(f"/api/v1/accounts/{cyd.id}/mute")
    await ada.delete(f"{STATUSES}/{post['id']}")
    assert (await seen(cyd, third))["quote"]["quoted_status"]["quote"] == {"state": "deleted", "quoted_status_id": None}


async def test_the_id_of_a_status_that_is_hidden_stays_hidden(ada: Person, bob: Person, cyd: Person) -> None:
    post = await ada.publish("one")
    third = await quote(cyd, await quote(bob, post, "two"), "three")
    await ada.post(f"/api/v1/accounts/{cyd.id}/block")
    shown = await seen(cyd, third)
    assert shown["quote"]["quoted_status"]["quote"] == {"state": "unauthorized", "quoted_status_id": None}
    assert post["id"] not in (await cyd.get(f"{STATUSES}/{third['id']}")).text


async def test_a_boost_is_quoted_as_its_original(ada: Person, bob: Person) -> None:
    post = await ada.publish("one")
    boost = (await bob.post(f"{STATUSES}/{post['id']}/reblog")).json
    assert (await quote(bob, boost))["quote"]["quoted_status"]["id"] == post["id"]


async def test_a_boost_shows_the_quote_of_its_original(ada: Person, bob: Person, cyd: Person) -> None:
    post = await ada.publish("a needle")
    made = await quote(bob, post)
    boost = (await cyd.post(f"{STATUSES}/{made['id']}/reblog")).json
    assert boost["quote"] is None
    assert boost["reblog"]["quote"]["quoted_status"]["id"] == post["id"]
    await ada.post(f"/api/v1/accounts/{cyd.id}/block")
    assert "needle" not in (await cyd.get(HOME)).text


@pytest.mark.parametrize("id", ["7", "x", "-1", "1.5", str(2**63), "9" * 400])
async def test_what_does_not_exist_is_not_quoted(ada: Person, id: str) -> None:
    answer = await try_to_quote(ada, {"id": id})
    assert (answer.status, answer.json) == (404, NO_QUOTED)


@pytest.mark.parametrize("warning", ["", "uspol"])
async def test_a_quote_needs_no_text_and_keeps_its_warning(ada: Person, bob: Person, warning: str) -> None:
    post = await ada.publish("a needle")
    made = await quote(bob, post, " ", spoiler_text=warning)
    assert (made["content"], made["spoiler_text"], made["sensitive"]) == ("", warning, bool(warning))
    assert made["quote"]["state"] == "accepted"
    edited = await bob.done("PUT", f"{STATUSES}/{made['id']}", {"spoiler_text": "careful"})
    assert (edited["content"], edited["spoiler_text"]) == ("", "careful")
    later = await quote(bob, post, "", scheduled_at="2999-01-01")
    assert (later["params"]["text"], later["params"]["quoted_status_id"]) == ("", post["id"])


async def test_an_empty_id_quotes_nothing(ada: Person) -> None:
    assert (await try_to_quote(ada, {"id": ""})).json["quote"] is None


@pytest.mark.parametrize("more", [{"media_ids": ["7"]}, {"poll": {"options": ["a", "b"], "expires_in": 600}}])
async def test_a_quote_has_neither_media_nor_a_poll(ada: Person, bob: Person, more: dict[str, Any]) -> None:
    post = await ada.publish()
    answer = await bob.post(STATUSES, json={"status": "look", "quoted_status_id": post["id"], **more})
    assert (answer.status, answer.json) == (422, ALONE)
    made = await quote(bob, post)
    answer = await bob.put(f"{STATUSES}/{made['id']}", json={"status": "look", **more})
    assert (answer.status, answer.json) == (422, ALONE)


async def test_a_repeated_request_makes_one_quote_also_when_the_quoted_status_is_gone(
    stage: Stage, ada: Person, bob: Person
) -> None:
    post = await ada.publish()
    form, key = {"status": "look", "quoted_status_id": post["id"]}, {"Idempotency-Key": "once"}
    first = await bob.post(STATUSES, form, headers=key)
    again = await bob.post(STATUSES, form, headers=key)
    assert again.json["id"] == first.json["id"]
    assert (await seen(ada, post))["quotes_count"] == 1
    await ada.delete(f"{STATUSES}/{post['id']}")
    late = await bob.post(STATUSES, form, headers=key)
    assert (late.status, late.json["id"], late.json["quote"]["state"]) == (200, first.json["id"], "deleted")


async def test_a_reply_may_quote_what_it_replies_to(ada: Person, bob: Person) -> None:
    post = await ada.publish()
    made = await quote(bob, post, in_reply_to_id=post["id"])
    assert made["in_reply_to_id"] == made["quote"]["quoted_status"]["id"] == post["id"]
    shown = await seen(ada, post)
    assert (shown["replies_count"], shown["quotes_count"]) == (1, 1)
    await bob.delete(f"{STATUSES}/{made['id']}")
    shown = await seen(ada, post)
    assert (shown["replies_count"], shown["quotes_count"]) == (0, 0)


# -- permission


@pytest.mark.parametrize(
    ("policy", "shown", "author", "follower", "stranger"),
    [
        ("public", ALL, "automatic", "automatic", "automatic"),
        ("followers", FOLLOWERS, "automatic", "automatic", "denied"),
        ("nobody", NOBODY, "automatic", "denied", "denied"),
    ],
)
async def test_the_policy_decides_who_may_quote(
    stage: Stage, ada: Person, bob: Person, cyd: Person, policy: str, shown: Any, author: str, follower: str,
    stranger: str,
) -> None:  # fmt: skip
    await bob.post(f"/api/v1/accounts/{ada.id}/follow")
    post = await ada.publish("one", quote_approval_policy=policy)
    for person, approval in ((ada, author), (bob, follower), (cyd, stranger)):
        assert (await seen(person, post))["quote_approval"] == shown | {"current_user": approval}
        answer = await try_to_quote(person, post)
        assert (answer.status, answer.json if answer.status == 404 else None) == (
            (200, None) if approval == "automatic" else (404, NO_QUOTED)
        )
    anonymous = (await stage.anybody().get(f"{STATUSES}/{post['id']}")).json
    assert anonymous["quote_approval"] == shown | {"current_user": "denied"}


@pytest.mark.parametrize("visibility", ["private", "direct"])
async def test_statuses_for_some_have_no_policy_for_others(ada: Person, bob: Person, visibility: str) -> None:
    await bob.post(f"/api/v1/accounts/{ada.id}/follow")
    post = await ada.publish("@bob one", visibility=visibility, quote_approval_policy="public")
    path = f"{STATUSES}/{post['id']}/interaction_policy"
    assert (await ada.put(path, {"quote_approval_policy": "public"})).status == 200
    assert (await seen(bob, post))["quote_approval"] == NOBODY | {"current_user": "denied"}
    answer = await try_to_quote(bob, post)
    assert (answer.status, answer.json) == (404, NO_QUOTED)


async def test_ones_own_private_status_is_quoted_for_followers_alone(ada: Person, bob: Person) -> None:
    await bob.post(f"/api/v1/accounts/{ada.id}/follow")
    post = await ada.publish("a needle", visibility="private")
    made = [await quote(ada, post, "@bob", visibility=one) for one in ("public", "unlisted", "private", "direct")]
    assert [one["visibility"] for one in made] == ["private", "private", "private", "direct"]
    assert (await seen(bob, made[0]))["quote"]["state"] == "accepted"
    direct = await ada.publish("@bob", visibility="direct")
    assert (await try_to_quote(ada, direct)).json == NO_QUOTED
    assert (await seen(ada, direct))["quote_approval"]["current_user"] == "denied"


async def test_the_default_policy_is_that_of_the_account(ada: Person, bob: Person) -> None:
    await ada.put("/api/v1/accounts/update_credentials", {"source[quote_policy]": "nobody"})
    assert (await ada.get("/api/v1/preferences")).json["posting:default:quote_policy"] == "nobody"
    assert (await ada.publish())["quote_approval"]["automatic"] == []
    assert (await ada.publish(quote_approval_policy="public"))["quote_approval"]["automatic"] == ["public"]


async def test_a_policy_holds_from_its_change_on(ada: Person, bob: Person) -> None:
    post = await ada.publish()
    made = await quote(bob, post)
    path = f"{STATUSES}/{post['id']}/interaction_policy"
    changed = (await ada.put(path, {"quote_approval_policy": "nobody"})).json
    assert (changed["quote_approval"]["automatic"], changed["edited_at"]) == ([], None)
    assert (await try_to_quote(bob, post)).status == 404
    assert (await seen(bob, made))["quote"]["state"] == "accepted"
    edited = (await ada.put(f"{STATUSES}/{post['id']}", {"status": "two"})).json
    assert edited["quote_approval"]["automatic"] == []
    edited = (await ada.put(f"{STATUSES}/{post['id']}", {"status": "3", "quote_approval_policy": "public"})).json
    assert edited["quote_approval"]["automatic"] == ["public"]
    assert (await try_to_quote(bob, post)).status == 200


async def test_a_refused_edit_changes_no_policy(ada: Person, bob: Person) -> None:
    post = await ada.publish(quote_approval_policy="nobody")
    edit = {"status": "two", "media_ids": ["1"], "quote_approval_policy": "public"}
    assert (await ada.put(f"{STATUSES}/{post['id']}", json=edit)).status == 422
    assert (await try_to_quote(bob, post)).status == 404


async def test_a_boost_has_no_policy_of_its_own(ada: Person) -> None:
    boost = (await ada.post(f"{STATUSES}/{(await ada.publish())['id']}/reblog")).json
    answer = await ada.put(f"{STATUSES}/{boost['id']}/interaction_policy", {"quote_approval_policy": "nobody"})
    assert (answer.status, answer.json) == (403, NOT_ALLOWED)


@pytest.mark.parametrize("value", ["everyone", "automatic", "x" * 5000])
async def test_other_policies_do_not_exist(ada: Person, value: str) -> None:
    post = await ada.publish()
    for method, path in (("PUT", f"{STATUSES}/{post['id']}/interaction_policy"), ("POST", STATUSES)):
        answer = await ada.send(method, path, form={"status": "x", "quote_approval_policy": value})
        assert answer.status == 422


async def test_blocks_forbid_quotes(ada: Person, bob: Person, cyd: Person) -> None:
    post = await ada.publish()
    await bob.post(f"/api/v1/accounts/{ada.id}/block")
    await ada.post(f"/api/v1/accounts/{cyd.id}/block")
    assert (await seen(bob, post))["quote_approval"]["current_user"] == "denied"
    blocking, blocked = await try_to_quote(bob, post), await try_to_quote(cyd, post)
    assert (blocking.status, blocking.json) == (403, NOT_ALLOWED)
    assert (blocked.status, blocked.json) == (404, NO_QUOTED)


async def test_a_quote_of_another_server_waits_for_its_author(stage: Stage, ada: Person, bob: Person) -> None:
    post = await ada.publish("a needle")
    await stage.sql("UPDATE statuses SET local = false, quote_policy = 'nobody', quote_manual_policy = 'public'")
    stage.http_context.statuses.clear()
    approval = {"automatic": [], "manual": ["public"], "current_user": "manual"}
    assert (await seen(bob, post))["quote_approval"] == approval
    made = await quote(bob, post)
    assert made["quote"] == {"state": "pending", "quoted_status": None}
    assert (await seen(bob, post))["quotes_count"] == 0
    assert await told(ada) == []
    assert ids(await quotes_of(bob, post)) == []
    refused = (await revoke(ada, post, made)).json
    assert refused["quote"] == {"state": "rejected", "quoted_status": None}


# -- what is shown


async def test_the_quoted_status_is_hidden_from_viewers_who_may_not_see_it(
    stage: Stage, ada: Person, bob: Person, cyd: Person
) -> None:
    post = await ada.publish("a needle")
    made = await quote(bob, post)
    path = f"{STATUSES}/{made['id']}"
    for person, how, state in (
        (cyd, f"/api/v1/accounts/{ada.id}/mute", "muted_account"),
        (cyd, f"/api/v1/accounts/{ada.id}/block", "blocked_account"),
    ):
        assert (await person.post(how)).status == 200
        answer = await person.get(path)
        assert answer.json["quote"] == {"state": state, "quoted_status": None}
        assert "needle" not in answer.text
        assert f'"{ada.id}"' not in answer.text
    dan = await stage.person("dan")
    await ada.post(f"/api/v1/accounts/{dan.id}/block")
    assert (await seen(dan, made))["quote"] == {"state": "unauthorized", "quoted_status": None}
    assert (await seen(bob, made))["quote"]["state"] == "accepted"
    assert (await stage.anybody().get(path)).json["quote"]["state"] == "accepted"


async def test_each_state_of_a_status_has_the_quote_as_the_viewer_may_see_it(
    stage: Stage, ada: Person, bob: Person, cyd: Person
) -> None:
    post = await ada.publish("a needle")
    made = await quote(bob, post, "one")
    await bob.put(f"{STATUSES}/{made['id']}", {"status": "two"})
    await cyd.post(f"{STATUSES}/{post['id']}/favourite")
    path = f"{STATUSES}/{made['id']}/history"
    for person in (cyd, stage.anybody()):
        states = (await person.get(path)).json
        assert [one["content"] for one in states] == ["<p>one</p>", "<p>two</p>"]
        assert [one["quote"] for one in states] == [(await seen(person, made))["quote"]] * 2
        assert states[0]["quote"]["quoted_status"]["id"] == post["id"]
    for how, state in (("mute", "muted_account"), ("block", "blocked_account")):
        await cyd.post(f"/api/v1/accounts/{ada.id}/{how}")
        answer = await cyd.get(path)
        assert [one["quote"] for one in answer.json] == [{"state": state, "quoted_status": None}] * 2
        assert "needle" not in answer.text
    await revoke(ada, post, made)
    answer = await bob.get(path)
    assert [one["quote"] for one in answer.json] == [{"state": "revoked", "quoted_status": None}] * 2


async def test_a_blocked_domain_hides_what_is_quoted_from_there(stage: Stage, ada: Person, bob: Person) -> None:
    made = await quote(bob, await ada.publish("a needle"))
    await stage.sql("UPDATE accounts SET domain = 'far.example' WHERE id = $1", ada.account.id)
    await bob.post("/api/v1/domain_blocks", {"domain": "far.example"})
    assert (await seen(bob, made))["quote"] == {"state": "blocked_domain", "quoted_status": None}


@pytest.mark.parametrize("column", ["suspended_at", "silenced_at"])
async def test_suspended_and_silenced_authors_are_not_shown_in_quotes(
    stage: Stage, ada: Person, bob: Person, cyd: Person, column: str
) -> None:
    await cyd.post(f"/api/v1/accounts/{ada.id}/follow")
    made = await quote(bob, await ada.publish("a needle"))
    await stage.sql(f"UPDATE accounts SET {column} = now() WHERE id = $1", ada.account.id)
    assert (await seen(bob, made))["quote"] == {"state": "unauthorized", "quoted_status": None}
    shown = (await seen(cyd, made))["quote"]["state"]
    assert shown == ("accepted" if column == "silenced_at" else "unauthorized")


async def test_a_private_quoted_status_is_shown_to_followers_alone(ada: Person, bob: Person, cyd: Person) -> None:
    await bob.post(f"/api/v1/accounts/{ada.id}/follow")
    post = await ada.publish("a needle", visibility="private")
    made = await quote(ada, post, "@bob @cyd look", visibility="direct")
    assert (await seen(bob, made))["quote"]["state"] == "accepted"
    assert (await seen(cyd, made))["quote"] == {"state": "unauthorized", "quoted_status": None}
    letter = (await cyd.get("/api/v1/conversations")).json[0]["last_status"]
    assert letter["quote"]["state"] == "unauthorized"
    assert "needle" not in (await cyd.get("/api/v1/notifications")).text


async def test_flags_and_filters_of_the_viewer_are_in_the_quoted_status(ada: Person, bob: Person) -> None:
    post = await ada.publish("a needle")
    made = await quote(bob, post)
    await bob.post(f"{STATUSES}/{post['id']}/favourite")
    filters = {"title": "sharp", "context": ["home"], "keywords_attributes": [{"keyword": "needle"}]}
    assert (await bob.post("/api/v2/filters", json=filters)).status == 200
    shown = await seen(bob, made)
    quoted = shown["quote"]["quoted_status"]
    assert (shown["favourited"], quoted["favourited"]) == (False, True)
    assert (shown["filtered"], [one["keyword_matches"] for one in quoted["filtered"]]) == ([], [["needle"]])
    late = await quote(bob, await ada.publish("hay"), "a needle")
    assert [one["keyword_matches"] for one in late["filtered"]] == [["needle"]]
    assert late["quote"]["quoted_status"]["filtered"] == []


async def test_the_deleted_are_not_shown_in_quotes(ada: Person, bob: Person) -> None:
    post = await ada.publish("a needle")
    made = await quote(bob, post)
    await ada.delete(f"{STATUSES}/{post['id']}")
    for answer in (await bob.get(f"{STATUSES}/{made['id']}"), await bob.get(HOME)):
        shown = object_or_empty(found[0]) if is_list(found := answer.json) else found
        assert shown["quote"] == {"state": "deleted", "quoted_status": None}
        assert "needle" not in answer.text


async def test_an_edit_of_the_quoted_status_shows_and_is_told(ada: Person, bob: Person) -> None:
    post = await ada.publish("one")
    made = await quote(bob, post)
    news: list[str] = []
    for text in ("two", "three"):
        await ada.put(f"{STATUSES}/{post['id']}", {"status": text})
        assert (await seen(bob, made))["quote"]["quoted_status"]["content"] == f"<p>{text}</p>"
        assert await told(bob) == [("quoted_update", "ada", made["id"])]
        news.append((await bob.get("/api/v1/notifications")).json[0]["id"])
    assert news[0] != news[1], "each edit is news"
    await revoke(ada, post, made)
    assert await told(bob) == []
    await ada.put(f"{STATUSES}/{post['id']}", {"status": "four"})
    assert await told(bob) == []


async def test_other_news_of_a_quote_outlasts_edits_and_a_revocation(ada: Person, bob: Person) -> None:
    post = await ada.publish("one")
    made = await quote(bob, post)
    await ada.post(f"{STATUSES}/{made['id']}/favourite")
    kept = [("favourite", "ada", made["id"])]
    for text in ("two", "three"):
        await ada.put(f"{STATUSES}/{post['id']}", {"status": text})
        assert await told(bob) == [("quoted_update", "ada", made["id"]), *kept]
    await revoke(ada, post, made)
    assert await told(bob) == kept


async def test_an_edit_is_told_to_those_alone_whose_quotes_stand(ada: Person, bob: Person, cyd: Person) -> None:
    post = await ada.publish("one")
    made, standing = await quote(bob, post), await quote(cyd, post)
    await revoke(ada, post, made)
    await ada.put(f"{STATUSES}/{post['id']}", {"status": "two"})
    assert await told(bob) == []
    assert await told(cyd) == [("quoted_update", "ada", standing["id"])]


async def test_an_edit_keeps_the_quote(ada: Person, bob: Person) -> None:
    post, other = await ada.publish("one"), await ada.publish("other")
    made = await quote(bob, post)
    edited = await bob.put(f"{STATUSES}/{made['id']}", {"status": "look here", "quoted_status_id": other["id"]})
    assert edited.json["quote"]["quoted_status"]["id"] == post["id"]
    assert [(await seen(ada, one))["quotes_count"] for one in (post, other)] == [1, 0]


async def test_a_private_quote_is_open_to_the_quoted_author(ada: Person, bob: Person, cyd: Person) -> None:
    """Who can't see a quote can't revoke it. It is no mention: no other account learns of it."""
    post = await ada.publish("one")
    for visibility in ("private", "direct"):
        made = await quote(bob, post, "@cyd look", visibility=visibility)
        assert (await told(ada))[0] == ("quote", "bob", made["id"])
        assert [one["acct"] for one in made["mentions"]] == ["cyd"]
        assert (await revoke(ada, post, made)).json["quote"]["state"] == "revoked"
    assert await told(ada, "mention") == []
    assert (await ada.get("/api/v1/conversations")).json == []
    assert (await try_to_quote(bob, post, visibility="direct", **{"allowed_mentions[]": cyd.id})).status == 200


# -- how quotes end


async def test_the_author_revokes_a_quote(ada: Person, bob: Person) -> None:
    post = await ada.publish("a needle")
    made = await quote(bob, post)
    for _ in range(2):
        answer = await revoke(ada, post, made)
        assert (answer.status, answer.json["id"]) == (200, made["id"])
        assert answer.json["quote"] == {"state": "revoked", "quoted_status": None}
    assert (await seen(bob, made))["quote"] == {"state": "revoked", "quoted_status": None}
    assert "needle" not in (await bob.get(HOME)).text
    assert (await seen(ada, post))["quotes_count"] == 0
    assert ids(await quotes_of(ada, post)) == []
    await bob.delete(f"{STATUSES}/{made['id']}")
    assert (await seen(ada, post))["quotes_count"] == 0


async def test_other_accounts_revoke_nothing(stage: Stage, ada: Person, bob: Person, cyd: Person) -> None:
    post, other = await ada.publish("one"), await ada.publish("two")
    made = await quote(bob, post)
    for person in (bob, cyd):
        answer = await revoke(person, post, made)
        assert (answer.status, answer.json) == (403, NOT_ALLOWED)
    for status, quoting in ((other, made), (post, other), (post, {"id": "7"}), ({"id": "7"}, made)):
        answer = await revoke(ada, status, quoting)
        assert (answer.status, answer.json) == (404, MISSING)
    hidden = await quote(bob, post, visibility="private")
    answer = await revoke(cyd, post, hidden)
    assert (answer.status, answer.json) == (404, MISSING)
    assert (await seen(ada, post))["quotes_count"] == 2


@pytest.mark.parametrize("blocker", ["ada", "bob"])
async def test_a_block_ends_quotes_both_ways(ada: Person, bob: Person, cyd: Person, blocker: str) -> None:
    posts = [await ada.publish("one"), await bob.publish("two")]
    made = [await quote(bob, posts[0]), await quote(ada, posts[1]), await quote(cyd, posts[0])]
    one, other = (ada, bob) if blocker == "ada" else (bob, ada)
    await one.post(f"/api/v1/accounts/{other.id}/block")
    assert [(await seen(cyd, status))["quote"]["state"] for status in made] == ["revoked", "revoked", "accepted"]
    assert [(await seen(cyd, status))["quotes_count"] for status in posts] == [1, 0]
    await one.post(f"/api/v1/accounts/{other.id}/unblock")
    assert (await seen(cyd, made[0]))["quote"]["state"] == "revoked"


async def test_a_deleted_quote_counts_no_more(ada: Person, bob: Person) -> None:
    post = await ada.publish("a needle")
    made = await quote(bob, post)
    gone = (await bob.delete(f"{STATUSES}/{made['id']}")).json
    assert (gone["text"], gone["quote"]["quoted_status"]["id"]) == ("look", post["id"])
    assert gone["quote_approval"]["current_user"] == "automatic"
    assert (await seen(ada, post))["quotes_count"] == 0
    assert await told(ada) == []


# -- lists of quotes


async def test_quotes_are_listed_page_by_page(ada: Person, bob: Person, cyd: Person) -> None:
    post = await ada.publish("one")
    made = [await quote(bob, post, str(number)) for number in range(5)]
    newest = [one["id"] for one in reversed(made)]
    first = await quotes_of(cyd, post, "?limit=2")
    assert ids(first) == newest[:2]
    assert first.json[0]["quote"]["quoted_status"]["id"] == post["id"]
    second = await cyd.get(link(first, "next"))
    assert ids(second) == newest[2:4]
    last = await cyd.get(link(second, "next"))
    assert ids(last) == newest[4:]
    assert "next" not in last.headers["Link"]
    assert ids(await cyd.get(link(second, "prev"))) == newest[:2]
    assert ids(await quotes_of(cyd, post, f"?min_id={newest[4]}&limit=1")) == [newest[3]]
    assert (await quotes_of(cyd, await ada.publish("two"))).headers.get("Link") is None


async def test_quotes_are_listed_for_viewers_who_may_see_them(
    stage: Stage, ada: Person, bob: Person, cyd: Person
) -> None:
    await cyd.post(f"/api/v1/accounts/{bob.id}/follow")
    post = await ada.publish("one")
    open_one, private = await quote(bob, post), await quote(bob, post, visibility="private")
    dan = await stage.person("dan")
    assert ids(await quotes_of(ada, post)) == ids(await quotes_of(cyd, post)) == [private["id"], open_one["id"]]
    assert ids(await quotes_of(dan, post, "?limit=1")) == [open_one["id"]]
    await dan.post(f"/api/v1/accounts/{bob.id}/mute")
    assert ids(await quotes_of(dan, post)) == []
    await ada.post(f"/api/v1/accounts/{bob.id}/mute")
    assert ids(await quotes_of(ada, post)) == [private["id"], open_one["id"]]
    await ada.post(f"/api/v1/accounts/{dan.id}/block")
    assert (await quotes_of(dan, post)).json == MISSING
    assert (await stage.anybody().get(f"{STATUSES}/{post['id']}/quotes")).status == 401


# -- notifications


async def test_a_policy_may_filter_quotes(ada: Person, bob: Person) -> None:
    await ada.send("PATCH", "/api/v2/notifications/policy", form={"for_not_following": "filter"})
    made = await quote(bob, await ada.publish("one"))
    assert await told(ada) == []
    (request,) = (await ada.get("/api/v1/notifications/requests")).json
    assert (request["account"]["acct"], request["last_status"]["id"]) == ("bob", made["id"])


async def test_ones_own_quotes_and_those_of_muted_accounts_are_not_told(ada: Person, bob: Person) -> None:
    post = await ada.publish("one")
    await quote(ada, post)
    await ada.post(f"/api/v1/accounts/{bob.id}/mute")
    await quote(bob, post)
    assert await told(ada) == []
    assert (await seen(ada, post))["quotes_count"] == 2
