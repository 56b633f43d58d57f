"""Emoji and attachments of other servers on the pages of this one: files that this server fetches and shows."""

from __future__ import annotations

from typing import Any

from ..clients import Person, Stage
from ..emojis import add_emoji
from ..http.browsing import page
from .delivering import HOME, create, note, take
from .peer import ForeignServer


def emoji(peer: ForeignServer, name: str) -> dict[str, Any]:
    return {"type": "Emoji", "name": f":{name}:", "icon": {"type": "Image", "url": peer.url(f"/{name}.png")}}


async def test_texts_of_other_servers_show_their_own_emoji(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    await add_emoji(stage, "cat")
    status = (await ada.post("/api/v1/statuses", json={"status": "hello"})).json
    eve = peer.person("eve", name="Eve :blob:", tag=[emoji(peer, "blob")])
    answer = note(
        eve, content="<p>a :tea: and a :cat: of <code>:tea:</code></p>", summary=":hot:", inReplyTo=status["uri"],
        cc=[f"{HOME}/users/ada"], tag=[emoji(peer, "tea"), emoji(peer, "hot")],
    )  # fmt: skip
    await take(stage, create(eve, answer))
    shown = (await page(stage, f"/@ada/{status['id']}")).all("img", **{"class": "emoji"})
    assert [one["alt"] for one in shown] == [":blob:", ":hot:", ":tea:"], "a name means an emoji of that server"
    (id,) = (await stage.rows("SELECT id FROM custom_emojis WHERE shortcode = 'tea'"))[0]
    assert shown[-1]["src"].startswith(f"/media_proxy/emoji/{id}/")


async def test_names_of_emoji_of_other_servers_may_have_a_dash(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    status = (await ada.post("/api/v1/statuses", json={"status": "hello"})).json
    eve = peer.person("eve", name="Eve :c++:", tag=[emoji(peer, "c++")])
    answer = note(
        eve, content="<p>:blob-cat:, :not-there:</p>", inReplyTo=status["uri"], cc=[f"{HOME}/users/ada"],
        tag=[emoji(peer, "blob-cat"), emoji(peer, "b.c")],
    )  # fmt: skip
    await take(stage, create(eve, answer))
    shown = (await page(stage, f"/@ada/{status['id']}")).all("img", **{"class": "emoji"})
    assert [one["alt"] for one in shown] == [":c++:", ":blob-cat:"]
    (reply,) = (await ada.get(f"/api/v1/statuses/{status['id']}/context")).json["descendants"]
    names = [[one["shortcode"] for one in found] for found in (reply["emojis"], reply["account"]["emojis"])]
    assert names == [["blob-cat"], ["c++"]]


async def test_attachments_of_other_servers_are_shown_from_here(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    status = (await ada.post("/api/v1/statuses", json={"status": "hello"})).json
    files = [
        {"type": "Document", "mediaType": kind, "url": peer.url(f"/{name}"), "name": f"a {name}"}
        for kind, name in (("image/png", "picture"), ("video/mp4", "film"), ("audio/ogg", "sound"))
    ]
    eve = peer.person("eve")
    await take(stage, create(eve, note(eve, inReplyTo=status["uri"], cc=[f"{HOME}/users/ada"], attachment=files)))
    shown = await page(stage, f"/@ada/{status['id']}")
    (picture,) = shown.all("img", alt="a picture")
    (film,), (sound,) = shown.all("video"), shown.all("audio")
    assert (film["aria-label"], sound["aria-label"]) == ("a film", "a sound")
    for one in (picture, film, sound):
        assert one["src"].startswith("/media_proxy/attachment/")
