"""Accounts are found by what people type or paste: names in any script, handles and addresses in any spelling."""

# ruff: noqa: RUF001 - letters that look like others are what is tested

import pytest
import trio

from troupe.actors.cluster.others import Alone
from troupe.actors.housekeeping import old_rows
from troupe.actors.housekeeping.old_rows import OldRows
from troupe.storage.accounts import NewAccount

from ..clients import Person, Stage
from ..rows import create_account
from ..stand_ins import unrecorded
from ..waiting import until_none
from .sweeping import Led

SEARCH = "/api/v1/accounts/search"


async def found(person: Person, query: str, **more: str) -> list[str]:
    """The handles of the accounts that are found. Both endpoints find the same."""
    given = {"q": query} | more
    first = await person.done("GET", SEARCH, query_string=given)
    second = await person.done("GET", "/api/v2/search", query_string=given | {"type": "accounts"})
    assert second["accounts"] == first
    return [account["acct"] for account in first]


async def remote(stage: Stage, username: str, domain: str, display_name: str = "", **more: str) -> int:
    """Store an account of another server. Return its id."""
    context, ascii_domain = stage.http_context, domain.encode("idna").decode()
    id, uri = context.ids.next(), more.get("uri", f"https://{ascii_domain}/users/{username}")
    url = more.get("url", f"https://{ascii_domain}/@{username}")
    new = NewAccount(id, username, ascii_domain, uri, url, display_name=display_name)
    await context.database.transact(create_account, new, context.clock.now())
    return id


@pytest.mark.parametrize(
    ("name", "queries"),
    [
        ("Jörg Müller", ["muller", "MÜLLER", "mu\u0308ller", "jorg mul", "müller jörg", "mull"]),
        ("İpek Işık", ["ipek", "İPEK", "isik", "IŞIK", "ışık"]),
        ("Haus in der Straße", ["strasse", "STRASSE", "straß"]),
        ("Łukasz Żółć", ["lukasz", "zolc", "łuk"]),
        ("Søren Ærø", ["soren", "aero"]),
        ("Ελένη Ἀθηνᾶ", ["ελενη", "ΕΛΈΝΗ", "αθηνα"]),
        ("Фёдор Йованович", ["федор", "ФЁДОР", "йован"]),
        ("我在上海", ["上海", "我在", "在上", "我", "海"]),
        ("山田 太郎", ["山田", "太郎", "太", "山田太郎", "山田太", "田太郎"]),
        ("佐藤　あい", ["佐藤あい", "佐藤あ"]),
        ("김 민수", ["김민수", "김민", "민수"]),
        ("ﾔﾏﾀﾞ", ["ヤマダ"]),
        ("서울사람", ["서울", "사람"]),
        ("สมชาย ใจดี", ["สมชาย"]),
        ("مُحَمَّد علي", ["محمد", "علی"]),
        ("Mary-Jane O’Neill", ["mary", "jane", "maryjane", "mary-jane", "oneill", "o'neill", "neill"]),
        ("Linux/macOS nerd", ["macos", "linux nerd"]),
        ("“Opal”…»Topaz«", ["opal", "topaz", "“opal”"]),
        ("amber—garnet", ["garnet"]),
        ("🌻Sunny🌻", ["sunny", "🌻", "🌻 sunny"]),
        ("𝓐𝓵𝓲𝓬𝓮 𝕎𝕠𝕟𝕕𝕖𝕣", ["alice", "wonder", "ALICE"]),
        ("Ａｌｉｃｅ", ["alice", "ａｌｉ"]),
        ("ⒶⓁⒾⒸⒺ", ["alice"]),
        ("a\u200dl\u200dice\ufe0f", ["alice"]),
        ("C++ & C#", ["c++", "c#"]),
    ],
)
async def test_a_name_is_found_by_its_words_in_any_spelling(
    stage: Stage, ada: Person, bob: Person, name: str, queries: list[str]
) -> None:
    await bob.change_profile(display_name=name)
    await remote(stage, "far", "far.example", name)
    for query in queries:
        assert sorted(await found(ada, query)) == ["bob", "far@far.example"], query
    await bob.change_profile(display_name="Somebody else")
    for query in queries:
        assert await found(ada, query) == ["far@far.example"], query


@pytest.mark.parametrize("query", ["—", "'", "\\", "&|!()<->:*", "' | 'x", "🏽", "x" * 5000, "a " * 3000])
async def test_a_search_of_signs_finds_no_other_and_breaks_nothing(stage: Stage, ada: Person, query: str) -> None:
    await remote(stage, "far", "far.example", "Far")
    assert await found(ada, query) in ([], ["ada"])


@pytest.mark.parametrize("query", ["?q=", "?q=%20%E3%80%80"])
async def test_an_empty_field_finds_nobody(ada: Person, query: str) -> None:
    """Apps ask at each key press, and Mastodon answers so."""
    reply = await ada.get(f"/api/v1/accounts/search{query}")
    assert (reply.status, reply.json) == (200, [])


async def test_parts_of_user_names_are_found(stage: Stage, ada: Person) -> None:
    await remote(stage, "the_quick-fox.42", "far.example", "")
    for query in ("quick", "fox", "42", "the_quick", "thequick", "quick fox", "THE_Q"):
        assert await found(ada, query) == ["the_quick-fox.42@far.example"], query


@pytest.mark.parametrize(
    "query",
    [
        "eve@bücher.example", "@eve@bücher.example", "EVE@BÜCHER.Example", "eve@xn--bcher-kva.example",
        "eve@XN--BCHER-KVA.EXAMPLE", " @eve@bücher.example ", "@eve@bücher.example,", "(@eve@bücher.example).",
        "“@eve@bücher.example”!", "<eve@bücher.example>", "acct:eve@bücher.example", "ACCT:eve@bücher.example",
        "acct://eve@bücher.example", "\u2068@eve@bücher.example\u2069", "＠eve＠bücher.example",
        "@eve@bücher.example。", "!eve@bücher.example",
        "https://bücher.example/@eve", "https://xn--bcher-kva.example/@eve", "https://xn--bcher-kva.example/@EVE/",
        "https://xn--bcher-kva.example/users/eve", "HTTPS://XN--BCHER-KVA.example/@eve", "xn--bcher-kva.example/@eve",
        "<https://xn--bcher-kva.example/@eve>,",
    ],
)  # fmt: skip
async def test_a_handle_or_an_address_is_found_in_any_spelling(stage: Stage, ada: Person, query: str) -> None:
    """Without asking another server."""
    await remote(stage, "eve", "bücher.example", "Eve")
    await remote(stage, "eve", "other.example", "Eve")
    await remote(stage, "evelyn", "bücher.example", "Eve")
    assert (await found(ada, query))[:1] == ["eve@xn--bcher-kva.example"]


@pytest.mark.parametrize("query", ["bob", "@bob", "@BOB ", "bob@localhost:3000", "acct:bob", "@bob:", "@bob…"])
async def test_the_exact_handle_comes_first(stage: Stage, ada: Person, bob: Person, query: str) -> None:
    popular = await remote(stage, "bobby", "far.example", "Bob")
    await stage.sql("UPDATE account_counts SET followers = 1000 WHERE account_id = $1", popular)
    assert (await found(ada, query))[0] == "bob"


@pytest.mark.parametrize("path", ["/@bob", "/@BOB/", "/users/bob", "/@bob?utm_source=mail", "/web/@bob", "/@bob#top"])
async def test_an_own_profile_is_found_by_its_address(ada: Person, bob: Person, path: str) -> None:
    for more in ({}, {"resolve": "true"}):
        assert await found(ada, f"http://localhost:3000{path}", **more) == ["bob"]


async def test_the_address_of_another_page_finds_no_account(stage: Stage, ada: Person) -> None:
    await remote(stage, "eve", "far.example", "Eve", url="https://far.example/somewhere/eve")
    for query in ("https://far.example/@eve", "https://elsewhere.example/@eve", "https://far.example/", "https://"):
        assert await found(ada, query) == [], query


async def test_only_followed_ones_and_pages(stage: Stage, ada: Person, bob: Person) -> None:
    names = [f"muller{number}" for number in range(5)]
    for number, name in enumerate(names):
        id = await remote(stage, name, "far.example", "Müller")
        await stage.sql("UPDATE account_counts SET followers = $2 WHERE account_id = $1", id, 100 - number)
    assert await found(ada, "muller", following="true") == []
    assert await found(ada, "muller", limit="2") == [f"{name}@far.example" for name in names[:2]]
    assert await found(ada, "muller", limit="2", offset="2") == [f"{name}@far.example" for name in names[2:4]]
    assert await found(ada, "muller", limit="2", offset="4") == [f"{names[4]}@far.example"]
    await bob.change_profile(display_name="Muller")
    await ada.post(f"/api/v1/accounts/{bob.id}/follow")
    assert await found(ada, "müller", following="true") == ["bob"]
    assert (await found(ada, "müller"))[0] == "bob"


async def test_the_beginnings_of_words_are_found(stage: Stage, ada: Person, bob: Person) -> None:
    """One letter alone finds words of it, beginnings of handles, and words of those that the viewer follows."""
    await remote(stage, "far", "far.example", "Zoe Quill")
    await remote(stage, "q_one", "far.example", "Zed")
    await bob.change_profile(display_name="Quentin")
    for query, expected in {
        "zo": ["far@far.example"], "zoe q": ["far@far.example"], "q zoe": ["far@far.example"],
        "qui": ["far@far.example"], "q": ["q_one@far.example"], "z x": [],
    }.items():  # fmt: skip
        assert await found(ada, query) == expected, query
    await ada.post(f"/api/v1/accounts/{bob.id}/follow")
    assert await found(ada, "q") == ["bob", "q_one@far.example"]


async def test_accounts_that_are_not_shown_take_no_places(stage: Stage, ada: Person) -> None:
    """Three hundred suspended namesakes are no candidates."""
    await remote(stage, "muller", "far.example", "Müller")
    await stage.sql(
        """INSERT INTO accounts (id, username, domain, uri, suspended_at, names, created_at, updated_at)
        SELECT n, 'muller' || n, 'bad.example', 'https://bad.example/' || n, now(), '''muller''', now(), now()
        FROM generate_series(1, 300) n"""
    )
    await stage.sql("INSERT INTO account_counts (account_id) SELECT id FROM accounts WHERE domain = 'bad.example'")
    assert await found(ada, "müller") == await found(ada, "mull") == ["muller@far.example"]


async def test_staff_find_names_in_any_spelling(stage: Stage, ada: Person, bob: Person) -> None:
    mod = await stage.person("mod", role="moderator", scopes=("admin:read",))
    await bob.change_profile(display_name="Jörg MÜLLER")
    for query in ("jörg müller", "JORG", "müll"):
        for version in ("v1", "v2"):
            answer = await mod.get(f"/api/{version}/admin/accounts", query_string={"display_name": query})
            assert [account["username"] for account in answer.json] == ["bob"], (query, version)
    assert (await mod.get("/api/v2/admin/accounts", query_string={"display_name": "—"})).json == []


async def test_names_of_earlier_versions_are_found_once_they_are_folded(
    stage: Stage, ada: Person, bob: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server folds them in batches while it runs."""
    monkeypatch.setattr(old_rows, "ACCOUNTS", 2)
    monkeypatch.setattr(old_rows, "SHORT_PAUSE", 0)
    for number in range(5):
        await remote(stage, f"far{number}", "far.example", f"Müller {number}")
    await stage.sql("UPDATE accounts SET names = NULL")
    assert await found(ada, "muller") == []
    assert await found(ada, "bob") == ["bob"]
    async with trio.open_nursery() as nursery:
        await OldRows(stage.http_context.database, stage.http_context.clock, unrecorded, Led()).complete()
        assert await found(ada, "muller") == [], "another node leads"
        child = OldRows(stage.http_context.database, stage.http_context.clock, unrecorded, Alone())
        stopping = trio.Event()
        await nursery.start(child.run, stopping)
        await until_none(lambda: stage.rows("SELECT FROM accounts WHERE names IS NULL"))
        stopping.set()
    assert child.inspect() == {"accounts": 7, "posts": 0}
    assert len(await found(ada, "muller")) == 5
    assert await found(ada, "muller 3") == ["far3@far.example"]


@pytest.mark.parametrize(
    "query", ["catala", "Català", "CATALÀ", "#català", "＃ｃａｔａｌａ", "catala\u0300", "#Catalàs…", "catalàs"]
)
async def test_hashtags_are_found_by_the_folded_name(ada: Person, query: str) -> None:
    await ada.publish("#CatalàsAlMón")
    result = await ada.done("GET", "/api/v2/search", query_string={"q": query, "type": "hashtags"})
    assert [tag["name"] for tag in result["hashtags"]] == ["catalasalmon"]


@pytest.mark.parametrize("query", ["black lives", "Black Lives Matter", "# black lives"])
async def test_hashtags_of_several_words_are_found_by_the_words(ada: Person, query: str) -> None:
    await ada.publish("#BlackLivesMatter")
    result = await ada.done("GET", "/api/v2/search", query_string={"q": query, "type": "hashtags"})
    assert [tag["name"] for tag in result["hashtags"]] == ["blacklivesmatter"]
