"""The documents of this server's things, made from records: their names are explained, and no two ids are equal."""

from datetime import UTC, datetime
from typing import Any

import pytest

from troupe.actors.activitypub.documents import activities
from troupe.actors.activitypub.documents.actors import actor_of, server_actor_of, tombstone_of
from troupe.actors.activitypub.documents.collections import (
    collection_of,
    collection_page_of,
    featured_of,
    featured_tags_of,
)
from troupe.actors.activitypub.documents.notes import References, note_of, quote_authorization_of
from troupe.actors.activitypub.documents.tags import hashtag_of
from troupe.actors.activitypub.names import LocalNames
from troupe.actors.activitypub.vocabulary import PUBLIC
from troupe.actors.kept.custom_emojis import CustomEmojis
from troupe.actors.shown.statuses import ShownStatus
from troupe.storage.accounts import Account
from troupe.storage.custom_emojis import CustomEmoji
from troupe.storage.engine.json_values import JsonObject
from troupe.storage.media import Media
from troupe.storage.polls import Option, Poll
from troupe.storage.statuses import Mention, Status, StatusTag

from .documents_read import prefixes_without_meaning, undeclared

NOW = datetime(2026, 11, 23, 9, 5, 0, 123456, UTC)
LATER = datetime(2026, 11, 24, tzinfo=UTC)
NAMES = LocalNames("https://troupe.test")
ANN, BEN = "https://troupe.test/users/ann", "https://far.test/users/ben"
FOLLOWERS = f"{ANN}/followers"
EMOJIS = CustomEmojis([CustomEmoji(5, "blob", "blob.png", "blob.png")])

NO_ACCOUNT: dict[str, Any] = dict.fromkeys(Account.__dataclass_fields__) | {
    "locked": False, "bot": False, "group": False, "discoverable": True, "indexable": False, "memorial": False,
    "fields": [], "note": "", "note_source": "", "display_name": "", "also_known_as": [], "attribution_domains": [],
    "avatar_description": "", "header_description": "", "created_at": NOW,
}  # fmt: skip
NO_STATUS: dict[str, Any] = dict.fromkeys(Status.__dataclass_fields__) | {
    "text": "", "content": "", "spoiler_text": "", "sensitive": False, "favourites_count": 0, "reblogs_count": 0,
    "mentioned_ids": (), "media_ids": (), "mentions": (), "tags": (), "media": (), "quote_policy": "nobody",
    "quote_manual_policy": "nobody", "created_at": NOW, "visibility": "public",
}  # fmt: skip


def account(name: str = "ann", domain: str | None = None, **facts: Any) -> Account:
    host = "troupe.test" if domain is None else domain
    links: dict[str, Any] = {
        "username": name,
        "domain": domain,
        "uri": f"https://{host}/users/{name}",
        "url": f"https://{host}/@{name}",
    }
    values: dict[str, Any] = {**NO_ACCOUNT, "id": 1, **links, **facts}
    return Account(**values)


def status(**facts: Any) -> Status:
    values: dict[str, Any] = {**NO_STATUS, **facts}
    return Status(**values)


def shown(boosted: ShownStatus | None = None, quoted: ShownStatus | None = None, **facts: Any) -> ShownStatus:
    uri = f"{ANN}/statuses/103"
    links: dict[str, Any] = {"id": 103, "account_id": 1, "uri": uri, "url": "https://troupe.test/@ann/103"}
    return ShownStatus(status(**(links | facts)), account(), boosted, quoted)


FAR = ShownStatus(status(id=9, uri=f"{BEN}/statuses/9"), account("ben", "far.test", id=2))
MEDIUM: dict[str, Any] = dict.fromkeys(Media.__dataclass_fields__) | {
    "id": 4, "type": "image", "state": "ready", "file": "a.png", "file_type": "image/png", "description": "a tea cup",
    "blurhash": "LEHV6nWB2yk8", "meta": {"original": {"width": 640, "height": 480}, "focus": {"x": 0.5, "y": -0.25}},
}  # fmt: skip


def note(references: References | None = None, *, now: datetime = NOW, **facts: Any) -> dict[str, Any]:
    return note_of(shown(**facts), NAMES, references or References(), EMOJIS, now)


POLL = Poll(6, 1, False, False, 3, LATER, (Option("tea", 2), Option("coffee :blob:", 1)))

FULL_NOTE = note(
    References({2: BEN}, f"{BEN}/statuses/9", f"{BEN}/statuses/8", None, f"{BEN}/stamps/1"),
    content="<p>hello</p>", text="hello :blob:", spoiler_text="tea", language="en", mentioned_ids=(2,),
    mentions=(Mention(2, "ben", "far.test", "https://far.test/@ben"),), tags=(StatusTag(3, "tea", "Tea"),),
    media=(Media(**MEDIUM),), edited_at=LATER, quote_state="accepted", quote_of_id=8, quote_policy="public",
)  # fmt: skip
QUESTION = note(poll=POLL, text="tea?")
ACTOR = actor_of(
    account(
        display_name="Ann :blob:", note="<p>hi</p>", fields=[{"name": "site", "value": "here"}], avatar_file="a.png",
        header_file="h.jpg", also_known_as=[BEN], attribution_domains=["blog.test"], avatar_description="a face",
    ),
    NAMES, "PEM", EMOJIS, BEN,
)  # fmt: skip
FOLLOW = activities.follow_of(NAMES.activity("ann", "follows", 7), ANN, BEN)
THEIR_FOLLOW = {"@context": "https://www.w3.org/ns/activitystreams", "id": f"{BEN}#1", "type": "Follow", "actor": BEN,
                "object": ANN}  # fmt: skip
ANNOUNCE = activities.announce_of(
    shown(boosted=FAR, uri=f"{ANN}/statuses/104/activity", reblog_of_id=9), NAMES, References()
)
LIKE = activities.like_of(NAMES.activity("ann", "likes", 7), ANN, f"{BEN}/statuses/9", BEN)
BLOCK = activities.block_of(NAMES.activity("ann", "blocks", 7), ANN, BEN)
REQUEST = activities.quote_request_of(f"{ANN}#quote-requests/103", ANN, f"{BEN}/statuses/8", FULL_NOTE, BEN)
FEATURED = NAMES.featured("ann")

ACTIVITIES = [
    activities.create_of(FULL_NOTE),
    activities.create_of(QUESTION),
    activities.update_of(FULL_NOTE, NOW),
    activities.update_actor_of(ACTOR, NOW),
    activities.delete_of(ANN, FULL_NOTE["id"]),
    activities.delete_actor_of(ANN),
    FOLLOW,
    activities.accept_of(f"{ANN}#accepts/1", ANN, THEIR_FOLLOW),
    activities.reject_of(f"{ANN}#rejects/1", ANN, THEIR_FOLLOW),
    ANNOUNCE,
    LIKE,
    BLOCK,
    activities.undo_of(FOLLOW),
    activities.undo_of(ANNOUNCE),
    activities.undo_of(LIKE),
    activities.undo_of(BLOCK),
    activities.flag_of("https://troupe.test/actor#flags/7", NAMES, BEN, [f"{BEN}/statuses/9"], "spam"),
    activities.add_of(ANN, FULL_NOTE["id"], FEATURED, FOLLOWERS, NOW),
    activities.remove_of(ANN, FULL_NOTE["id"], FEATURED, FOLLOWERS, NOW),
    activities.add_tag_of(ANN, "tea", "Tea", NAMES, FEATURED, NOW),
    activities.remove_tag_of(ANN, "tea", "Tea", NAMES, FEATURED, NOW),
    activities.move_of(ANN, BEN, FOLLOWERS, NOW),
    activities.vote_of(f"{ANN}#votes/7", ANN, f"{BEN}/statuses/9", BEN, "tea", NOW),
    REQUEST,
    activities.accept_quote_of(f"{ANN}#accepts/2", ANN, REQUEST, f"{ANN}/quote_authorizations/9"),
    activities.reject_quote_of(f"{ANN}#rejects/2", ANN, REQUEST),
]
OTHERS = [
    FULL_NOTE,
    QUESTION,
    ACTOR,
    server_actor_of(NAMES, "PEM"),
    tombstone_of(ANN),
    quote_authorization_of(f"{ANN}/quote_authorizations/9", ANN, f"{BEN}/statuses/9", FULL_NOTE["id"]),
    collection_of(f"{ANN}/outbox", 3, first=f"{ANN}/outbox?page=true"),
    featured_of(FEATURED, [FULL_NOTE, QUESTION]),
    featured_tags_of(NAMES.featured_tags("ann"), [hashtag_of("tea", "Tea", NAMES)]),
    collection_page_of("page", f"{ANN}/outbox", [ANNOUNCE, activities.create_of(FULL_NOTE)], next="next", previous="x"),
    collection_page_of("page", f"{ANN}/followers", [BEN]),
]


@pytest.mark.parametrize("document", ACTIVITIES + OTHERS, ids=lambda document: document["type"])
def test_a_server_that_expands_json_ld_loses_nothing(document: dict[str, Any]) -> None:
    assert undeclared(document) == set()
    assert prefixes_without_meaning(document) == set()


@pytest.mark.parametrize("activity", ACTIVITIES, ids=lambda activity: activity["type"])
def test_an_activity_has_an_id_of_its_own_and_says_who_did_what_to_whom(activity: dict[str, Any]) -> None:
    named: str | JsonObject | list[str | JsonObject] = activity["object"]
    objects = named if isinstance(named, list) else [named]
    names = [one.get("id") if isinstance(one, dict) else one for one in objects]
    assert activity["id"].startswith("https://troupe.test/")
    assert activity["id"] not in names
    assert activity["actor"].startswith("https://troupe.test/")
    assert activity["to"]
    assert isinstance(activity["cc"], list)


def test_ids_of_activities_differ() -> None:
    # The Creates and Updates in the list are of one status.
    ids = [activity["id"] for activity in ACTIVITIES[1:]]
    assert sorted(ids) == sorted(set(ids))


def test_a_vote_has_a_name_no_content_and_one_recipient() -> None:
    vote = activities.vote_of(f"{ANN}#votes/7", ANN, f"{BEN}/statuses/9", BEN, "tea", NOW)
    assert vote["object"] == {
        "id": f"{ANN}#votes/7", "type": "Note", "name": "tea", "attributedTo": ANN, "inReplyTo": f"{BEN}/statuses/9",
        "published": "2026-11-23T09:05:00.123Z", "to": [BEN],
    }  # fmt: skip
    assert (vote["to"], vote["cc"]) == ([BEN], [])


def test_what_is_undone_or_accepted_is_embedded_with_its_id() -> None:
    assert activities.undo_of(LIKE)["object"]["id"] == LIKE["id"]
    accept = activities.accept_of(f"{ANN}#accepts/1", ANN, THEIR_FOLLOW)
    assert accept["object"] == {"id": f"{BEN}#1", "type": "Follow", "actor": BEN, "object": ANN}
    assert accept["to"] == [BEN]


def test_a_deleted_account_is_named_by_its_uri_alone_and_a_status_by_a_tombstone() -> None:
    assert activities.delete_actor_of(ANN)["object"] == ANN
    deleted = activities.delete_of(ANN, FULL_NOTE["id"], FULL_NOTE["to"], FULL_NOTE["cc"])
    assert deleted["object"] == {"id": FULL_NOTE["id"], "type": "Tombstone"}
    assert (deleted["to"], deleted["cc"]) == (FULL_NOTE["to"], FULL_NOTE["cc"])


def test_two_edits_in_one_second_have_different_times_and_updates() -> None:
    first, second = NOW.replace(microsecond=1000), NOW.replace(microsecond=2000)
    assert note(edited_at=first)["updated"] < note(edited_at=second)["updated"]
    assert activities.update_of(FULL_NOTE, first)["id"] != activities.update_of(FULL_NOTE, second)["id"]


@pytest.mark.parametrize(
    ("visibility", "to", "cc"),
    [
        ("public", [PUBLIC], [FOLLOWERS, BEN]),
        ("unlisted", [FOLLOWERS], [PUBLIC, BEN]),
        ("private", [FOLLOWERS], [BEN]),
        ("direct", [BEN], []),
    ],
)
def test_addresses(visibility: str, to: list[str], cc: list[str]) -> None:
    found = note(References({2: BEN}), visibility=visibility, mentioned_ids=(2,))
    assert (found["to"], found["cc"]) == (to, cc)
    create = activities.create_of(found)
    assert (create["to"], create["cc"]) == (to, cc)


@pytest.mark.parametrize(
    ("visibility", "to", "cc"),
    [
        ("public", [PUBLIC], [FOLLOWERS, BEN]),
        ("unlisted", [FOLLOWERS], [PUBLIC, BEN]),
        ("private", [FOLLOWERS], [BEN]),
    ],
)
def test_a_boost_tells_its_audience_and_the_author(visibility: str, to: list[str], cc: list[str]) -> None:
    boost = shown(boosted=FAR, visibility=visibility, uri=f"{ANN}/statuses/104/activity", reblog_of_id=9)
    announce = activities.announce_of(boost, NAMES, References())
    assert (announce["id"], announce["object"]) == (f"{ANN}/statuses/104/activity", f"{BEN}/statuses/9")
    assert (announce["to"], announce["cc"]) == (to, cc)


def test_who_is_mentioned_silently_is_addressed_and_not_tagged() -> None:
    found = note(References({2: BEN}), visibility="private", mentioned_ids=(2,))
    assert (found["cc"], found["tag"]) == ([BEN], [])


@pytest.mark.parametrize(
    ("policy", "manual", "expected"),
    [
        ("public", "nobody", {"automaticApproval": [PUBLIC], "manualApproval": []}),
        ("followers", "public", {"automaticApproval": [FOLLOWERS], "manualApproval": [PUBLIC]}),
        ("nobody", "nobody", {"automaticApproval": [ANN], "manualApproval": []}),
    ],
)
def test_who_may_quote(policy: str, manual: str, expected: dict[str, Any]) -> None:
    found = note(quote_policy=policy, quote_manual_policy=manual)
    assert found["interactionPolicy"] == {"canQuote": expected}


def test_a_quote_under_all_its_names_with_its_permission() -> None:
    quoted = f"{BEN}/statuses/8"
    assert FULL_NOTE["quote"] == FULL_NOTE["quoteUri"] == FULL_NOTE["_misskey_quote"] == quoted
    assert FULL_NOTE["quoteAuthorization"] == f"{BEN}/stamps/1"
    assert FULL_NOTE["content"].startswith(
        '<p class="quote-inline">RE: <a href="https://far.test/users/ben/statuses/8"'
    )
    assert FULL_NOTE["content"].endswith("</p><p>hello</p>")
    assert FULL_NOTE["contentMap"] == {"en": FULL_NOTE["content"]}


def test_a_quote_whose_text_links_to_the_quoted_status_has_no_second_link() -> None:
    page = "https://far.test/@ben/8?a=1&b=2"
    references = References(quoted=f"{BEN}/statuses/8", quoted_page=page)
    linking = f'<p>see <a href="{page.replace("&", "&amp;")}">this</a></p>'
    assert note(references, quote_state="accepted", content=linking)["content"] == linking
    longer = '<p>see <a href="https://far.test/@ben/81">this</a></p>'
    assert note(references, quote_state="accepted", content=longer)["content"].startswith('<p class="quote-inline">')


@pytest.mark.parametrize("state", ["revoked", "deleted", "rejected"])
def test_a_quote_that_has_ended_names_nothing(state: str) -> None:
    found = note(References(quoted=f"{BEN}/statuses/8"), quote_state=state, content="<p>hello</p>")
    assert found["quote"] == {"type": "Tombstone"}
    assert "statuses/8" not in str(found)


def test_a_poll_while_it_runs_and_after() -> None:
    options = [
        {"type": "Note", "name": "tea", "replies": {"type": "Collection", "totalItems": 2}},
        {"type": "Note", "name": "coffee :blob:", "replies": {"type": "Collection", "totalItems": 1}},
    ]
    assert (QUESTION["type"], QUESTION["oneOf"], QUESTION["votersCount"]) == ("Question", options, 3)
    assert QUESTION["endTime"] == "2026-11-24T00:00:00.000Z"
    assert not {"closed", "anyOf"} & QUESTION.keys()
    assert [tag["name"] for tag in QUESTION["tag"]] == [":blob:"]
    over = note(poll=POLL, now=LATER)
    assert over["closed"] == over["endTime"]


def test_hidden_counts_are_told_when_the_poll_is_over() -> None:
    hidden = Poll(6, 1, True, True, 3, LATER, POLL.options)
    counts = [[one["replies"]["totalItems"] for one in note(poll=hidden, now=at)["anyOf"]] for at in (NOW, LATER)]
    assert counts == [[0, 0], [2, 1]]


def test_an_attachment_with_its_description_for_every_reader() -> None:
    (attachment,) = FULL_NOTE["attachment"]
    assert attachment == {
        "type": "Document", "mediaType": "image/png", "url": "https://troupe.test/media/a.png", "name": "a tea cup",
        "summary": "a tea cup", "blurhash": "LEHV6nWB2yk8", "focalPoint": [0.5, -0.25], "width": 640, "height": 480,
    }  # fmt: skip


def test_media_that_staff_marked_are_sensitive() -> None:
    marked = ShownStatus(shown(media=(Media(**MEDIUM),)).status, account(sensitized_at=NOW))
    assert note_of(marked, NAMES, References(), EMOJIS, NOW)["sensitive"] is True


def test_uploads_that_are_not_processed_are_left_out() -> None:
    waiting: dict[str, Any] = {**MEDIUM, "file": None}
    assert note(media=(Media(**waiting),))["attachment"] == []


@pytest.mark.parametrize(("kind", "facts"), [("Person", {}), ("Service", {"bot": True}), ("Group", {"group": True})])
def test_the_type_of_an_actor(kind: str, facts: dict[str, Any]) -> None:
    assert actor_of(account(**facts), NAMES, "PEM", EMOJIS)["type"] == kind


def test_a_suspended_actor_keeps_its_key_and_nothing_of_its_profile() -> None:
    facts: dict[str, Any] = {"display_name": "Ann", "note": "<p>hi</p>", "avatar_file": "a.png", "suspended_at": NOW}
    found = actor_of(account(**facts), NAMES, "PEM", EMOJIS)
    assert found["suspended"] is True
    assert found["publicKey"]["publicKeyPem"] == "PEM"
    assert "Ann" not in str(found)
    assert not {"icon", "attachment", "movedTo"} & found.keys()
    assert "suspended" not in ACTOR
