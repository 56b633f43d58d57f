"""Moving an account of this server to another one, coming back, and aliases for accounts that move here."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import trio

from troupe.actors.effects.moves import FollowMoved
from troupe.actors.kernel import Address, Runtime

from ..clients import PASSWORD, Person, Stage
from ..http.settling import problems, signed_in
from ..waiting import PATIENCE, until_found
from .delivering import HOME, act, take
from .finding import until_done
from .peer import ForeignServer

PAGE = "/settings/move"
ADA = f"{HOME}/users/ada"
MOVED = """
    SELECT t.uri FROM accounts a LEFT JOIN accounts t ON t.id = a.moved_to_id
    WHERE a.username = 'ada' AND a.domain IS NULL
"""


async def moved_to(stage: Stage) -> str | None:
    return (await stage.rows(MOVED))[0][0]


def handle(peer: ForeignServer, name: str) -> str:
    return f"@{name}@{peer.domain}"


async def test_followers_here_go_along_with_a_move(stage: Stage, ada: Person, bob: Person, peer: ForeignServer) -> None:
    new = peer.person("new", alsoKnownAs=[ADA])
    await bob.post(f"/api/v1/accounts/{ada.id}/follow")
    browser = await signed_in(stage)
    answer = await browser.send(PAGE, target=handle(peer, "new"), password=PASSWORD)
    assert (answer.status, answer.headers.get("Location")) == (302, "/settings?done=moved"), problems(answer)
    assert await moved_to(stage) == new["id"]

    async def bob_went() -> bool:
        found = await stage.rows(
            "SELECT a.uri FROM follow_requests r JOIN accounts a ON a.id = r.target_account_id WHERE r.account_id = $1",
            int(bob.id),
        )
        left = await stage.rows("SELECT FROM follows WHERE account_id = $1", int(bob.id))
        return found == [[new["id"]]] and not left

    await until_found(bob_went)
    assert (await bob.post(f"/api/v1/accounts/{ada.id}/follow")).status == 403
    assert (await bob.get(f"/api/v1/accounts/{ada.id}")).json["moved"]["acct"] == f"new@{peer.domain}"
    letter = (await stage.letterbox.receive())[-1]
    assert (letter.to, "has moved" in letter.subject) == ("ada@example.org", True)
    assert f"@new@{peer.domain}" in (await browser.get(PAGE)).text
    await until_done(stage)


async def test_the_new_account_must_name_the_old_one_now(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    browser = await signed_in(stage)
    peer.person("new", alsoKnownAs=[ADA])
    await ada.get("/api/v2/search", query_string={"q": handle(peer, "new"), "resolve": "true"})
    peer.person("new", alsoKnownAs=[f"{HOME}/users/bob"])
    answer = await browser.send(PAGE, target=handle(peer, "new"), password=PASSWORD)
    assert (answer.status, "does not name" in problems(answer)["target"]) == (422, True)
    answer = await browser.send(PAGE, target=handle(peer, "nobody"), password=PASSWORD)
    assert (answer.status, "not found" in problems(answer)["target"]) == (422, True)
    answer = await browser.send(PAGE, target="ada", password=PASSWORD)
    assert (answer.status, "itself" in problems(answer)["target"]) == (422, True)
    assert await moved_to(stage) is None
    await until_done(stage)


async def test_nobody_moves_without_the_password_nor_to_one_that_moved_on(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    browser = await signed_in(stage)
    last = peer.person("last", alsoKnownAs=[peer.url("/users/new")])
    peer.person("new", alsoKnownAs=[ADA], movedTo=last["id"])
    answer = await browser.send(PAGE, target=handle(peer, "new"), password="wrong")
    assert "password" in problems(answer)
    await ada.get("/api/v2/search", query_string={"q": handle(peer, "new"), "resolve": "true"})
    await until_done(stage)
    answer = await browser.send(PAGE, target=handle(peer, "new"), password=PASSWORD)
    assert "moved" in problems(answer)["target"]
    assert await moved_to(stage) is None
    await until_done(stage)


async def test_who_comes_back_moves_again_after_a_week(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    new = peer.person("new", alsoKnownAs=[ADA])
    browser = await signed_in(stage)
    await browser.send(PAGE, target=handle(peer, "new"), password=PASSWORD)
    answer = await browser.send(f"{PAGE}/back", PAGE, password=PASSWORD)
    assert answer.headers.get("Location") == "/settings?done=moved_back", problems(answer)
    assert await moved_to(stage) is None
    answer = await browser.send(PAGE, target=handle(peer, "new"), password=PASSWORD)
    assert "seven days" in problems(answer)["target"]
    assert await moved_to(stage) is None
    await stage.sql("UPDATE accounts SET moved_at = moved_at - interval '7 days' WHERE id = $1", int(ada.id))
    await browser.send(PAGE, target=handle(peer, "new"), password=PASSWORD)
    assert await moved_to(stage) == new["id"]
    await until_done(stage)


async def test_apps_cannot_use_an_account_that_has_moved_until_it_comes_back(
    stage: Stage, ada: Person, bob: Person, peer: ForeignServer
) -> None:
    """As on Mastodon: it reads what needs no user, and its owner signs in to take the move back."""
    kept = await ada.publish("hello")
    peer.person("new", alsoKnownAs=[ADA])
    browser = await signed_in(stage)
    asked = [
        lambda: ada.post("/api/v1/statuses", json={"status": "again"}),
        lambda: ada.post(f"/api/v1/accounts/{bob.id}/follow"),
        lambda: ada.post(f"/api/v1/statuses/{kept['id']}/favourite"),
        lambda: ada.send("PATCH", "/api/v1/accounts/update_credentials", json={"display_name": "Ada"}),
        lambda: ada.get("/api/v1/timelines/home"),
        lambda: ada.get("/api/v1/accounts/verify_credentials"),
    ]
    assert [(await ask()).status for ask in asked] == [200] * len(asked)
    await browser.send(PAGE, target=handle(peer, "new"), password=PASSWORD)
    answers = [await ask() for ask in asked]
    assert {(one.status, one.json["error"]) for one in answers} == {(403, "Your login is currently disabled")}
    for path in ("/api/v1/timelines/public", f"/api/v1/accounts/{ada.id}", f"/api/v1/statuses/{kept['id']}"):
        assert (await ada.get(path)).status == 200
    again = await signed_in(stage)
    await again.send(f"{PAGE}/back", PAGE, password=PASSWORD)
    assert [(await ask()).status for ask in asked] == [200] * len(asked)
    await until_done(stage)


async def test_a_move_of_an_account_elsewhere_counts_once_in_seven_days(
    stage: Stage, ada: Person, bob: Person, peer: ForeignServer
) -> None:
    eve = peer.person("eve")
    await ada.get("/api/v2/search", query_string={"q": handle(peer, "eve"), "resolve": "true"})
    new = [peer.person(f"new{number}", alsoKnownAs=[eve["id"]]) for number in range(3)]

    async def moves(number: int) -> str | None:
        await take(stage, act(eve, "Move", eve["id"], number, target=new[number]["id"]))
        query = "SELECT t.uri FROM accounts a JOIN accounts t ON t.id = a.moved_to_id WHERE a.uri = $1"
        return (await stage.rows(query, eve["id"]))[0][0]

    assert await moves(0) == new[0]["id"]
    assert await moves(1) == new[0]["id"]
    back = "UPDATE accounts SET moved_at = moved_at - $1::interval WHERE uri = $2"
    await stage.sql(back, timedelta(days=6, hours=23), eve["id"])
    assert await moves(1) == new[0]["id"]
    await stage.sql(back, timedelta(hours=1), eve["id"])
    assert await moves(2) == new[2]["id"]
    await until_done(stage)


async def test_followers_who_have_not_gone_along_stay_with_one_who_comes_back(
    stage: Stage, ada: Person, bob: Person, peer: ForeignServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer.person("new", alsoKnownAs=[ADA])
    await bob.post(f"/api/v1/accounts/{ada.id}/follow")
    asked, go_on, answered, ask = trio.Event(), trio.Event(), trio.Event(), Runtime.ask

    async def held(runtime: Runtime, address: Address, message: Any, **more: Any) -> Any:
        if not isinstance(message, FollowMoved):
            return await ask(runtime, address, message, **more)
        asked.set()
        await go_on.wait()
        answer = await ask(runtime, address, message, **more)
        answered.set()
        return answer

    monkeypatch.setattr(Runtime, "ask", held)
    browser = await signed_in(stage)
    await browser.send(PAGE, target=handle(peer, "new"), password=PASSWORD)
    with trio.fail_after(PATIENCE):
        await asked.wait()
    await browser.send(f"{PAGE}/back", PAGE, password=PASSWORD)
    assert await stage.rows("SELECT FROM outbox WHERE kind = 'move'") == []
    go_on.set()
    with trio.fail_after(PATIENCE):
        await answered.wait()
    assert await stage.rows("SELECT target_account_id FROM follows") == [[ada.account.id]]
    assert await stage.rows("SELECT FROM follow_requests") == []
    await until_done(stage)


async def test_an_alias_lets_another_account_move_here(
    stage: Stage, ada: Person, bob: Person, peer: ForeignServer
) -> None:
    eve = peer.person("eve")
    browser = await signed_in(stage)
    await ada.get("/api/v2/search", query_string={"q": handle(peer, "eve"), "resolve": "true"})
    (found,) = (await bob.get("/api/v2/search", query_string={"q": handle(peer, "eve")})).json["accounts"]
    await bob.post(f"/api/v1/accounts/{found['id']}/follow")
    await take(stage, act(eve, "Accept", {"type": "Follow", "actor": f"{HOME}/users/bob", "object": eve["id"]}))
    await take(stage, act(eve, "Move", eve["id"], target=ADA))
    assert await stage.rows("SELECT FROM accounts WHERE moved_to_id IS NOT NULL") == []

    answer = await browser.send("/settings/aliases", PAGE, handle=handle(peer, "eve"))
    assert answer.status == 302, problems(answer)
    document = await stage.anybody().send("GET", "/users/ada", headers={"Accept": "application/activity+json"})
    assert document.json["alsoKnownAs"] == [eve["id"]]
    await take(stage, act(eve, "Move", eve["id"], 2, target=ADA))

    async def bob_follows_ada() -> bool:
        query = "SELECT target_account_id FROM follows WHERE account_id = $1"
        return await stage.rows(query, int(bob.id)) == [[int(ada.id)]]

    await until_found(bob_follows_ada)
    await until_done(stage)


async def test_aliases_are_listed_and_removed(stage: Stage, ada: Person, bob: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    browser = await signed_in(stage)
    for written in (handle(peer, "eve"), "bob", handle(peer, "eve")):
        assert (await browser.send("/settings/aliases", PAGE, handle=written)).status == 302
    for written in ("ada", "no handle", handle(peer, "nobody")):
        assert "handle" in problems(await browser.send("/settings/aliases", PAGE, handle=written))
    page = (await browser.get(PAGE)).text
    assert f"@eve@{peer.domain}" in page
    assert "<li>@bob" in page
    kept = "SELECT also_known_as FROM accounts WHERE id = $1"
    assert await stage.rows(kept, int(ada.id)) == [[[eve["id"], f"{HOME}/users/bob"]]]
    await browser.send("/settings/aliases/remove", PAGE, uri=eve["id"])
    assert await stage.rows(kept, int(ada.id)) == [[[f"{HOME}/users/bob"]]]
    await stage.sql(
        "UPDATE accounts SET also_known_as = ARRAY(SELECT 'https://x.test/' || n FROM generate_series(1, 20) n)"
        " WHERE id = $1", int(ada.id),
    )  # fmt: skip
    answer = await browser.send("/settings/aliases", PAGE, handle="bob")
    assert "maximum" in problems(answer)["handle"]
    await until_done(stage)
