"""The profile directory: its parameters, and the accounts that a viewer is not shown."""

from typing import Any

import pytest

from troupe.storage.accounts import NewAccount

from ..checklist.rows import rows
from ..clients import Client, Person, Stage, ids
from ..rows import create_account

DIRECTORY = "/api/v1/directory"
PROFILE = "/api/v1/accounts/update_credentials"


@pytest.fixture
async def bob(stage: Stage, ada: Person) -> Person:
    """Made after Ada: fixtures that do not need each other are set up at once."""
    return await stage.person("bob")


@pytest.fixture
async def cleo(stage: Stage, ada: Person, bob: Person) -> Person:
    """Made after Bob. All three are listed."""
    cleo = await stage.person("cleo")
    for person in (ada, bob, cleo):
        assert (await person.send("PATCH", PROFILE, form={"discoverable": "true"})).status == 200
    return cleo


async def stranger(stage: Stage) -> str:
    """The id of a listed account of another server."""
    uri, context = "https://far.example/users/zoe", stage.http_context
    new = NewAccount(context.ids.next(), "zoe", "far.example", uri, uri, discoverable=True)
    return str((await context.database.transact(create_account, new, context.clock.now())).id)


async def names(client: Client, query: str = "") -> list[str]:
    answer = await client.done("GET", f"{DIRECTORY}{query}")
    return [account["acct"] for account in answer]


@rows("S017")
async def test_accounts_that_opted_in_are_listed_for_all_clients(stage: Stage, ada: Person, cleo: Person) -> None:
    await stage.person("dan")
    for client in (stage.anybody(), ada):
        answer = await client.get(DIRECTORY)
        assert answer.status == 200
        assert "Link" not in answer.headers
        assert [account["acct"] for account in answer.json] == ["cleo", "bob", "ada"]
    assert answer.json[0] == (await ada.get(f"/api/v1/accounts/{cleo.id}")).json
    await cleo.send("PATCH", PROFILE, form={"discoverable": "false"})
    assert await names(ada) == ["bob", "ada"]


@rows("S214")
async def test_order_local_and_offset(stage: Stage, ada: Person, bob: Person, cleo: Person) -> None:
    await stranger(stage)
    await bob.publish()
    await ada.publish()
    active, new = ["ada", "bob", "zoe@far.example", "cleo"], ["zoe@far.example", "cleo", "bob", "ada"]
    for client in (stage.anybody(), cleo):
        for query in ("", "?order=active", "?order=", "?local=false", "?local=0&offset=0"):
            assert await names(client, query) == active, query
        assert await names(client, "?order=new") == new
        assert await names(client, "?local=true") == ["ada", "bob", "cleo"]
        assert await names(client, "?order=new&local=1") == ["cleo", "bob", "ada"]
        assert await names(client, "?offset=1&limit=2") == active[1:3]
        assert await names(client, "?order=new&offset=3") == new[3:]
        assert await names(client, "?offset=4") == []
    await bob.publish()
    assert await names(cleo, "?limit=1") == ["bob"]


async def test_the_order_is_one_of_two(ada: Person) -> None:
    answer = await ada.get(f"{DIRECTORY}?order=old")
    assert (answer.status, answer.json) == (422, {"error": "Validation failed: Order is not included in the list"})


@pytest.mark.parametrize(("query", "found"), [
    ("?limit=0", 0), ("?limit=-2", 2), ("?limit=many", 0), ("?limit=", 40), ("?limit=80", 80), ("?limit=999", 80),
    ("", 40), ("?offset=-1", 40), ("?offset=x", 40), ("?offset=60", 25),
    ("?offset=10000", 0), ("?offset=999999999999999999", 0), ("?offset=9999999999999999999999", 0),
])  # fmt: skip
async def test_limits_and_offsets(stage: Stage, query: str, found: int) -> None:
    await stage.sql("""
        INSERT INTO accounts (id, username, domain, uri, discoverable, created_at, updated_at)
        SELECT n, 'u' || n, 'd.example', 'https://d.example/' || n, true, now(), now() FROM generate_series(1, 85) n
    """)
    await stage.sql("INSERT INTO account_counts (account_id) SELECT generate_series(1, 85)")
    answer = ids(await stage.anybody().get(f"{DIRECTORY}{query}"))
    assert len(answer) == len(set(answer)) == found


async def test_deep_offsets_are_not_looked_up(stage: Stage, monkeypatch: pytest.MonkeyPatch, cleo: Person) -> None:
    assert await names(cleo, "?offset=2") == ["ada"]
    monkeypatch.setattr("troupe.http.api.directory.DEEPEST", 1)
    assert await names(cleo, "?offset=1") == ["bob", "ada"]
    assert await names(cleo, "?offset=2") == []


@pytest.mark.parametrize("query", ["", "?order=new"])
async def test_blocks_and_mutes_of_either_side(
    stage: Stage, ada: Person, bob: Person, cleo: Person, query: str
) -> None:
    far = await stranger(stage)
    everybody = ["zoe@far.example", "cleo", "bob", "ada"]
    assert await names(ada, query) == everybody
    for verb, undo in (("block", "unblock"), ("mute", "unmute")):
        await ada.post(f"/api/v1/accounts/{bob.id}/{verb}")
        assert await names(ada, query) == ["zoe@far.example", "cleo", "ada"]
        blocks = verb == "block"
        assert await names(bob, query) == (["zoe@far.example", "cleo", "bob"] if blocks else everybody)
        assert await names(cleo, query) == everybody
        await ada.post(f"/api/v1/accounts/{bob.id}/{undo}")
        assert await names(ada, query) == everybody
    await ada.post(f"/api/v1/accounts/{far}/mute")
    assert await names(ada, f"{query or '?order=active'}&limit=2") == ["cleo", "bob"]
    await bob.post("/api/v1/domain_blocks", {"domain": "far.example"})
    assert await names(bob, query) == ["cleo", "bob", "ada"]
    assert await names(stage.anybody(), query) == everybody


class TestWithoutPreview:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return {"rate_limits": False, "public_preview": False}

    async def test_the_directory_is_for_users(self, stage: Stage, ada: Person, cleo: Person) -> None:
        refused = await stage.anybody().get(DIRECTORY)
        assert (refused.status, refused.json) == (401, {"error": "This method requires an authenticated user"})
        assert await names(ada) == ["cleo", "bob", "ada"]
