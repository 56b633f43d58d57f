"""Actor documents, as other servers read them: section by section what they need."""

from dataclasses import replace
from datetime import timedelta
from io import BytesIO
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from quart.datastructures import FileStorage

from troupe.actors.effects.sending import deletion_continues
from troupe.actors.kernel import NOWHERE

from ...activitypub.documents_read import undeclared
from ...clients import BASE, Person, Stage
from ...emojis import add_emoji
from ..uploading import picture
from .peers import DOCUMENT, ask, document, peer

ADA = f"{BASE}/users/ada"
UNSENT = "INSERT INTO activities (id, account_id, body, created_at, deliveries) VALUES (1, $1, '{}', now(), 1)"
AS2 = "https://www.w3.org/ns/activitystreams"
PROFILE = 'application/ld+json; profile="https://www.w3.org/ns/activitystreams"'


async def test_an_actor_has_all_that_others_require(stage: Stage, ada: Person) -> None:
    actor = await document(stage, "/users/ada")
    assert "https://www.w3.org/ns/activitystreams" in actor["@context"]
    assert undeclared(actor) == set()
    assert {name: actor[name] for name in ("id", "type", "preferredUsername", "url")} == {
        "id": ADA, "type": "Person", "preferredUsername": "ada", "url": f"{BASE}/@ada",
    }  # fmt: skip
    collections = ("inbox", "outbox", "followers", "following")
    assert [actor[name] for name in collections] == [f"{ADA}/{name}" for name in collections]
    assert actor["featured"] == f"{ADA}/collections/featured"
    assert actor["featuredTags"] == f"{ADA}/collections/tags"
    assert actor["endpoints"] == {"sharedInbox": f"{BASE}/inbox"}
    assert (actor["manuallyApprovesFollowers"], actor["memorial"]) == (False, False)
    assert actor["webfinger"] == "ada@localhost:3000"


async def test_the_key_is_the_actors_own_and_is_made_once(stage: Stage, ada: Person, bob: Person) -> None:
    key = (await document(stage, "/users/ada"))["publicKey"]
    assert (key["id"], key["owner"]) == (f"{ADA}#main-key", ADA)
    assert load_pem_public_key(key["publicKeyPem"].encode())
    assert (await document(stage, "/users/ada"))["publicKey"] == key
    assert (await document(stage, "/users/bob"))["publicKey"]["owner"] == f"{BASE}/users/bob"


async def test_an_actor_has_its_profile(stage: Stage, ada: Person) -> None:
    emoji = await add_emoji(stage, "blob")
    form = {
        "display_name": "Ada :blob:", "note": "about #tea", "locked": "true", "discoverable": "true", "bot": "true",
        "indexable": "true", "fields_attributes[0][name]": "site", "fields_attributes[0][value]": "here",
    }  # fmt: skip
    assert (await ada.send("PATCH", "/api/v1/accounts/update_credentials", form=form)).status == 200
    await stage.sql(
        "UPDATE accounts SET also_known_as = $1, attribution_domains = $2, memorial = true, created_at = $3"
        " WHERE username = 'ada'",
        ["https://far.test/users/ada"], ["blog.test"], stage.http_context.clock.now(),
    )  # fmt: skip
    actor = await document(stage, "/users/ada")
    assert (actor["name"], actor["type"]) == ("Ada :blob:", "Service")
    assert "about" in actor["summary"]
    assert "/tags/tea" in actor["summary"]
    for flag in ("manuallyApprovesFollowers", "discoverable", "indexable", "memorial"):
        assert actor[flag] is True, flag
    assert actor["attachment"] == [{"type": "PropertyValue", "name": "site", "value": "here"}]
    (tag,) = actor["tag"]
    assert (tag["type"], tag["name"], tag["icon"]["url"]) == ("Emoji", ":blob:", f"{BASE}/media/{emoji.file}")
    assert (await document(stage, tag["id"]))["name"] == ":blob:"
    assert actor["alsoKnownAs"] == ["https://far.test/users/ada"]
    assert actor["attributionDomains"] == ["blog.test"]
    assert actor["published"] == f"{stage.http_context.clock.now():%Y-%m-%d}T00:00:00Z"
    assert undeclared(actor) == set()


async def test_pictures_have_their_type_and_the_drawn_ones_are_not_sent(stage: Stage, ada: Person) -> None:
    assert not {"icon", "image"} & (await document(stage, "/users/ada")).keys()
    file = FileStorage(BytesIO(picture()), "a.png")
    sent = await ada.done(
        "PATCH", "/api/v1/accounts/update_credentials", files={"avatar": file}, form={"avatar_description": "a face"}
    )
    icon = (await document(stage, "/users/ada"))["icon"]
    assert icon["url"] == sent["avatar"]
    assert (icon["type"], icon["name"], icon["summary"]) == ("Image", "a face", "a face")
    served = await stage.anybody().get(icon["url"].removeprefix(BASE))
    assert icon["mediaType"] == served.headers["Content-Type"]


async def test_an_account_that_has_moved_names_the_new_one(stage: Stage, ada: Person) -> None:
    una = await peer(stage)
    await stage.sql("UPDATE accounts SET moved_to_id = $1 WHERE username = 'ada'", una.account.id)
    assert (await document(stage, "/users/ada"))["movedTo"] == una.uri


@pytest.mark.parametrize("path", ["/users/ada", "/@ada", "/users/ADA"])
@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        (DOCUMENT, DOCUMENT),
        (PROFILE, DOCUMENT),
        (f"{PROFILE}, {DOCUMENT}, text/html;q=0.1", DOCUMENT),
        (f"{DOCUMENT};q=0.5, text/html", "text/html"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "text/html"),
        ("*/*", "text/html"),
        ("application/json", DOCUMENT),
        ("application/json, text/plain, */*", DOCUMENT),
        ("application/*", DOCUMENT),
        ("application/*;q=0.5, text/html;q=0.4", DOCUMENT),
        (f"text/html;q=0.9, {DOCUMENT}", DOCUMENT),
        ("Application/Activity+JSON; Charset=UTF-8", DOCUMENT),
        (f'APPLICATION/LD+JSON;q=0.9 ;PROFILE="{AS2} https://example.test/a,b", text/html;Q=0.8', DOCUMENT),
        ("application/ld+json", DOCUMENT),
        (f"{DOCUMENT}, */*", DOCUMENT),
        (f"*/*;q=0.1,{DOCUMENT};q=0.2,text/html;q=0", DOCUMENT),
        ("application/*;q=0.4, text/html;q=0.5", "text/html"),
        (f"{DOCUMENT};q=0, */*", "text/html"),
        (f"{DOCUMENT};q=none, text/html;q=0.1", "text/html"),
        ("text/*, application/json;q=0.9", "text/html"),
        ('text/html;x="a, application/activity+json"', "text/html"),
        ("image/avif,image/webp,*/*", "text/html"),
        ("", "text/html"),
    ],
)
async def test_who_asks_for_a_document_gets_it_and_all_others_the_page(
    stage: Stage, ada: Person, path: str, accept: str, kind: str
) -> None:
    reply = await stage.anybody().get(path, headers={"Accept": accept})
    assert reply.headers["Content-Type"].startswith(kind)
    varies = "Accept, Signature" if kind == DOCUMENT else "Cookie, Accept" if reply.status == 200 else "Accept"
    assert reply.headers["Vary"] == varies
    if kind == DOCUMENT:
        assert (reply.status, reply.json["id"]) == (200, ADA)
        assert reply.headers["Cache-Control"] == "public, max-age=60"
    else:
        assert reply.status in (200, 302)


async def test_the_page_names_the_document(stage: Stage, ada: Person) -> None:
    status = await ada.publish()
    for path, uri in (("/@ada", ADA), (f"/@ada/{status['id']}", status["uri"])):
        page = await stage.anybody().get(path, headers={"Accept": "text/html"})
        assert f'<link rel="alternate" type="application/activity+json" href="{uri}">' in page.text
        assert page.headers["Link"] == f'<{uri}>; rel="alternate"; type="application/activity+json"'
    assert "Link" not in (await stage.anybody().get("/about")).headers


async def test_a_suspended_actor_says_so_and_nothing_else(stage: Stage, ada: Person) -> None:
    await ada.send("PATCH", "/api/v1/accounts/update_credentials", form={"display_name": "Ada", "note": "secret"})
    await stage.sql("UPDATE accounts SET suspended_at = now() WHERE username = 'ada'")
    actor = await document(stage, "/users/ada")
    assert (actor["suspended"], actor["name"], actor["summary"]) == (True, "", "")
    assert actor["publicKey"]["owner"] == ADA
    for path in ("outbox", "followers", "following", "collections/featured", "collections/tags"):
        assert (await ask(stage, f"/users/ada/{path}")).status == 404, path


async def test_a_deleted_actor_is_gone_for_good(stage: Stage, ada: Person) -> None:
    status = await ada.publish()
    await stage.sql("UPDATE accounts SET deleted_at = now() WHERE username = 'ada'")
    for path in ("/users/ada", "/@ada", f"/users/ada/statuses/{status['id']}", f"/@ada/{status['id']}"):
        reply = await ask(stage, path)
        assert (reply.status, reply.json["type"]) == (410, "Tombstone"), path
    for path in ("outbox", "followers", "following", "collections/featured", "collections/tags"):
        assert (await ask(stage, f"/users/ada/{path}")).status == 410, path


async def test_a_deleted_actors_key_stays_until_the_others_are_told(stage: Stage, ada: Person) -> None:
    await stage.sql("UPDATE accounts SET deleted_at = now() WHERE username = 'ada'")
    await stage.sql(UNSENT, ada.account.id)
    actor = await document(stage, "/users/ada")
    assert (actor["suspended"], actor["publicKey"]["owner"]) == (True, ADA)
    await stage.sql("DELETE FROM activities")
    assert (await ask(stage, "/users/ada")).status == 410


async def test_so_it_does_between_two_steps_of_telling_them(stage: Stage, ada: Person) -> None:
    context = stage.http_context
    await stage.sql("UPDATE accounts SET deleted_at = now() WHERE username = 'ada'")
    later = replace(deletion_continues(ada.account.id, ""), due_at=context.clock.now() + timedelta(days=1))
    await context.database.transact(stage.outbox.promise, [later], NOWHERE)
    assert (await document(stage, "/users/ada"))["suspended"] is True
    await stage.sql("DELETE FROM outbox WHERE kind = 'send_deletion'")
    assert (await ask(stage, "/users/ada")).status == 410


async def test_accounts_that_are_not_there_for_others(stage: Stage) -> None:
    await stage.account("newcomer", confirmed_at=None)
    await peer(stage)
    for path in ("/users/newcomer", "/users/nobody", "/users/una", "/@una@peer.example", "/users/a%00b"):
        assert (await ask(stage, path)).status == 404, path


async def test_the_servers_own_actor(stage: Stage) -> None:
    actor: Any = await document(stage, "/actor")
    assert {name: actor[name] for name in ("id", "type", "preferredUsername", "inbox")} == {
        "id": f"{BASE}/actor", "type": "Application", "preferredUsername": "localhost:3000", "inbox": f"{BASE}/inbox",
    }  # fmt: skip
    assert (actor["manuallyApprovesFollowers"], actor["discoverable"]) == (True, False)
    assert (actor["webfinger"], undeclared(actor)) == ("localhost:3000@localhost:3000", set())
    assert actor["publicKey"]["id"] == f"{BASE}/actor#main-key"
    assert (await document(stage, actor["outbox"]))["totalItems"] == 0
