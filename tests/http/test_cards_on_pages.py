"""The card of a link on public pages."""

from typing import Any

from troupe.storage import preview_cards
from troupe.storage.preview_cards import CardFacts

from ..clients import Person, Stage
from .browsing import page
from .uploading import uploaded

URL = "https://tea.example/cake?a=1&b=2"
HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>'
# With a player, which an app may show and a page may not.
FACTS = CardFacts(
    type="video", title="Tea & cake", description="How to make both", language="en", provider_name="The kitchen",
    html='<iframe src="https://player.example/"></iframe>', width=640, height=360, image_file="ab/cake.webp",
    image_description="A cake",
)  # fmt: skip


async def attach(stage: Stage, status: Any, facts: CardFacts = FACTS) -> str:
    """Give a status a card, and return the path of its page."""
    context, id = stage.http_context, int(status["id"])
    stored = await context.database.transact(preview_cards.store, context.ids.next(), URL, facts, context.clock.now())
    await context.database.transact(preview_cards.attach, id, stored.id, context.ids.next())
    context.statuses.clear()
    return f"/@{status['account']['username']}/{id}"


async def test_a_card_is_a_link_with_a_picture_of_this_server(stage: Stage, ada: Person) -> None:
    shown = await page(stage, await attach(stage, await ada.publish(f"see {URL}")))
    (link,) = shown.all("a", **{"class": "linked"})
    assert (link["href"], set(link["rel"].split())) == (URL, {"noopener", "nofollow"})
    for text in ("Tea & cake", "How to make both", "The kitchen"):
        assert text in shown.text
    (image,) = shown.all("img", src="/media/ab/cake.webp")
    assert image["alt"] == "A cake"
    assert shown.all("iframe") == []


async def test_a_card_without_a_provider_names_the_host(stage: Stage, ada: Person) -> None:
    shown = await page(stage, await attach(stage, await ada.publish("see"), CardFacts(title="Tea")))
    assert "tea.example" in shown.text
    assert shown.all("img", alt="A cake") == []


async def test_what_strangers_write_in_a_card_stays_text(stage: Stage, ada: Person) -> None:
    facts = CardFacts(
        title=HOSTILE, description=HOSTILE, provider_name=HOSTILE, image_description=HOSTILE, image_file="ab/cake.webp"
    )
    shown = await page(stage, await attach(stage, await ada.publish("see"), facts))
    assert shown.all("script") == []
    assert not any("onerror" in one for _, one in shown.elements)
    (image,) = shown.all("img", src="/media/ab/cake.webp")
    assert image["alt"] == HOSTILE
    assert shown.text.count(HOSTILE) == 3


async def test_a_card_gives_way_to_media_and_to_quoted_statuses(stage: Stage, ada: Person, bob: Person) -> None:
    medium = (await uploaded(ada))["id"]
    pictured = (await ada.send("POST", "/api/v1/statuses", json={"status": URL, "media_ids": [medium]})).json
    quoted = await bob.publish("the quoted words", quote_approval_policy="public")
    quoting = await ada.publish("look", quoted_status_id=quoted["id"])
    for status in (pictured, quoting):
        assert "Tea & cake" not in (await page(stage, await attach(stage, status))).text
    await bob.delete(f"/api/v1/statuses/{quoted['id']}")
    gone = await page(stage, f"/@ada/{quoting['id']}")
    assert "can't be shown" in gone.text
    assert "Tea & cake" not in gone.text


async def test_a_card_is_behind_the_content_warning(stage: Stage, ada: Person) -> None:
    path = await attach(stage, await ada.publish("the butler", spoiler_text="the end"))
    html = (await stage.anybody().get(path)).text
    assert html.index("<details") < html.index("Tea &amp; cake") < html.index("</details>")


async def test_the_card_of_a_sensitive_status_has_no_picture(stage: Stage, ada: Person) -> None:
    status = await ada.send("POST", "/api/v1/statuses", json={"status": URL, "sensitive": True})
    shown = await page(stage, await attach(stage, status.json))
    assert "Tea & cake" in shown.text
    assert shown.all("img", src="/media/ab/cake.webp") == []
