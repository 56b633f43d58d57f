"""Instance and V1::Instance: the server's name, limits and features; and its rules, texts and announcements."""

from __future__ import annotations

import html
from dataclasses import dataclass
from datetime import date, datetime

from ... import __version__
from ...actors.kept.custom_emojis import CustomEmojis
from ...actors.media.kinds import FILMS, IMAGES, SOUNDS
from ...actors.memory.operator_texts import OperatorText, Terms
from ...actors.rules import limits
from ...actors.rules.text import tag_url
from ...storage.accounts import Account
from ...storage.announcements import Reaction, ShownAnnouncement
from ...storage.instance import InstanceActivity, InstanceNumbers
from ...storage.operator_texts import Rule
from .account import account_fields
from .custom_emoji import emoji_fields
from .times import instant, maybe_instant

# Clients enable features by the first number of `VERSION` and by `API_VERSION`. Both are the latest version whose API
# is complete here; `tests/http/test_instance.py` has the features of each version.
VERSION = f"4.5.0 (compatible; Troupe {__version__})"
API_VERSION = 7

THUMBNAIL = "/thumbnail.png"
# Apps offer only files of these types for upload. Devices have different names for a type, so all names are listed.
IMAGE_TYPES = [mime for kind in IMAGES for mime in kind.mimes]
FILM_TYPES = [mime for kind in (*FILMS, *SOUNDS) for mime in kind.mimes]
PRIVATE_FEED = "authenticated"


@dataclass(frozen=True, slots=True)
class About:
    """The facts about a server, from its settings and its database."""

    domain: str
    base_url: str
    streaming_url: str
    title: str
    description: str
    languages: tuple[str, ...]
    email: str
    registrations: str
    reason_required: bool
    public_preview: bool
    limited_federation: bool
    vapid_public_key: str
    takes_films: bool
    translates: bool
    numbers: InstanceNumbers
    contact: Account | None
    rules: tuple[Rule, ...]
    has_terms: bool
    emojis: CustomEmojis


def instance_v1(about: About) -> dict[str, object]:
    shared = configuration(about)
    return {
        "uri": about.domain,
        "title": about.title,
        "short_description": html.escape(about.description),
        "description": html.escape(about.description),
        "email": about.email,
        "version": VERSION,
        "urls": {"streaming_api": about.streaming_url},
        "stats": {
            "user_count": about.numbers.users,
            "status_count": about.numbers.statuses,
            "domain_count": about.numbers.domains,
        },
        "thumbnail": about.base_url + THUMBNAIL,
        "languages": about.languages,
        "registrations": about.registrations != "closed",
        "approval_required": about.registrations == "approval",
        "invites_enabled": False,
        "configuration": {name: shared[name] for name in ("accounts", "statuses", "media_attachments", "polls")},
        "contact_account": _contact(about),
        "rules": [rule_fields(rule) for rule in about.rules],
    }


def instance_v2(about: About) -> dict[str, object]:
    return {
        "domain": about.domain,
        "title": about.title,
        "version": VERSION,
        "source_url": about.base_url,
        "description": about.description,
        "usage": {"users": {"active_month": about.numbers.active}},
        "thumbnail": {"url": about.base_url + THUMBNAIL, "description": ""},
        "icon": [],
        "languages": about.languages,
        "configuration": configuration(about),
        "registrations": {
            "enabled": about.registrations != "closed",
            "approval_required": about.registrations == "approval",
            "reason_required": about.reason_required,
            "message": None,
            "min_age": None,
            "url": None,
        },
        "api_versions": {"mastodon": API_VERSION},
        "contact": {"email": about.email, "account": _contact(about)},
        "rules": [rule_fields(rule) for rule in about.rules],
    }


def _contact(about: About) -> dict[str, object] | None:
    return None if about.contact is None else account_fields(about.contact, about.base_url, about.emojis)


def configuration(about: About) -> dict[str, object]:
    """Return limits and features, with the names of version 2."""
    return {
        "urls": {
            "streaming": about.streaming_url,
            "status": None,
            "about": f"{about.base_url}/about",
            "privacy_policy": f"{about.base_url}/privacy",
            "terms_of_service": f"{about.base_url}/terms" if about.has_terms else None,
        },
        "vapid": {"public_key": about.vapid_public_key},
        "accounts": _accounts(),
        "statuses": {
            "max_characters": limits.STATUS_CHARACTERS,
            "max_media_attachments": limits.STATUS_MEDIA,
            "characters_reserved_per_url": limits.URL_WEIGHT,
        },
        "media_attachments": _media(about),
        "polls": {
            "max_options": limits.POLL_OPTIONS,
            "max_characters_per_option": limits.POLL_OPTION_CHARACTERS,
            "min_expiration": limits.POLL_SECONDS_MIN,
            "max_expiration": limits.POLL_SECONDS,
        },
        "translation": {"enabled": about.translates},
        "timelines_access": _access("public" if about.public_preview else PRIVATE_FEED),
        "limited_federation": about.limited_federation,
    }


def _accounts() -> dict[str, int]:
    return {
        "max_display_name_length": limits.DISPLAY_NAME_CHARACTERS,
        "max_note_length": limits.NOTE_CHARACTERS,
        "max_avatar_description_length": limits.MEDIA_DESCRIPTION_CHARACTERS,
        "max_header_description_length": limits.MEDIA_DESCRIPTION_CHARACTERS,
        "max_featured_tags": limits.FEATURED_TAGS,
        "max_pinned_statuses": limits.PINS,
        "max_profile_fields": limits.FIELDS,
        "profile_field_name_limit": limits.FIELD_NAME_CHARACTERS,
        "profile_field_value_limit": limits.FIELD_VALUE_CHARACTERS,
    }


def _media(about: About) -> dict[str, object]:
    return {
        "supported_mime_types": IMAGE_TYPES + FILM_TYPES if about.takes_films else IMAGE_TYPES,
        "description_limit": limits.MEDIA_DESCRIPTION_CHARACTERS,
        "image_size_limit": limits.IMAGE_BYTES,
        "image_matrix_limit": limits.IMAGE_PIXELS,
        "video_size_limit": limits.VIDEO_BYTES,
        "video_frame_rate_limit": limits.VIDEO_FRAMES_PER_SECOND,
        "video_matrix_limit": limits.VIDEO_PIXELS,
    }


def _access(level: str) -> dict[str, dict[str, str]]:
    feeds = ("live_feeds", "hashtag_feeds", "trending_link_feeds")
    return {feed: {"local": level, "remote": level} for feed in feeds}


def activity_fields(monday: datetime, activity: InstanceActivity) -> dict[str, str]:
    """Return an InstanceActivity, with all numbers as texts."""
    return {
        "week": str(int(monday.timestamp())),
        "statuses": str(activity.statuses),
        "logins": str(activity.logins),
        "registrations": str(activity.registrations),
    }


def rule_fields(rule: Rule) -> dict[str, object]:
    return {
        "id": str(rule.id),
        "text": rule.original.text,
        "hint": rule.original.hint,
        "translations": {
            language: {"text": words.text, "hint": words.hint} for language, words in rule.translations.items()
        },
    }


def operator_text_fields(text: OperatorText) -> dict[str, object]:
    return {"updated_at": maybe_instant(text.updated_at), "content": text.html}


def terms_fields(terms: Terms, today: date) -> dict[str, object]:
    return {
        "effective_date": terms.effective.isoformat(),
        "effective": terms.effective <= today,
        "content": terms.html,
        "succeeded_by": None if terms.succeeded_by is None else terms.succeeded_by.isoformat(),
    }


def announcement_fields(shown: ShownAnnouncement, emojis: CustomEmojis, base_url: str) -> dict[str, object]:
    """Return an announcement. Without a viewer, as in streams, it has no `read`, and its reactions have no `me`."""
    row = shown.announcement
    fields: dict[str, object] = {
        "id": str(row.id),
        "content": row.content,
        "starts_at": maybe_instant(row.starts_at),
        "ends_at": maybe_instant(row.ends_at),
        "all_day": row.all_day,
        "published_at": instant(row.published_at or row.updated_at),
        "updated_at": instant(row.updated_at),
        "mentions": list(row.mentions),
        "statuses": list(row.statuses),
        "tags": [{"name": name, "url": tag_url(base_url, name)} for name in row.tags],
        "emojis": [emoji_fields(emoji, base_url) for emoji in emojis.used_in([row.text])],
        "reactions": [
            _reaction(reaction, emojis, base_url, viewed=shown.read is not None) for reaction in shown.reactions
        ],
    }
    return fields if shown.read is None else fields | {"read": shown.read}


def reaction_fields(name: str, count: int, emojis: CustomEmojis, base_url: str) -> dict[str, object]:
    """Return a reaction as all viewers see it. A custom emoji has its pictures."""
    fields: dict[str, object] = {"name": name, "count": count}
    if (emoji := emojis.find(name)) is not None:
        shown = emoji_fields(emoji, base_url)
        fields |= {"url": shown["url"], "static_url": shown["static_url"]}
    return fields


def _reaction(reaction: Reaction, emojis: CustomEmojis, base_url: str, *, viewed: bool) -> dict[str, object]:
    fields = reaction_fields(reaction.name, reaction.count, emojis, base_url)
    return fields | {"me": reaction.me} if viewed else fields
