"""Like, Announce, and Add and Remove of pinned posts.

A Like with a `content`, an emoji that other servers show as a reaction, is a favourite too. The status of an Announce
is fetched if it is not here. Groups also announce the activities of their members (FEP-1b12): their objects are fetched
from their own servers.
"""

from __future__ import annotations

from ....storage import featured_tags
from ....storage.engine.json_values import JsonObject
from ....storage.federation import remote_statuses
from ...activitypub.notes import EARLIEST, ReceivedHashtag, is_post, read_hashtags, time_of, visibility_of
from ...activitypub.vocabulary import same_host, types_of, uri_of
from ...commands.favourites import Favourite
from ...commands.featured_tags import FeatureTag, UnfeatureTag
from ...commands.pins import Pin, Unpin
from ...commands.reblogs import Reblog, Unreblog
from ..inbox_context import Activity, InboxContext
from .forwarded import fetch_forwarded


async def like(inbox: InboxContext, activity: Activity) -> None:
    status = await inbox.status(activity.object_uri)
    if status is not None:
        await inbox.ask(activity.actor.id, Favourite(status.id, activity.id), activity.origin)


async def announce(inbox: InboxContext, activity: Activity) -> None:
    uri, embedded = activity.object_uri, activity.object
    if embedded is not None and not is_post(embedded):
        await _withdraw(inbox, activity, embedded)
        if "Update" in types_of(embedded) and uri_of(embedded.get("object")) == activity.actor.uri:
            await inbox.resolver.refresh(activity.actor, has_changed=True)  # a moderator has changed the group
        await fetch_forwarded(inbox, embedded, activity.origin)
        return
    if uri is None:
        return
    status_id = await _status_id(inbox, activity, uri)
    if status_id is None:
        return
    visibility = visibility_of(activity.document, activity.actor.followers_url)
    published = time_of(activity.document.get("published"))
    if published is not None:
        published = min(max(published, EARLIEST), inbox.shared.clock.now())
    uri = activity.id or f"{activity.actor.uri}#boosts/{status_id}"
    await inbox.ask(activity.actor.id, Reblog(status_id, visibility, uri, published), activity.origin)


async def _withdraw(inbox: InboxContext, activity: Activity, embedded: JsonObject) -> None:
    """End the boost of a post whose deletion the actor announces: a moderator has removed it from the group."""
    known = await inbox.status(uri_of(embedded.get("object"))) if "Delete" in types_of(embedded) else None
    if known is not None:
        await inbox.ask(activity.actor.id, Unreblog(known.id), activity.origin)


async def _status_id(inbox: InboxContext, activity: Activity, uri: str) -> int | None:
    """Return the boosted status, which is fetched if need be. Boosts by accounts without followers here are not shown,
    except of statuses of this server.
    """
    known = await inbox.status(uri)
    if inbox.names.is_local(uri):
        return None if known is None else known.id
    followed = await inbox.shared.database.read(remote_statuses.has_local_followers, [activity.actor.id])
    if not followed or inbox.standing_of(uri).suspended:
        return None
    return known.id if known is not None else await inbox.resolver.status(uri)


async def add(inbox: InboxContext, activity: Activity) -> None:
    if (hashtag := _featured_hashtag(activity)) is not None:
        await inbox.ask(activity.actor.id, FeatureTag(hashtag.name, hashtag.display_name), activity.origin)
        return
    uri = _pinned(activity)
    known = await inbox.status(uri)
    status_id = None if uri is None else known.id if known is not None else await inbox.resolver.status(uri)
    if status_id is not None:
        await inbox.ask(activity.actor.id, Pin(status_id), activity.origin)


async def remove(inbox: InboxContext, activity: Activity) -> None:
    if (hashtag := _featured_hashtag(activity)) is not None:
        await _unfeature(inbox, activity, hashtag.name)
        return
    known = await inbox.status(_pinned(activity))
    if known is not None:
        await inbox.ask(activity.actor.id, Unpin(known.id), activity.origin)


def _pinned(activity: Activity) -> str | None:
    """Return the URI of the post, if it is on the actor's server and the target is the actor's collection of pinned
    posts."""
    if "Hashtag" in activity.object_types:
        return None
    uri = activity.object_uri
    return uri if uri is not None and _goes_to_profile(activity) and same_host(uri, activity.actor.uri) else None


def _featured_hashtag(activity: Activity) -> ReceivedHashtag | None:
    """Return the hashtag, if the target is the same collection: Mastodon features hashtags so."""
    if not _goes_to_profile(activity) or "Hashtag" not in activity.object_types:
        return None
    return next(read_hashtags({"tag": [activity.object]}), None)


async def _unfeature(inbox: InboxContext, activity: Activity, name: str) -> None:
    featured = await inbox.shared.database.read(featured_tags.of_account, activity.actor.id)
    for tag in featured:
        if tag.name == name:
            await inbox.ask(activity.actor.id, UnfeatureTag(tag.tag_id), activity.origin)


def _goes_to_profile(activity: Activity) -> bool:
    target = uri_of(activity.document.get("target"))
    return target is not None and target == activity.actor.featured_url
