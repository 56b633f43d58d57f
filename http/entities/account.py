"""Account with its source, role and preferences; Relationship and Suggestion."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import orjson

from ...actors.activitypub.uris import web_address
from ...actors.kept.custom_emojis import CustomEmojis
from ...actors.rules.roles import PERMISSIONS, is_staff, rank
from ...storage.accounts import Account
from ...storage.featured_tags import FeaturedTag
from ...storage.relations import Relationship
from ...storage.suggestions import Suggestion
from ...storage.users import User
from ..pictures.avatars import avatar_path
from .custom_emoji import emojis_of_account
from .media import remote_file_address
from .rendered import Renderings, exact
from .tag import featured_tag_fields
from .times import day, maybe_instant, midnight

# The profile of a suspended account is not shown.
HIDDEN_AVATAR = "/avatars/original/missing.png"
MISSING_HEADER = "/headers/original/missing.png"
# The `source` of a suggestion. The API has no value for past interactions in `sources`: `sources` is then empty, unless
# the account is popular too.
PAST_INTERACTIONS = "past_interactions"
GLOBAL = "global"


def avatar_url(account: Account, base_url: str) -> str:
    """Return the URL of an account's picture. Without a picture, it is drawn from the id (`pictures/`)."""
    if account.suspended_at is not None:
        return f"{base_url}{HIDDEN_AVATAR}"
    if account.avatar_file is not None:
        return f"{base_url}/media/{account.avatar_file}"
    if account.avatar_remote_url is not None:
        return remote_file_address("avatar", account.id, account.avatar_remote_url, base_url)
    return f"{base_url}{avatar_path(account.id)}"


def header_url(account: Account, base_url: str) -> str:
    if account.suspended_at is not None:
        return f"{base_url}{MISSING_HEADER}"
    if account.header_file is not None:
        return f"{base_url}/media/{account.header_file}"
    if account.header_remote_url is not None:
        return remote_file_address("header", account.id, account.header_remote_url, base_url)
    return f"{base_url}{MISSING_HEADER}"


def account_json(account: Account, renderings: Renderings, base_url: str) -> bytes:
    """Return the account as all viewers see it."""
    kept = renderings.accounts
    return kept.find(account.id, (account,)) or kept.keep(
        exact(orjson.dumps(account_fields(account, base_url, renderings.emojis))), account.id, (account,)
    )


def account_fields(
    account: Account, base_url: str, emojis: CustomEmojis, moved: Account | None = None
) -> dict[str, object]:
    """Return the account as a dict. `moved` is the account that it has moved to; it has no `moved` itself."""
    fields = _identity(account) | _profile(account) | _pictures(account, base_url) | _counts(account)
    fields["emojis"] = emojis_of_account(account, emojis, base_url)
    if account.moved_to_id is not None:
        fields["moved"] = None if moved is None or account.suspended_at else account_fields(moved, base_url, emojis)
    if account.local:
        fields |= {"noindex": not account.indexable, "roles": []}
    for name, holds in (
        ("memorial", account.memorial),
        ("suspended", account.suspended_at is not None),
        ("limited", account.silenced_at is not None),
    ):
        if holds:
            fields[name] = True
    return fields


def _identity(account: Account) -> dict[str, object]:
    return {
        "id": str(account.id),
        "username": account.username,
        "acct": account.acct,
        "url": web_address(account.url or account.uri),
        "uri": account.uri,
        "created_at": midnight(account.created_at),
        "bot": account.bot,
        "group": account.group,
        "locked": account.locked,
        "discoverable": account.discoverable,
        "indexable": account.indexable,
        "hide_collections": account.hide_collections,
    }


def _profile(account: Account) -> dict[str, object]:
    """Return the texts of a profile, which are empty for a suspended account."""
    suspended = account.suspended_at is not None
    return {
        "display_name": "" if suspended else account.display_name,
        "note": "" if suspended else account.note,
        "fields": [] if suspended else [_field(field) for field in account.fields],
        "show_media": account.show_media,
        "show_media_replies": account.show_media_replies,
        "show_featured": account.show_featured,
    }


def _field(field: dict[str, object]) -> dict[str, object]:
    return {"name": field["name"], "value": field["value"], "verified_at": field.get("verified_at")}


def _pictures(account: Account, base_url: str) -> dict[str, object]:
    avatar, header = avatar_url(account, base_url), header_url(account, base_url)
    return {
        "avatar": avatar,
        "avatar_static": avatar,
        "avatar_description": "" if account.suspended_at else account.avatar_description,
        "header": header,
        "header_static": header,
        "header_description": "" if account.suspended_at else account.header_description,
    }


def _counts(account: Account) -> dict[str, object]:
    return {
        "statuses_count": account.statuses_count,
        "followers_count": account.followers_count,
        "following_count": account.following_count,
        "last_status_at": day(account.last_status_at),
    }


def credential_account_fields(
    account: Account, user: User, requests: int, base_url: str, emojis: CustomEmojis, moved: Account | None = None
) -> dict[str, object]:
    """Return the account for its owner, with its private parts."""
    return account_fields(account, base_url, emojis, moved) | {
        "source": {
            "privacy": user.default_privacy,
            "sensitive": user.default_sensitive,
            "language": user.default_language,
            "note": account.note_source,
            "fields": [_source_field(field) for field in account.fields],
            "follow_requests_count": requests,
            "hide_collections": account.hide_collections,
            "discoverable": account.discoverable,
            "indexable": account.indexable,
            "attribution_domains": account.attribution_domains,
            "quote_policy": user.default_quote_policy,
        },
        "role": role_fields(user.role),
        "follow_requests_count": requests,
    }


def credential_account_json(
    account: Account, user: User, requests: int, moved: Account | None, renderings: Renderings, base_url: str
) -> bytes:
    """Return the account for its owner as JSON, which is cached while the records are unchanged."""
    kept, records = renderings.credentials, (account, user, requests, moved)
    return kept.find(account.id, records) or kept.keep(
        exact(orjson.dumps(credential_account_fields(account, user, requests, base_url, renderings.emojis, moved))),
        account.id,
        records,
    )


def muted_account_json(account: Account, until: datetime | None, renderings: Renderings, base_url: str) -> bytes:
    """Return an account in the list of muted accounts, with the end of its mute."""
    return b'%b,"mute_expires_at":%b}' % (
        account_json(account, renderings, base_url)[:-1],
        orjson.dumps(maybe_instant(until)),
    )


def profile_fields(account: Account, featured: Iterable[FeaturedTag], base_url: str) -> dict[str, object]:
    """Return the profile for its owner, with the source of its texts."""
    public = account_fields(account, base_url, CustomEmojis())
    kept = (
        "id", "display_name", "avatar_description", "header_description", "locked", "bot", "hide_collections",
        "discoverable", "indexable", "show_media", "show_media_replies", "show_featured",
    )  # fmt: skip
    avatar = public["avatar"] if account.avatar_file is not None else None
    header = public["header"] if account.header_file is not None else None
    return {name: public[name] for name in kept} | {
        "note": account.note_source,
        "fields": [_source_field(field) for field in account.fields],
        "avatar": avatar,
        "avatar_static": avatar,
        "header": header,
        "header_static": header,
        "attribution_domains": account.attribution_domains,
        "featured_tags": [featured_tag_fields(tag, account) for tag in featured],
    }


def _source_field(field: dict[str, object]) -> dict[str, object]:
    return _field(field) | {"value": field.get("source", field["value"])}


def relationship_fields(relationship: Relationship) -> dict[str, object]:
    """Return the relationship of the viewer and an account. It never shows that the account blocks the viewer."""
    return {
        "id": str(relationship.id),
        "following": relationship.following,
        "showing_reblogs": relationship.showing_reblogs,
        "notifying": relationship.notifying,
        "languages": None if relationship.languages is None else list(relationship.languages),
        "followed_by": relationship.followed_by,
        "blocking": relationship.blocking,
        "muting": relationship.muting,
        "muting_notifications": relationship.muting_notifications,
        "muting_expires_at": maybe_instant(relationship.muting_expires_at),
        "requested": relationship.requested,
        "requested_by": relationship.requested_by,
        "domain_blocking": relationship.domain_blocking,
        "endorsed": relationship.endorsed,
        "note": relationship.note,
    }


def role_fields(role: str) -> dict[str, object]:
    """Return a role. Its id is its rank: the reference's default role has the id -99, and ids are digits."""
    return {
        "id": str(rank(role)),
        "name": role.capitalize() if is_staff(role) else "",
        "color": "",
        "permissions": str(int(PERMISSIONS[role])),
        "highlighted": is_staff(role),
    }


def suggestion_json(suggestion: Suggestion, account: bytes) -> bytes:
    """Return the suggestion of an account that is already rendered."""
    source = PAST_INTERACTIONS if suggestion.interacted else GLOBAL
    sources = ["most_followed"] if suggestion.popular else []
    return orjson.dumps({"source": source, "sources": sources, "account": orjson.Fragment(account)})


def preferences_fields(user: User) -> dict[str, object]:
    """Return the preferences, with the flat names of the API.

    Preferences about reading cannot be set yet, and have the clients' default values.
    """
    return {
        "posting:default:visibility": user.default_privacy,
        "posting:default:sensitive": user.default_sensitive,
        "posting:default:language": user.default_language,
        "posting:default:quote_policy": user.default_quote_policy,
        "reading:expand:media": "default",
        "reading:expand:spoilers": False,
        "reading:autoplay:gifs": False,
    }
