"""What the servers of one registered domain can make grow here: rows of every kind have a bound.

What they send is done all the same, and other domains have their own bounds.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
import trio

from troupe.actors import remote_emojis
from troupe.actors.commands import received_statuses
from troupe.actors.memory import daily_quotas
from troupe.actors.memory.daily_quotas import COUNTED, DailyQuotas
from troupe.storage.federation import actor_keys
from troupe.storage.federation.tombstones import KEPT_FOR

from ..clients import Person, Stage
from ..outgoing.peer import Asked, always, answer
from .delivering import DOCUMENT, HOME, act, create, deliver, follow, note, take
from .finding import search, until_done
from .peer import ForeignServer

TAG = {"type": "Mention", "href": f"{HOME}/users/ada", "name": "@ada@home.test"}
EMOJIS = "SELECT shortcode FROM custom_emojis WHERE split_part(domain, ':', 1) LIKE $1 ORDER BY shortcode"


async def say(stage: Stage, eve: dict[str, Any], number: int = 1, *, tag: list[dict[str, Any]], **more: Any) -> str:
    """Deliver a post of eve's that names ada, and return its URI."""
    document = note(eve, number, cc=[f"{HOME}/users/ada"], tag=[TAG, *tag], **more)
    await take(stage, create(eve, document))
    return document["id"]


def emoji(peer: ForeignServer, name: str) -> dict[str, Any]:
    return {"type": "Emoji", "name": f":{name}:", "icon": {"type": "Image", "url": peer.url(f"/{name}.png")}}


async def reads_rfc9421(document: dict[str, Any], stream: trio.abc.Stream, asked: Asked) -> None:
    """Answer a request with the newer kind of signature alone."""
    status = 200 if "signature-input" in asked.headers else 401
    await always(answer(status, json.dumps(document).encode(), Content_Type=DOCUMENT))(stream, asked)


def hashtag(name: str) -> dict[str, Any]:
    return {"type": "Hashtag", "name": f"#{name}"}


async def test_new_emoji_of_a_domain_are_left_out_when_it_has_many(
    stage: Stage, ada: Person, peer: ForeignServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(daily_quotas.MOST_A_DAY, "emojis", 3)
    eve, fay, oscar = peer.person("eve"), peer.person("fay", "host1.peer.test"), peer.person("oscar", "other.test")
    await say(stage, eve, tag=[emoji(peer, name) for name in ("aa", "bb")])
    second = await say(stage, fay, tag=[emoji(peer, name) for name in ("aa", "bb", "cc")])
    third = await say(stage, eve, 3, tag=[emoji(peer, name) for name in ("aa", "dd")])
    await say(stage, oscar, tag=[emoji(peer, "ee")])
    assert await stage.rows(EMOJIS, "%peer.test") == [["aa"], ["aa"], ["bb"]]
    assert await stage.rows(EMOJIS, "other.test") == [["ee"]]
    shown = {
        uri: (await ada.get(f"/api/v1/statuses/{id}")).json
        for id, uri in await stage.rows("SELECT id, uri FROM statuses")
    }
    assert len(shown) == 4, "the posts are stored all the same"
    assert [one["shortcode"] for one in shown[second]["emojis"]] == ["aa"]
    assert [one["shortcode"] for one in shown[third]["emojis"]] == ["aa"]


async def test_a_domain_has_so_many_emoji_in_all(
    stage: Stage, ada: Person, peer: ForeignServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_emojis, "MOST_EMOJIS", 2)
    eve = peer.person("eve", tag=[emoji(peer, "aa")])
    fay, oscar = peer.person("fay", "host1.peer.test"), peer.person("oscar", "other.test")
    await say(stage, eve, tag=[])
    await say(stage, fay, tag=[emoji(peer, "bb")])
    await say(stage, fay, 2, tag=[emoji(peer, "cc")])
    await say(stage, oscar, tag=[emoji(peer, "dd")])
    assert [one["error"] for one in stage.told("outbox.given_up")] == []
    assert await stage.rows(EMOJIS, "%") == [["aa"], ["bb"], ["dd"]]
    moved = emoji(peer, "bb") | {"icon": {"type": "Image", "url": peer.url("/other.png")}}
    await say(stage, fay, 3, tag=[moved])
    assert await stage.rows("SELECT remote_url FROM custom_emojis WHERE shortcode = 'bb'") == [[peer.url("/other.png")]]


async def test_new_hashtags_of_a_domain_are_left_out_when_it_has_made_many(
    stage: Stage, ada: Person, peer: ForeignServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(daily_quotas.MOST_A_DAY, "hashtags", 2)
    await ada.post("/api/v1/statuses", json={"status": "#tea"})
    eve = peer.person("eve")
    uri = await say(stage, eve, tag=[hashtag(name) for name in ("One", "tea", "two", "three")])
    other = await say(stage, peer.person("oscar", "other.test"), tag=[hashtag("four")])
    names = """
        SELECT t.name FROM status_tags st JOIN tags t ON t.id = st.tag_id JOIN statuses s ON s.id = st.status_id
        WHERE s.uri = $1 ORDER BY t.name
    """
    assert await stage.rows(names, uri) == [["one"], ["tea"], ["two"]]
    assert await stage.rows(names, other) == [["four"]]
    later = datetime.now(UTC) + timedelta(minutes=1)
    edited = note(eve, cc=[f"{HOME}/users/ada"], tag=[TAG, hashtag("five")], updated=later.isoformat())
    await take(stage, act(eve, "Update", edited))
    assert await stage.rows(names, uri) == []


async def test_of_the_states_of_a_post_the_first_and_the_latest_are_kept(
    stage: Stage, ada: Person, peer: ForeignServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(received_statuses, "MOST_REVISIONS", 3)
    eve = peer.person("eve")
    published = datetime.now(UTC) - timedelta(hours=1)
    await say(stage, eve, tag=[], published=published.isoformat())
    for number in range(6):
        edited = note(
            eve, cc=[f"{HOME}/users/ada"], tag=[TAG], content=f"<p>state {number}</p>",
            published=published.isoformat(), updated=(published + timedelta(minutes=number + 1)).isoformat(),
        )  # fmt: skip
        await take(stage, act(eve, "Update", edited, number))
    (row,) = await stage.rows("SELECT id FROM statuses")
    history = (await ada.get(f"/api/v1/statuses/{row[0]}/history")).json
    assert [one["content"] for one in history] == ["<p>hello 1</p>", "<p>state 4</p>", "<p>state 5</p>"]
    assert (await ada.get(f"/api/v1/statuses/{row[0]}")).json["content"] == "<p>state 5</p>"


async def test_deletions_of_what_was_never_here_are_remembered_for_hours_when_there_are_many(
    stage: Stage, ada: Person, peer: ForeignServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(daily_quotas.MOST_A_DAY, "tombstones", 2)
    eve = peer.person("eve")
    here = await say(stage, eve, tag=[])
    for number in range(2, 6):
        await take(stage, act(eve, "Delete", f"{eve['id']}/statuses/{number}", number))
    await take(stage, act(eve, "Delete", here, 9))
    buried = await stage.rows("SELECT uri, expires_at - created_at FROM tombstones ORDER BY created_at")
    assert [ends for _, ends in buried] == [None, None, KEPT_FOR, KEPT_FOR, None]


async def test_reports_of_a_domain_are_few_enough_to_read(
    stage: Stage, ada: Person, peer: ForeignServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(daily_quotas.MOST_A_DAY, "reports", 3)
    for number in range(4):
        eve = peer.person(f"eve{number}", f"host{number}.peer.test")
        await take(stage, act(eve, "Flag", f"{HOME}/users/ada", content="spam"))
    await take(stage, act(peer.person("oscar", "other.test"), "Flag", f"{HOME}/users/ada", content="rude"))
    assert [one["error"] for one in stage.told("outbox.given_up")] == []
    assert await stage.rows("SELECT comment, count(*) FROM reports GROUP BY 1 ORDER BY 1") == [["rude", 1], ["spam", 3]]


async def test_class_34_new_accounts_of_a_domain_are_stored_up_to_a_number_a_day(
    stage: Stage, ada: Person, peer: ForeignServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(daily_quotas.MOST_A_DAY, "accounts", 3)
    found = [len(await search(ada, peer.person(f"p{number}", f"host{number}.peer.test")["id"])) for number in range(5)]
    assert found == [1, 1, 1, 0, 0]
    assert len(await search(ada, peer.person("oscar", "other.test")["id"])) == 1
    await until_done(stage)


async def test_class_34_keys_of_a_domain_are_fetched_up_to_a_number_a_day(
    stage: Stage, ada: Person, peer: ForeignServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that come later wait among the requests whose keys can't be had, of which a domain has few."""
    monkeypatch.setitem(daily_quotas.MOST_A_DAY, "keys", 3)
    people = [peer.person(f"p{number}", f"host{number}.peer.test") for number in range(5)]
    for person in people:
        assert (await deliver(stage, follow(person, "ada"))).status == 202
    assert len(await stage.rows("SELECT key_id FROM actor_keys")) == 3
    assert not peer.asked(people[4]["id"])
    assert await stage.rows("SELECT group_key, count(*) FROM outbox WHERE kind = 'unverified' GROUP BY 1") == [
        ["unverified peer.test", 2]
    ]
    assert (await deliver(stage, act(people[0], "Like", f"{HOME}/x"))).status == 202, "known keys are good"


async def test_class_34_of_the_keys_of_an_actor_the_latest_are_kept(
    stage: Stage, ada: Person, peer: ForeignServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actor_keys, "KEPT_OF_ONE_ACTOR", 4)
    eve, oscar = peer.person("eve"), peer.person("oscar", "other.test")
    await take(stage, follow(oscar, "ada"))
    for round in range(3):
        keys = [eve["publicKey"] | {"id": f"{eve['id']}#{round}-{number}"} for number in range(3)]
        peer.person("eve", publicKey=[eve["publicKey"], *keys])
        await take(stage, act(eve, "Update", eve["id"], round))
        await take(stage, follow(eve, "ada", round))
    kept = await stage.rows("SELECT actor_uri, count(*) FROM actor_keys GROUP BY 1 ORDER BY 1")
    assert kept == [[oscar["id"], 1], [eve["id"], 4]]


async def test_class_34_how_hosts_read_signatures_is_stored_of_some_below_a_domain(
    stage: Stage, ada: Person, peer: ForeignServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(daily_quotas.MOST_A_DAY, "schemes", 2)
    for number in range(4):
        document = peer.person("eve", f"host{number}.peer.test")
        peer.respond_with(document["id"], partial(reads_rfc9421, document))
        assert len(await search(ada, document["id"])) == 1
    assert len(await stage.rows("SELECT host FROM hosts")) == 2


async def test_class_34_shares_are_counted_for_a_bounded_number_of_domains(
    autojump_clock: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daily_quotas, "COUNTED", 3)
    quotas = DailyQuotas()
    assert COUNTED <= 100_000
    for number in range(100):
        assert quotas.take("keys", f"a.host{number}.test") == 1
    assert len(quotas) == 3
