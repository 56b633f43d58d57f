"""Searches for statuses: words of every script, what is read of a status, operators, and full pages."""

# ruff: noqa: RUF001 - letters that look like others are what is tested

from datetime import UTC, datetime
from typing import Any

import pytest

from troupe.actors.cluster.others import Alone
from troupe.actors.housekeeping.old_rows import OldRows
from troupe.storage import status_search
from troupe.storage.engine.migrate import migrations

from ..clients import Person, Stage
from .uploading import uploaded

SEARCH = "/api/v2/search"


async def found(person: Person, q: str, **more: Any) -> list[str]:
    """Return the ids of the statuses that a person finds."""
    answer = await person.done("GET", SEARCH, query_string={"q": q, "type": "statuses", **more})
    return [status["id"] for status in answer["statuses"]]


QUOTES = "“opal” ‘ruby’… »topaz« amber—garnet"
MIXED = "Linux/macOS and/or foo_bar.baz, v2.0.1 of C++ (3.14), .NET, e-mail me@mail.example"


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        (QUOTES, ["opal", "ruby", "topaz", "amber", "garnet", '"opal ruby"', "“amber garnet”"]),
        ("the “quick brown” fox", ['"quick brown"', "“quick brown”", "„quick brown“", "«quick brown»", "quick fox"]),
        ("我家在上海东边。", ["上海", "我家", "家", "上海东边", "「上海」"]),
        ("今月の売上が伸びた、ガスの", ["売上", "今月の売上", "売上 今月", "ガス", "ｶﾞｽ"]),
        ("ฉันชอบกรุงเทพมาก", ["กรุงเทพ", "ชอบ"]),
        ("ខ្ញុំស្រលាញ់ភ្នំពេញ", ["ភ្នំពេញ"]),
        ("서울에서 만나요", ["서울", "서울에서", "만나"]),
        (MIXED, ["macos", "linux", "Linux/macOS", "or", "bar", "foo_bar", "baz", "v2.0.1", "c++"]),
        (MIXED, ["3.14", ".net", "net", "email", "mail", "e-mail", "me@mail.example"]),
        ("Das Müsli im Café, İstanbul, Straße, οδός", ["musli", "cafe", "MÜSLI", "istanbul", "strasse", "ΟΔΟΣ"]),
        ("l'été, don’t, U.S.A., 1,000", ["été", "ete", "dont", "don't", "usa", "1000"]),
        ("مُحَمَّد أحمد", ["محمد", "احمد"]),
        ("שָׁלוֹם", ["שלום"]),
        ("I ❤️ tea 👩🏽‍💻", ["❤", "👩‍💻"]),
        ("#CatsOfTroupe are here", ["cats", "catsoftroupe", "#CatsOfTroupe", "#catsoftroupe here", '"cats of troupe"']),
        ("see https://example.com/blog/%E4%B8%8A%E6%B5%B7-a?page=first", ["example.com", "blog", "上海", "first"]),
        ("x" * 400, ["x" * 400]),
        ("it is indexed publicly.", ['"indexed publicly"', "publicly"]),
        ("しゅいろさんの話 #snake_case", ["しゅいろ", "case", "#snake_case", "snake_case"]),
        ("a <b>\nbold</b>&amp; AT&T", ["bold", "AT&T"]),
    ],
)
async def test_words_are_found_as_people_write_them(ada: Person, text: str, queries: list[str]) -> None:
    status = await ada.publish(text)
    await ada.publish("another post")
    expected = [status["id"]]
    assert {query: ids for query in queries if (ids := await found(ada, query)) != expected} == {}


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("我家在上海东边。", ["海上", "北京", "家上"]),
        ("the brown quick fox", ['"quick brown"', "bro", "quick -fox", "brownquick"]),
        ("a C compiler", ["C++", "C#"]),
        ("cats", ["#cats", "cat"]),
        ("the cat", ["<b>", "p", "span"]),
        ("one two", ['"two one"', "one -two", "one three"]),
    ],
)
async def test_what_a_text_does_not_say_is_not_found(ada: Person, text: str, queries: list[str]) -> None:
    await ada.publish(text)
    assert {query: ids for query in queries if (ids := await found(ada, query))} == {}


async def test_everything_that_a_status_shows_is_read(stage: Stage, ada: Person) -> None:
    medium = await uploaded(ada, description="a capybara in the bath")
    with_media = await ada.write("look", media_ids=[medium["id"]])
    asking = await ada.write("so?", poll={"options": ["Earl Grey", "Rooibos"], "expires_in": 3600})
    warned = await ada.write("hidden", spoiler_text="about spiders")
    assert await found(ada, "capybara bath") == [with_media["id"]]
    assert await found(ada, "rooibos") == [asking["id"]]
    assert await found(ada, "spiders hidden") == [warned["id"]]


async def test_an_edit_changes_what_is_found(ada: Person) -> None:
    medium = await uploaded(ada, description="a capybara in the bath")
    path = f"/api/v1/statuses/{(status := await ada.write('first', media_ids=[medium['id']]))['id']}"
    attributes = [{"id": medium["id"], "description": "a wombat"}]
    await ada.done("PUT", path, json={"status": "second", "media_ids": [medium["id"]], "media_attributes": attributes})
    assert [await found(ada, query) for query in ("first", "capybara")] == [[], []]
    assert await found(ada, "second wombat has:media") == [status["id"]]
    await ada.done("PUT", path, json={"status": "third", "poll": {"options": ["oolong", "sencha"], "expires_in": 3600}})
    assert [await found(ada, query) for query in ("wombat", "has:media")] == [[], []]
    assert await found(ada, "sencha has:poll") == [status["id"]]
    await ada.delete(path)
    assert await found(ada, "third") == []


async def test_operators_say_which_statuses_are_meant(stage: Stage, ada: Person, bob: Person) -> None:
    await bob.put("/api/v1/accounts/update_credentials", {"indexable": "true"})
    medium = await uploaded(ada)
    own = await ada.write("quokka", language="de", spoiler_text="quokka")
    seen = await ada.write("quokka", language="en", media_ids=[medium["id"]])
    other = await bob.write("quokka", language="pt-BR")
    answer = await ada.write("quokka @bob", in_reply_to_id=other["id"])
    names = {
        status["id"]: name for name, status in {"own": own, "seen": seen, "other": other, "answer": answer}.items()
    }
    year = datetime.now(UTC).year
    expected = {
        "quokka": "answer other seen own",
        "quokka from:me": "answer seen own",
        "quokka from:@ada": "answer seen own",
        "from:ada": "answer seen own",
        "from:@me": "",
        "From:me": "answer seen own",
        "from:bob": "other",
        "quokka from:@bob@localhost:3000": "other",
        "quokka -from:me": "other",
        "quokka from:nobody": "",
        "quokka -from:nobody": "answer other seen own",
        "quokka from:me from:bob": "",
        f"quokka after:{year - 1}-01-01": "answer other seen own",
        f"quokka before:{year - 1}-01-01": "",
        f"quokka -after:{year - 1}-01-01": "",
        f"quokka -before:{year - 1}-01-01": "answer other seen own",
        f"quokka during:{datetime.now(UTC):%Y-%m-%d}": "answer other seen own",
        f"quokka -during:{datetime.now(UTC):%Y-%m-%d}": "",
        f"quokka during:{year}": "answer other seen own",
        f"quokka before:{year}": "",
        "has:media": "seen",
        "has:image": "seen",
        "quokka -has:media": "answer other own",
        "has:poll": "",
        "is:reply": "answer",
        "quokka -is:reply": "other seen own",
        "is:sensitive": "own",
        "quokka language:de": "own",
        "quokka language:pt": "other",
        "quokka language:pt-BR": "other",
        "quokka -language:de": "answer other seen",
        "quokka in:library": "answer seen own",
        "quokka in:public": "other",
        "quokka in:all": "answer other seen own",
        "-nothing": "answer other seen own",
        "---": "",
        "quokka ---": "answer other seen own",
        "has:wings": "",
        "before:yesterday": "",
        "from:": "",
    }
    shown = {query: " ".join(names[id] for id in await found(ada, query)) for query in expected}
    assert shown == expected


async def test_statuses_that_quote_one_are_found(stage: Stage, ada: Person, bob: Person) -> None:
    quoted = await bob.publish("opal")
    quoting = await ada.write("look", quoted_status_id=quoted["id"])
    for query in ("has:quote", "is:quote look", "from:me is:quote"):
        assert await found(ada, query) == [quoting["id"]], query
    assert await found(ada, "look -is:quote") == []
    await ada.done("PUT", f"/api/v1/statuses/{quoting['id']}", json={"status": "look again"})
    assert await found(ada, "again has:quote") == [quoting["id"]]


async def test_quotes_of_earlier_versions_are_found(stage: Stage, ada: Person) -> None:
    quoting = await ada.write("look", quoted_status_id=(await ada.publish("opal"))["id"])
    await stage.sql("UPDATE status_words SET words = ts_delete(words, 'has:quote')")
    assert await found(ada, "has:quote") == []
    await stage.sql(next(step.sql for step in migrations() if step.name == "quotes_in_search"))
    assert await found(ada, "has:quote") == [quoting["id"]]


async def test_an_operator_without_a_meaning_is_words(ada: Person) -> None:
    status = await ada.publish("it has: wings, and re:invent before:yesterday is:cute in:doubt language:klingonese")
    for query in ("has:wings", "re:invent", "before:yesterday", "is:cute", "in:doubt", "language:klingonese"):
        assert await found(ada, query) == [status["id"]], query


@pytest.mark.parametrize(
    "query",
    ["word " * 10_000, "-" * 1_000, "- " * 500, '"' * 999, '"open', '-"', "«" * 900, "'\\''\\", "' | '", ":*"],
)
async def test_what_is_searched_for_may_be_anything(stage: Stage, ada: Person, query: str) -> None:
    await ada.publish("a word")
    await found(ada, query)
    assert stage.failures == []


async def test_a_search_for_collections_finds_nothing(ada: Person) -> None:
    """There are none here. Apps that know Mastodon 4.6 ask for them."""
    await ada.publish("opal")
    answer = await ada.get("/api/v2/search?q=opal&type=collections")
    assert (answer.status, answer.json) == (200, {"accounts": [], "statuses": [], "hashtags": []})
    assert (await ada.get("/api/v2/search?q=opal&type=nonsense")).status == 422


async def test_a_page_is_full_although_the_newest_are_hidden(stage: Stage, ada: Person, bob: Person) -> None:
    cyd, dan = await stage.person("cyd"), await stage.person("dan")
    for person in (bob, cyd, dan):
        await person.put("/api/v1/accounts/update_credentials", {"indexable": "true"})
    wanted = await bob.publish("opal")
    for number in range(21):
        await (cyd, dan)[number % 2].publish("opal")
    assert len(await found(ada, "opal")) == 20
    await ada.post(f"/api/v1/accounts/{cyd.id}/mute")
    await ada.post(f"/api/v1/accounts/{dan.id}/block")
    assert await found(ada, "opal") == [wanted["id"]]
    assert await found(ada, "opal", offset="1") == []


async def test_pages_follow_on_each_other(monkeypatch: pytest.MonkeyPatch, ada: Person) -> None:
    """Also over many stretches of time, each with few statuses."""
    monkeypatch.setattr(status_search, "EXPECTED", 2)
    made = [(await ada.publish("opal"))["id"] for _ in range(7)][::-1]
    assert await found(ada, "opal") == made
    assert await found(ada, "opal", limit="3", offset="3") == made[3:6]
    assert await found(ada, "opal", limit="3", max_id=made[4]) == made[5:]
    assert await found(ada, "opal", min_id=made[2]) == made[:2]


async def test_the_library_has_what_the_viewer_did_with_statuses_of_others(ada: Person, bob: Person) -> None:
    kinds = ("favourite", "bookmark", "reblog")
    made = {kind: await bob.publish("opal") for kind in kinds}
    poll = await bob.write("opal", poll={"options": ["a", "b"], "expires_in": 3600})
    mention = await bob.write("opal @ada", visibility="direct")
    await bob.publish("opal")
    for kind in kinds:
        await ada.post(f"/api/v1/statuses/{made[kind]['id']}/{kind}")
    await ada.post(f"/api/v1/polls/{poll['poll']['id']}/votes", json={"choices": [0]})
    everything = [mention["id"], poll["id"], *(made[kind]["id"] for kind in reversed(kinds))]
    assert await found(ada, "opal") == everything
    assert await found(ada, "opal in:library", limit="2", offset="1") == everything[1:3]
    assert await found(ada, "opal in:public") == []
    assert await found(ada, "opal", limit="0") == []


async def test_posts_of_earlier_versions_are_found_as_far_as_they_were_read(stage: Stage, ada: Person) -> None:
    context = stage.http_context
    made = [(await ada.publish("opal"))["id"] for _ in range(60)]
    await stage.sql("DELETE FROM status_words")
    await stage.sql("INSERT INTO words_to_come VALUES ($1)", int(made[-1]))
    newest = await ada.publish("opal")
    records: list[str] = []
    filling = OldRows(context.database, context.clock, lambda event, **facts: records.append(event), Alone())
    assert await filling.fill_words()
    assert await found(ada, "opal", limit="40", offset="20") == made[::-1][20:51]
    await ada.delete(f"/api/v1/statuses/{made[0]}")
    again = OldRows(context.database, context.clock, lambda event, **facts: records.append(event), Alone())
    assert not await again.fill_words()
    assert not await again.fill_words()
    assert await found(ada, "opal", limit="40", offset="40") == made[::-1][40:59]
    assert await found(ada, "opal", limit="1") == [newest["id"]]
    assert records == ["search.filling", "search.filled"]
