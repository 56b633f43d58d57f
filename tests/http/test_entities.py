"""Every key of the API's objects is there, of its type, and nothing that must not be.

The tables repeat facts of the API's public pages; `?` after a type allows null, `[]` stands for a list of anything.
"""

import re
from typing import Any

import pytest

from troupe.http.entities.preview_card import card_fields
from troupe.storage.preview_cards import CardFacts, PreviewCard

from ..clients import Person, Stage
from .entity_shapes import ACCOUNT, CREDENTIAL_ACCOUNT, DAY, ID, INSTANT, URL, differences

STATUS: dict[str, Any] = {
    "id": ID, "uri": URL, "url": URL, "created_at": INSTANT, "edited_at": (INSTANT, None), "account": ACCOUNT,
    "content": str, "visibility": "^(public|unlisted|private|direct)$", "sensitive": bool, "spoiler_text": str,
    "media_attachments": list, "application": ({"name": str, "website": (URL, None)}, None), "mentions": list,
    "tags": list, "emojis": list, "reblogs_count": int, "favourites_count": int, "replies_count": int,
    "quotes_count": int, "in_reply_to_id": (ID, None), "in_reply_to_account_id": (ID, None), "reblog": None,
    "poll": None, "card": None, "language": (str, None), "quote": None,
    "quote_approval": {"automatic": list, "manual": list, "current_user": str},
}  # fmt: skip
VIEWED = STATUS | {"favourited": bool, "reblogged": bool, "muted": bool, "bookmarked": bool, "filtered": list}
OWN = VIEWED | {"pinned": bool}
DELETED = {key: kind for key, kind in OWN.items() if key != "content"} | {"text": str, "content_type": str}

RELATIONSHIP: dict[str, Any] = {
    "id": ID, "following": bool, "showing_reblogs": bool, "notifying": bool, "languages": (list, None),
    "followed_by": bool, "blocking": bool, "muting": bool, "muting_notifications": bool,
    "muting_expires_at": (INSTANT, None), "requested": bool, "requested_by": bool, "domain_blocking": bool,
    "endorsed": bool, "note": str,
}  # fmt: skip

LIMITS = {
    "statuses": {"max_characters": int, "max_media_attachments": int, "characters_reserved_per_url": int},
    "media_attachments": {
        "supported_mime_types": list, "description_limit": int, "image_size_limit": int, "image_matrix_limit": int,
        "video_size_limit": int, "video_frame_rate_limit": int, "video_matrix_limit": int,
    },
    "polls": {
        "max_options": int, "max_characters_per_option": int, "min_expiration": int, "max_expiration": int,
    },
    "accounts": {
        "max_display_name_length": int, "max_note_length": int, "max_avatar_description_length": int,
        "max_header_description_length": int, "max_featured_tags": int, "max_pinned_statuses": int,
        "max_profile_fields": int, "profile_field_name_limit": int, "profile_field_value_limit": int,
    },
}  # fmt: skip

INSTANCE_V1: dict[str, Any] = {
    "uri": str, "title": str, "short_description": str, "description": str, "email": str, "version": r"^\d+\.\d+\.\d+ ",
    "urls": {"streaming_api": "^wss?://"}, "stats": {"user_count": int, "status_count": int, "domain_count": int},
    "thumbnail": URL, "languages": list, "registrations": bool, "approval_required": bool, "invites_enabled": bool,
    "configuration": LIMITS, "contact_account": (ACCOUNT, None), "rules": list,
}  # fmt: skip

FEED = {"local": str, "remote": str}
INSTANCE: dict[str, Any] = {
    "domain": str, "title": str, "version": r"^\d+\.\d+\.\d+ ", "source_url": URL, "description": str,
    "usage": {"users": {"active_month": int}}, "thumbnail": {"url": URL, "description": str}, "icon": list,
    "languages": list, "api_versions": {"mastodon": int}, "contact": {"email": str, "account": (ACCOUNT, None)},
    "rules": list,
    "registrations": {
        "enabled": bool, "approval_required": bool, "reason_required": bool, "message": (str, None),
        "min_age": (int, None), "url": (URL, None),
    },
    "configuration": LIMITS | {
        "urls": {
            "streaming": "^wss?://", "status": None, "about": URL, "privacy_policy": URL,
            "terms_of_service": (URL, None),
        },
        "vapid": {"public_key": str}, "translation": {"enabled": bool}, "limited_federation": bool,
        "timelines_access": {"live_feeds": FEED, "hashtag_feeds": FEED, "trending_link_feeds": FEED},
    },
}  # fmt: skip


async def test_account(stage: Stage, ada: Person, bob: Person) -> None:
    assert differences((await bob.get(f"/api/v1/accounts/{ada.id}")).json, ACCOUNT) == []
    assert differences((await ada.get("/api/v1/accounts/verify_credentials")).json, CREDENTIAL_ACCOUNT) == []


async def test_account_dates(ada: Person) -> None:
    account = (await ada.publish())["account"]
    assert account["created_at"].endswith("T00:00:00.000Z")
    assert re.match(DAY, account["last_status_at"])
    assert account["statuses_count"] == 1


async def test_status(stage: Stage, ada: Person, bob: Person) -> None:
    parent = await ada.publish("hello @bob #trio", spoiler_text="warm", language="en")
    reply = await ada.publish("again", in_reply_to_id=parent["id"])
    assert differences(parent, OWN) == []
    assert differences(reply, OWN) == []
    assert reply["in_reply_to_account_id"] == ada.id
    path = f"/api/v1/statuses/{parent['id']}"
    assert differences((await bob.get(path)).json, VIEWED) == []
    assert differences((await stage.anybody().get(path)).json, STATUS) == []
    assert (await bob.get(path)).json["replies_count"] == 1
    assert parent["mentions"] == [{"id": bob.id, "username": "bob", "acct": "bob", "url": "http://localhost:3000/@bob"}]
    assert parent["tags"] == [{"name": "trio", "url": "http://localhost:3000/tags/trio"}]
    assert parent["application"] == {"name": "Test app", "website": None}


async def test_addresses_of_accounts_and_apps_are_in_ascii(stage: Stage, ada: Person, bob: Person) -> None:
    status = await ada.publish("hello @bob")
    for fan in (bob, await stage.person("cyd")):
        await fan.post(f"/api/v1/statuses/{status['id']}/favourite")
    await stage.sql("UPDATE accounts SET url = 'https://peer.test/\u00fc' WHERE id = $1", bob.account.id)
    await stage.sql("UPDATE applications SET website = 'https://peer.test/\u00fc'")
    stage.http_context.statuses.clear()
    shown = await ada.done("GET", f"/api/v1/statuses/{status['id']}")
    groups = await ada.done("GET", "/api/v2/notifications?expand_accounts=partial_avatars")
    told = [shown["mentions"][0]["url"], shown["application"]["website"], groups["partial_accounts"][0]["url"]]
    assert told == ["https://peer.test/%C3%BC"] * 3


def test_addresses_of_a_card_are_in_ascii() -> None:
    facts = CardFacts(
        author_url="https://peer.test/\u00e4",
        provider_url="https://peer.test/\u00f6",
        embed_url="https://peer.test/a b",
    )
    shown = card_fields(PreviewCard(1, "https://peer.test/\u30bf", facts), "https://home.test")
    assert (shown["url"], shown["author_url"]) == ("https://peer.test/%E3%82%BF", "https://peer.test/%C3%A4")
    assert (shown["provider_url"], shown["embed_url"]) == ("https://peer.test/%C3%B6", "https://peer.test/a%20b")
    assert shown["authors"] == [{"name": "", "url": "https://peer.test/%C3%A4", "account": None}]


async def test_deleted_status(ada: Person) -> None:
    status = await ada.publish("*source*", content_type="text/markdown")
    deleted = (await ada.delete(f"/api/v1/statuses/{status['id']}")).json
    assert differences(deleted, DELETED) == []
    assert (deleted["text"], deleted["content_type"]) == ("*source*", "text/markdown")


async def test_relationship(ada: Person, bob: Person) -> None:
    answer = (await ada.get(f"/api/v1/accounts/relationships?id[]={bob.id}")).json
    assert differences(answer[0], RELATIONSHIP) == []


@pytest.mark.parametrize("staff", [False, True])
async def test_instance(stage: Stage, staff: bool) -> None:
    if staff:
        await stage.account("root", role="owner")
    v1, v2 = (await stage.anybody().get("/api/v1/instance")).json, (await stage.anybody().get("/api/v2/instance")).json
    assert differences(v1, INSTANCE_V1) == []
    assert differences(v2, INSTANCE) == []
    assert (v1["contact_account"] is not None) == staff
    assert v1["version"] == v2["version"]


async def test_suspended_and_silenced_accounts_say_so_where_they_are_embedded(
    stage: Stage, ada: Person, bob: Person
) -> None:
    status = await ada.publish("hi")
    await stage.sql("UPDATE accounts SET silenced_at = now() WHERE id = $1", ada.account.id)
    assert (await bob.get(f"/api/v1/statuses/{status['id']}")).json["account"]["limited"] is True
