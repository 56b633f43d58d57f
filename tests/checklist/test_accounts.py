"""The seed checklist's rows on accounts: shown, changed, with their posts, follows and followers."""

from typing import Any
from urllib.parse import quote

import pytest
import pyvips

from ..clients import Person, Reply, Stage, ids, link
from ..http.entity_shapes import ACCOUNT, CREDENTIAL_ACCOUNT, differences
from ..http.uploading import fetched, files_removed, part, picture
from .rows import rows

ACCOUNTS = "/api/v1/accounts"
UPDATE = f"{ACCOUNTS}/update_credentials"
OWN = f"{ACCOUNTS}/verify_credentials"
VERIFIED = "2026-01-01T00:00:00.000Z"

PROFILE = {
    "id", "display_name", "note", "fields", "avatar", "avatar_static", "avatar_description", "header", "header_static",
    "header_description", "locked", "bot", "hide_collections", "discoverable", "indexable", "show_media",
    "show_media_replies", "show_featured", "attribution_domains", "featured_tags",
}  # fmt: skip


async def update(person: Person, **form: Any) -> Reply:
    return await person.put(UPDATE, form)


@pytest.mark.parametrize(
    ("given", "locked"),
    [
        ("1", True),
        ("true", True),
        ("on", True),
        ("yes", True),
        ("0", False),
        ("f", False),
        ("false", False),
        ("off", False),
    ],
)
@rows("S029")
async def test_booleans_are_parsed_for_truthiness(ada: Person, given: str, locked: bool) -> None:
    assert (await update(ada, locked=given)).json["locked"] is locked
    assert (await update(ada, locked="")).json["locked"] is locked
    for literal in (True, False):
        assert (await ada.send("PATCH", UPDATE, json={"locked": literal})).json["locked"] is literal


@rows("S030", "S254")
async def test_a_biography_has_500_characters(ada: Person) -> None:
    assert (await update(ada, note="x" * 500)).status == 200
    assert (await update(ada, note="https://example.org/" + "x" * 600)).status == 200
    refused = await update(ada, note="x" * 501)
    assert (refused.status, refused.json) == (
        422,
        {
            "error": "Validation failed: Note is too long (maximum is 500 characters)",
            "details": {"note": [{"error": "ERR_TOO_LONG", "description": "is too long (maximum is 500 characters)"}]},
        },
    )


@rows("S031")
async def test_metadata_entries(ada: Person) -> None:
    form = {
        "fields_attributes[0][name]": "Site", "fields_attributes[0][value]": "https://ada.example",
        "fields_attributes[-7][name]": "Pronouns", "fields_attributes[-7][value]": "she/her",
        "fields_attributes[8][name]": " ", "fields_attributes[8][value]": "",
    }  # fmt: skip
    own = (await ada.put(UPDATE, form)).json
    assert [field["name"] for field in own["fields"]] == ["Site", "Pronouns"]
    assert own["source"]["fields"][0] == {"name": "Site", "value": "https://ada.example", "verified_at": None}
    assert own["fields"][0]["value"].startswith("<a href=")
    fields = [{"name": "n" * 300, "value": "v" * 300}]
    own = (await ada.send("PATCH", UPDATE, json={"fields_attributes": fields})).json
    assert [(len(field["name"]), len(field["value"])) for field in own["source"]["fields"]] == [(255, 255)]
    assert (await ada.send("PATCH", UPDATE, json={"fields_attributes": []})).json["fields"] == []


async def test_an_unchanged_field_stays_verified(stage: Stage, ada: Person) -> None:
    fields = [{"name": "a", "value": "https://a.example"}, {"name": "b", "value": "https://b.example"}]
    await ada.send("PATCH", UPDATE, json={"fields_attributes": fields})
    for path in (["0", "verified_at"], ["1", "verified_at"]):
        set_field = "UPDATE accounts SET fields = jsonb_set(fields, $1::text[], to_jsonb($2::text))"
        await stage.sql(set_field, path, VERIFIED)
    fields[1]["value"] = "https://c.example"
    own = (await ada.send("PATCH", UPDATE, json={"fields_attributes": fields})).json
    assert [field["verified_at"] for field in own["fields"]] == [VERIFIED, None]


@pytest.mark.parametrize("given", ["x", "", 7, True, ["x"], ["x", None]])
async def test_fields_that_are_none_change_nothing(ada: Person, given: object) -> None:
    await ada.send("PATCH", UPDATE, json={"fields_attributes": [{"name": "Site", "value": "here"}]})
    answer = await ada.send("PATCH", UPDATE, json={"bot": True, "fields_attributes": given})
    assert (answer.status, answer.json["bot"]) == (200, True)
    assert [field["name"] for field in answer.json["fields"]] == ["Site"]
    answer = await ada.put(UPDATE, {"fields_attributes": "x"})
    assert [field["name"] for field in answer.json["fields"]] == ["Site"]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"display_name": "x" * 31}, "Display name is too long (maximum is 30 characters)"),
        ({"display_name": "x\u0301" * 2000}, "Display name is too long (maximum is 30 characters)"),
        ({"note": "x\u0301" * 501}, "Note is too long (maximum is 500 characters)"),
        ({"avatar_description": "x" * 1501}, "Avatar description is too long (maximum is 1500 characters)"),
        ({"fields_attributes": [{"name": "x"}] * 5}, "Fields is too long (maximum is 4 characters)"),
        ({"fields_attributes": [{"value": "x"}]}, "Fields contains values with missing labels"),
        ({"source": {"privacy": "secret"}}, "Privacy is not included in the list"),
        ({"attribution_domains": ["not a domain"]}, "Attribution domains is invalid"),
        ({"avatar": "a.png"}, "Avatar is invalid"),
        ({"avatar": "data:image/png;base64,AAAA"}, "Avatar content type is invalid, Avatar is invalid"),
    ],
)
async def test_what_no_profile_can_be(ada: Person, change: dict[str, Any], text: str) -> None:
    before = (await ada.get(OWN)).json
    answer = await ada.send("PATCH", UPDATE, json={"bot": True} | change)
    assert (answer.status, answer.json["error"]) == (422, f"Validation failed: {text}")
    assert (await ada.get(OWN)).json == before


@rows("S032")
async def test_source_holds_the_defaults_of_posts(ada: Person) -> None:
    form = {"source[privacy]": "unlisted", "source[sensitive]": "1", "source[language]": "de"}
    source = (await ada.put(UPDATE, form)).json["source"]
    assert (source["privacy"], source["sensitive"], source["language"]) == ("unlisted", True, "de")
    status = await ada.publish()
    assert (status["visibility"], status["sensitive"], status["language"]) == ("unlisted", True, "de")
    preferences = (await ada.get("/api/v1/preferences")).json
    assert preferences["posting:default:visibility"] == "unlisted"
    assert (await ada.put(UPDATE, {"source[language]": "klingonese"})).json["source"]["language"] == "de"
    assert (await ada.put(UPDATE, {"source[language]": ""})).json["source"]["language"] is None


@rows("S034")
async def test_bots_say_so_everywhere(ada: Person, bob: Person) -> None:
    await bob.get(f"{ACCOUNTS}/{ada.id}")
    assert (await update(ada, bot="true")).json["bot"] is True
    assert (await bob.get(f"{ACCOUNTS}/{ada.id}")).json["bot"] is True
    assert (await ada.publish())["account"]["bot"] is True


@rows("S119")
async def test_an_account_needs_no_token(stage: Stage, ada: Person) -> None:
    assert differences((await stage.anybody().get(f"{ACCOUNTS}/{ada.id}")).json, ACCOUNT) == []


@rows("S120", "S121", "S122", "S251")
async def test_the_suspended_are_gone_until_they_are_back(stage: Stage, ada: Person, bob: Person) -> None:
    await stage.sql("UPDATE accounts SET suspended_at = now() WHERE id = $1", bob.account.id)
    for path in ("", "/statuses", "/followers", "/following"):
        answer = await ada.get(f"{ACCOUNTS}/{bob.id}{path}")
        assert (answer.status, answer.json) == (410, {"error": "Gone"})
    await stage.sql("UPDATE accounts SET suspended_at = NULL")
    assert (await ada.get(f"{ACCOUNTS}/{bob.id}")).status == 200


@rows("S123", "S124")
async def test_statuses_by_hashtag(stage: Stage, ada: Person) -> None:
    cats = await ada.publish("my #Cats")
    await ada.publish("my #dogs")
    for tag in ("cats", "CaTs", "%23cats", quote("\uff23\uff21\uff34\uff33")):
        assert ids(await stage.anybody().get(f"{ACCOUNTS}/{ada.id}/statuses?tagged={tag}")) == [cats["id"]]
    assert ids(await ada.get(f"{ACCOUNTS}/{ada.id}/statuses?tagged=birds")) == []


@rows("S125")
async def test_statuses_with_and_without_boosts_and_answers(ada: Person, bob: Person) -> None:
    own = await ada.publish("own")
    other = await bob.publish("other")
    boost = (await ada.post(f"/api/v1/statuses/{other['id']}/reblog")).json
    answer = await ada.publish("@bob well", in_reply_to_id=other["id"])
    thread = await ada.publish("more", in_reply_to_id=own["id"])
    path = f"{ACCOUNTS}/{ada.id}/statuses"
    assert ids(await bob.get(path)) == [thread["id"], answer["id"], boost["id"], own["id"]]
    assert ids(await bob.get(f"{path}?exclude_reblogs=true")) == [thread["id"], answer["id"], own["id"]]
    assert ids(await bob.get(f"{path}?exclude_replies=1")) == [thread["id"], boost["id"], own["id"]]
    assert ids(await bob.get(f"{path}?only_media=1")) == []


@rows("S126")
async def test_statuses_page_both_ways(stage: Stage, ada: Person) -> None:
    made = [(await ada.publish(str(number)))["id"] for number in range(5)][::-1]
    path = f"{ACCOUNTS}/{ada.id}/statuses?exclude_replies=true&limit=2"
    first = await stage.anybody().get(path)
    second = await stage.anybody().get(link(first, "next"))
    assert ids(first) + ids(second) == made[:4]
    assert "exclude_replies=true" in link(first, "next")
    assert ids(await stage.anybody().get(link(second, "prev"))) == made[:2]
    assert ids(await ada.get(f"{path}&min_id={made[4]}")) == made[2:4]
    assert ids(await ada.get(f"{path}&max_id={made[1]}")) == made[2:4]


async def test_a_page_is_full_however_much_of_the_profile_is_hidden(stage: Stage, ada: Person, bob: Person) -> None:
    public = await ada.publish("public")
    direct = await ada.publish("@bob psst", visibility="direct")
    await stage.sql(
        "INSERT INTO statuses (id, account_id, uri, local, visibility, conversation_id, created_at) "
        "SELECT n, $1, 'https://x.example/' || n, true, 'private', n, now() "
        "FROM generate_series($2::bigint, $2 + 999) n",
        ada.account.id, int(direct["id"]) + 1,
    )  # fmt: skip
    await stage.sql("INSERT INTO status_counts (status_id) SELECT id FROM statuses WHERE visibility = 'private'")
    path = f"{ACCOUNTS}/{ada.id}/statuses"
    assert ids(await bob.get(path)) == [direct["id"], public["id"]]
    assert ids(await stage.anybody().get(path)) == [public["id"]]
    await bob.post(f"{ACCOUNTS}/{ada.id}/follow")
    assert len(ids(await bob.get(path))) == len(ids(await ada.get(path))) == 20


async def test_the_blocked_see_an_empty_profile(ada: Person, bob: Person, stage: Stage) -> None:
    await ada.publish()
    await ada.post(f"{ACCOUNTS}/{bob.id}/block")
    for path in ("", "?pinned=true"):
        assert ids(await bob.get(f"{ACCOUNTS}/{ada.id}/statuses{path}")) == []
    assert (await bob.get(f"{ACCOUNTS}/{ada.id}")).status == 200
    assert len(ids(await stage.anybody().get(f"{ACCOUNTS}/{ada.id}/statuses"))) == 1


async def test_boosts_of_those_one_shuns_are_left_out(stage: Stage, ada: Person, bob: Person) -> None:
    cyd = await stage.person("cyd")
    boost = (await ada.post(f"/api/v1/statuses/{(await cyd.publish())['id']}/reblog")).json
    path = f"{ACCOUNTS}/{ada.id}/statuses"
    assert ids(await bob.get(path)) == [boost["id"]]
    await bob.post(f"{ACCOUNTS}/{cyd.id}/mute")
    assert ids(await bob.get(path)) == []


@rows("S127")
async def test_the_blocked_see_no_network(stage: Stage, ada: Person, bob: Person) -> None:
    cyd = await stage.person("cyd")
    for follower, target in ((cyd, bob), (bob, cyd)):
        await follower.post(f"{ACCOUNTS}/{target.id}/follow")
    await bob.post(f"{ACCOUNTS}/{ada.id}/block")
    for path in ("followers", "following"):
        assert ids(await ada.get(f"{ACCOUNTS}/{bob.id}/{path}")) == []
        assert ids(await cyd.get(f"{ACCOUNTS}/{bob.id}/{path}")) == [cyd.id]
        assert ids(await stage.anybody().get(f"{ACCOUNTS}/{bob.id}/{path}")) == [cyd.id]


async def test_networks_are_hidden_on_request_and_leave_out_accounts_that_the_viewer_shuns(
    stage: Stage, ada: Person, bob: Person
) -> None:
    cyd = await stage.person("cyd")
    for follower in (ada, cyd):
        await follower.post(f"{ACCOUNTS}/{bob.id}/follow")
    await cyd.post(f"{ACCOUNTS}/{ada.id}/mute")
    await bob.post(f"{ACCOUNTS}/{ada.id}/mute")
    path = f"{ACCOUNTS}/{bob.id}/followers"
    assert ids(await cyd.get(path)) == [cyd.id]
    assert ids(await bob.get(path)) == [cyd.id, ada.id]
    assert (await update(bob, hide_collections="1")).json["source"]["hide_collections"] is True
    assert ids(await ada.get(path)) == ids(await stage.anybody().get(path)) == []
    assert ids(await bob.get(path)) == [cyd.id, ada.id]


@rows("S128")
async def test_one_s_own_lists_that_hold_an_account(stage: Stage, ada: Person, bob: Person) -> None:
    for id, owner in ((1, ada), (2, ada), (3, ada), (4, bob)):
        await stage.sql(
            "INSERT INTO lists (id, account_id, title, created_at) VALUES ($1, $2, 'x', now())", id, owner.account.id
        )
    cyd = await stage.account("cyd")
    for id in (1, 3, 4):
        await stage.sql(
            "INSERT INTO list_accounts (id, list_id, account_id, created_at) VALUES ($1, $1, $2, now())", id, cyd.id
        )
    answer = await ada.get(f"{ACCOUNTS}/{cyd.id}/lists")
    assert ids(answer) == ["1", "3"]
    assert answer.json[0] == {
        "id": "1", "title": "x", "replies_policy": "list", "exclusive": False, "show_replies": True,
    }  # fmt: skip


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
@rows("S129")
async def test_credentials_are_updated(ada: Person, bob: Person, method: str) -> None:
    change = {"display_name": "Ada L.\n", "note": "Hi @bob, #maths", "discoverable": True, "indexable": True}
    answer = await ada.send(method, UPDATE, json=change | {"source": {"privacy": "private"}})
    assert (answer.status, differences(answer.json, CREDENTIAL_ACCOUNT)) == (200, [])
    own = answer.json
    assert (own["display_name"], own["source"]["note"], own["source"]["privacy"]) == (
        "Ada L.",
        change["note"],
        "private",
    )
    assert (own["discoverable"], own["indexable"], own["noindex"]) == (True, True, False)
    assert f'href="{bob.account.url}"' in own["note"]
    assert (await bob.get(f"{ACCOUNTS}/{ada.id}")).json["note"] == own["note"]


@rows("S130", "S247")
async def test_an_empty_source_is_fine(ada: Person) -> None:
    before = (await ada.get(OWN)).json
    answers = [
        await ada.send("PUT", UPDATE, json={"source": {}}),
        await ada.send("PUT", UPDATE, json={"source": None}),
        await ada.put(UPDATE, {"source": ""}),
        await ada.send("PUT", UPDATE),
    ]
    assert [(answer.status, answer.json) for answer in answers] == [(200, before)] * 4


@rows("S131")
async def test_one_s_own_account(ada: Person) -> None:
    own = (await ada.get(OWN)).json
    assert (own["id"], differences(own, CREDENTIAL_ACCOUNT)) == (ada.id, [])


@rows("S208")
async def test_pinned_statuses_have_no_links(stage: Stage, ada: Person) -> None:
    made = [(await ada.publish(str(number)))["id"] for number in range(3)]
    for id in made:
        await ada.post(f"/api/v1/statuses/{id}/pin")
    await ada.publish("not pinned")
    answer = await stage.anybody().get(f"{ACCOUNTS}/{ada.id}/statuses?pinned=true")
    assert (ids(answer), "Link" in answer.headers) == (made[::-1], False)
    answer = await stage.anybody().get(f"{ACCOUNTS}/{ada.id}/statuses?pinned=true&limit=1")
    assert (ids(answer), "Link" in answer.headers) == (made[:1:-1], False)


async def test_html_in_a_profile_is_text(ada: Person) -> None:
    evil = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    fields = [{"name": evil[:30], "value": evil}]
    own = (await ada.send("PATCH", UPDATE, json={"note": evil, "fields_attributes": fields})).json
    assert "<script" not in own["note"] + own["fields"][0]["value"]
    assert "<img" not in own["note"] + own["fields"][0]["value"]


async def test_the_profile_as_it_is_written(ada: Person) -> None:
    change = {"note": "see https://a.example", "show_media": False, "attribution_domains": ["A.example", "a.example"]}
    profile = (await ada.send("PATCH", "/api/v1/profile", json=change)).json
    assert set(profile) == PROFILE
    assert (profile["note"], profile["show_media"], profile["avatar"]) == (change["note"], False, None)
    assert profile["attribution_domains"] == ["a.example"]
    assert profile == (await ada.get("/api/v1/profile")).json
    assert (await ada.get(OWN)).json["show_media"] is False


async def test_many_accounts_at_once(stage: Stage, ada: Person, bob: Person) -> None:
    await stage.account("pending", approved_at=None)
    pending = (await stage.rows("SELECT id FROM accounts WHERE username = 'pending'"))[0][0]
    path = f"{ACCOUNTS}?" + "&".join(f"id[]={id}" for id in (bob.id, "1", pending, ada.id, bob.id))
    assert ids(await stage.anybody().get(path)) == [bob.id, ada.id]
    assert ids(await stage.anybody().get(ACCOUNTS)) == []


async def test_moved_accounts_say_where_to_and_cannot_be_followed(stage: Stage, ada: Person, bob: Person) -> None:
    await stage.sql("UPDATE accounts SET moved_to_id = $1 WHERE id = $2", ada.account.id, bob.account.id)
    assert (await ada.get(f"{ACCOUNTS}/{bob.id}")).json["moved"]["id"] == ada.id
    assert (await bob.get(OWN)).status == 403, "an account that has moved is closed to apps"
    assert (await ada.post(f"{ACCOUNTS}/{bob.id}/follow")).status == 403


async def test_identity_proofs_are_none(ada: Person) -> None:
    assert (await ada.get(f"{ACCOUNTS}/{ada.id}/identity_proofs")).json == []


async def test_avatars_and_headers_are_taken_shown_and_removed(stage: Stage, ada: Person) -> None:
    drawn = (await ada.get(OWN)).json["avatar"]
    files = {"avatar": part(picture(500, 300)), "header": part(picture(300, 300, "jpg"))}
    own = (await ada.send("PATCH", UPDATE, form={"display_name": "Ada"}, files=files)).json
    assert own["avatar"] == own["avatar_static"] != own["header"]
    for url, size in ((own["avatar"], (400, 400)), (own["header"], (1500, 500))):
        shown = await fetched(stage.anybody(), url)
        image = pyvips.Image.new_from_buffer(shown.body, "")
        assert (shown.status, (image.width, image.height)) == (200, size)
    bare = (await ada.delete("/api/v1/profile/avatar")).json
    assert bare["avatar"] == bare["avatar_static"] == drawn != own["avatar"]
    assert bare["header"] == own["header"]
    assert (await ada.delete("/api/v1/profile/header")).json["header"].endswith("/headers/original/missing.png")
    await files_removed(stage)
    assert (await fetched(stage.anybody(), own["avatar"])).status == 404


async def test_what_is_no_picture_changes_nothing(ada: Person) -> None:
    before = (await ada.get(OWN)).json
    files = {"avatar": part(b"<html>")}
    refused = await ada.send("PATCH", UPDATE, form={"display_name": "Eve"}, files=files)
    text = "Validation failed: Avatar content type is invalid, Avatar is invalid"
    assert (refused.status, refused.json) == (422, {"error": text})
    assert (await ada.get(OWN)).json == before
