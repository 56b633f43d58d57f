"""Actor documents: this server's accounts, and the server itself."""

from __future__ import annotations

from ....storage.accounts import Account
from ....storage.engine.json_values import JsonObject
from ...kept.custom_emojis import CustomEmojis
from ...rules.markup import plain
from ..names import LocalNames, key_id_of
from .contexts import ACTOR_CONTEXT, PLAIN_CONTEXT
from .tags import emojis_in, image_of, midnight


def actor_of(
    account: Account, names: LocalNames, public_key: str, emojis: CustomEmojis, moved_to: str | None = None
) -> JsonObject:
    """Return the actor of an account of this server. `public_key` is PEM, `moved_to` the URI of its new account.

    The actor of a suspended account has no profile and no pictures.
    """
    uri = names.actor(account.username)
    actor = _identity(account, names) | {"publicKey": _public_key(uri, public_key)}
    if account.suspended_at is not None:
        return actor | {"name": "", "summary": "", "discoverable": False, "indexable": False, "suspended": True}
    actor |= _profile(account) | _pictures(account, names)
    actor["tag"] = emojis_in(_texts(account), emojis, names)
    if moved_to is not None:
        actor["movedTo"] = moved_to
    if account.also_known_as:
        actor["alsoKnownAs"] = list(account.also_known_as)
    if account.attribution_domains:
        actor["attributionDomains"] = list(account.attribution_domains)
    return actor


def server_actor_of(names: LocalNames, public_key: str) -> JsonObject:
    """Return the actor of the server itself, which signs requests that no account makes. It follows no accounts."""
    uri = names.server_actor
    return {
        "@context": ACTOR_CONTEXT,
        "id": uri,
        "type": "Application",
        "preferredUsername": names.domain,
        "webfinger": f"{names.domain}@{names.domain}",
        "name": names.domain,
        "url": f"{names.base_url}/about",
        "inbox": names.shared_inbox,
        "outbox": f"{uri}/outbox",
        "endpoints": {"sharedInbox": names.shared_inbox},
        "manuallyApprovesFollowers": True,
        "discoverable": False,
        "indexable": False,
        "publicKey": _public_key(uri, public_key),
    }


def tombstone_of(uri: str) -> JsonObject:
    """Return the Tombstone of a deleted actor or status."""
    return {"@context": PLAIN_CONTEXT, "id": uri, "type": "Tombstone"}


def _identity(account: Account, names: LocalNames) -> JsonObject:
    name = account.username
    return {
        "@context": ACTOR_CONTEXT,
        "id": names.actor(name),
        "type": _type(account),
        "preferredUsername": name,
        "webfinger": f"{name}@{names.domain}",
        "url": account.url or names.actor(name),
        "inbox": names.inbox(name),
        "outbox": names.outbox(name),
        "followers": names.followers(name),
        "following": names.following(name),
        "featured": names.featured(name),
        "featuredTags": names.featured_tags(name),
        "endpoints": {"sharedInbox": names.shared_inbox},
        "manuallyApprovesFollowers": account.locked,
        # Only the day: the time of a sign-up is private.
        "published": midnight(account.created_at),
        "memorial": account.memorial,
    }


def _type(account: Account) -> str:
    if account.group:
        return "Group"
    return "Service" if account.bot else "Person"


def _profile(account: Account) -> JsonObject:
    return {
        "name": account.display_name,
        "summary": account.note,
        "discoverable": account.discoverable,
        "indexable": account.indexable,
        "attachment": [
            {"type": "PropertyValue", "name": field["name"], "value": field["value"]} for field in account.fields
        ],
    }


def _pictures(account: Account, names: LocalNames) -> JsonObject:
    """Return the avatar and the header, if the account has any. The pictures that this server draws are not sent."""
    pictures: JsonObject = {}
    if account.avatar_file is not None:
        pictures["icon"] = image_of(account.avatar_file, names, account.avatar_description)
    if account.header_file is not None:
        pictures["image"] = image_of(account.header_file, names, account.header_description)
    return pictures


def _texts(account: Account) -> list[str]:
    """Return the texts that may have emoji in them."""
    fields = (str(field[part]) for field in account.fields for part in ("name", "value"))
    return [account.display_name, account.note_source, *map(plain, fields)]


def _public_key(uri: str, public_key: str) -> JsonObject:
    return {"id": key_id_of(uri), "owner": uri, "publicKeyPem": public_key}
