"""Quotes on streams: each viewer is sent what they may see, and the end of a quote as an edit."""

from typing import Any

import pytest

from ...clients import Person, Stage
from .conftest import Edge, Socket

STATUSES = "/api/v1/statuses"


async def frames(*sockets: Socket) -> list[Any]:
    return [await socket.hear() for socket in sockets]


async def quote(person: Person, status: Any, text: str = "look") -> Any:
    return await person.publish(text, quoted_status_id=status["id"])


async def test_each_viewer_is_sent_what_they_may_see_of_a_quote(
    edge: Edge, stage: Stage, ada: Person, bob: Person, cyd: Person
) -> None:
    dan = await stage.person("dan")
    await ada.post(f"/api/v1/accounts/{cyd.id}/block")
    await dan.post(f"/api/v1/accounts/{ada.id}/mute")
    async with (
        edge.socket(token=bob.token) as to_bob, edge.socket(token=cyd.token) as to_cyd,
        edge.socket(token=dan.token) as to_dan, edge.socket() as to_all,
    ):  # fmt: skip
        sockets = (to_bob, to_cyd, to_dan, to_all)
        for socket in sockets:
            await socket.subscribe("public")
        post = await ada.publish("a needle")
        for socket in (to_bob, to_all):
            assert (await socket.hear())["payload"]["quote_approval"]["current_user"] == (
                "automatic" if socket is to_bob else "denied"
            )
        await quote(bob, post)
        heard = [frame["payload"] for frame in await frames(*sockets)]
    hidden = {"state": "unauthorized", "quoted_status": None}
    assert [one["quote"]["state"] for one in heard] == ["accepted", "unauthorized", "muted_account", "accepted"]
    assert (heard[1]["quote"], heard[2]["quote"]["quoted_status"]) == (hidden, None)
    assert [one["quote"]["quoted_status"]["id"] for one in (heard[0], heard[3])] == [post["id"]] * 2


async def test_a_change_of_relations_hides_what_is_quoted_from_then_on(
    edge: Edge, ada: Person, bob: Person, cyd: Person
) -> None:
    post = await ada.publish("a needle")
    async with edge.socket(token=cyd.token) as socket:
        await socket.subscribe("public")
        for change, state in (("mute", "muted_account"), ("unmute", "accepted"), ("block", "blocked_account")):
            await cyd.post(f"/api/v1/accounts/{ada.id}/{change}")
            await quote(bob, post)
            assert (await socket.hear())["payload"]["quote"]["state"] == state


@pytest.mark.parametrize("end", ["revoke", "block", "delete"])
async def test_the_end_of_a_quote_is_sent_like_an_edit(
    edge: Edge, ada: Person, bob: Person, cyd: Person, end: str
) -> None:
    await cyd.post(f"/api/v1/accounts/{bob.id}/follow")
    post = await ada.publish("a needle")
    made = await quote(bob, post)
    await cyd.post(f"{STATUSES}/{made['id']}/reblog")
    async with edge.socket(token=cyd.token) as socket:
        await socket.subscribe("user")
        if end == "revoke":
            await ada.post(f"{STATUSES}/{post['id']}/quotes/{made['id']}/revoke")
        elif end == "block":
            await ada.post(f"/api/v1/accounts/{bob.id}/block")
        else:
            await ada.delete(f"{STATUSES}/{post['id']}")
        frame = await socket.hear()
    assert (frame["event"], frame["payload"]["id"], frame["payload"]["edited_at"]) == (
        "status.update", made["id"], None,
    )  # fmt: skip
    state = "deleted" if end == "delete" else "revoked"
    assert frame["payload"]["quote"] == {"state": state, "quoted_status": None}


@pytest.mark.parametrize("path", ["", "/interaction_policy"])
async def test_a_changed_policy_is_sent_like_an_edit_and_is_none(
    edge: Edge, stage: Stage, ada: Person, bob: Person, cyd: Person, path: str
) -> None:
    dan = await stage.person("dan")
    await dan.post(f"/api/v1/accounts/{cyd.id}/follow")
    post = await ada.publish("@bob a needle")
    await cyd.post(f"{STATUSES}/{post['id']}/reblog")
    async with (
        edge.socket("?stream=user", dan.token) as home,
        edge.socket("?stream=user:notification", bob.token) as mentioned,
        edge.socket("?stream=public") as public,
    ):
        sockets = (home, mentioned, public)
        for socket in sockets:
            await socket.settle()
        for policy in ("nobody", "nobody", "public"):
            form = {"status": "@bob a needle", "quote_approval_policy": policy}
            assert (await ada.put(f"{STATUSES}/{post['id']}{path}", form)).status == 200
        for policies in (list[str](), ["public"]):
            for frame in await frames(*sockets):
                shown = frame["payload"]
                assert (frame["event"], shown["id"], shown["edited_at"]) == ("status.update", post["id"], None)
                assert shown["quote_approval"]["automatic"] == policies
        await ada.delete(f"{STATUSES}/{post['id']}")
        assert (await public.hear())["event"] == "delete"
    assert await stage.rows("SELECT FROM status_edits") == []
    assert await stage.rows("SELECT FROM notifications WHERE type = 'update'") == []


async def test_filters_mark_the_quoted_status_and_the_quoting_one_apart(
    edge: Edge, ada: Person, bob: Person, cyd: Person
) -> None:
    filters = {"title": "sharp", "context": ["public"], "keywords_attributes": [{"keyword": "needle"}]}
    assert (await cyd.post("/api/v2/filters", json=filters)).status == 200
    post, hay = await ada.publish("a needle"), await ada.publish("hay")
    async with edge.socket(token=cyd.token) as socket, edge.socket(token=ada.token) as other:
        await socket.subscribe("public")
        await other.subscribe("public")
        await quote(bob, post)
        await quote(bob, hay, "a needle")
        heard = [(await socket.hear())["payload"] for _ in range(2)]
        clean = (await other.hear())["payload"]
    marks = [[len(one["filtered"]), len(one["quote"]["quoted_status"]["filtered"])] for one in heard]
    assert marks == [[0, 1], [1, 0]]
    assert clean["quote"]["quoted_status"]["filtered"] == []


async def test_the_quoted_author_is_told_and_sent_the_quote(edge: Edge, ada: Person, bob: Person) -> None:
    post = await ada.publish("a needle")
    async with edge.socket(token=ada.token) as to_ada, edge.socket(token=bob.token) as to_bob:
        for socket in (to_ada, to_bob):
            await socket.subscribe("user:notification")
        made = await quote(bob, post)
        frame = (await to_ada.hear())["payload"]
        assert (frame["type"], frame["status"]["id"]) == ("quote", made["id"])
        assert frame["status"]["quote"]["quoted_status"]["content"] == "<p>a needle</p>"
        await ada.put(f"{STATUSES}/{post['id']}", {"status": "a pin"})
        frame = (await to_bob.hear())["payload"]
        assert (frame["type"], frame["status"]["id"]) == ("quoted_update", made["id"])
        assert frame["status"]["quote"]["quoted_status"]["content"] == "<p>a pin</p>"
