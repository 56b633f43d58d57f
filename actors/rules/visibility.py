"""The rules of visibility. No other code decides which accounts may see a status or a profile.

Every endpoint and stream asks `visible`. Timelines also ask `belongs_at_home`, `belongs_in_public` and `hidden`,
trends `belongs_in_trends`, threads and search `belongs_in_thread`, profiles `belongs_on_profile`. `shows_profile`
decides on the content of a profile, `shows_network` on its follows and followers. `state_for` decides if a quoted
status is shown in a quote, `approval_for` if a status may be quoted.

The rules are from the Mastodon API's pages on visibility, blocks and mutes: a direct status is visible to its author
and the accounts that it mentions, a private status to followers as well. An account that the author blocks sees only
private and direct statuses that mention it.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, Protocol, TypeVar

T = TypeVar("T")

Visibility = Literal["public", "unlisted", "private", "direct"]
QuoteState = Literal["accepted", "unauthorized", "blocked_account", "blocked_domain", "muted_account"]
Approval = Literal["automatic", "manual", "denied"]


@dataclass(frozen=True, slots=True)
class Following:
    """A follow with the follower's terms. `since` is the follow's id, so that it compares with ids of statuses."""

    since: int = 0
    show_reblogs: bool = True
    notify: bool = False
    languages: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Muting:
    """A mute. `expires_at` is None if it has no end."""

    hide_notifications: bool = True
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Relation:
    """The relation of a viewer to another account, as the viewer sees it."""

    following: Following | None = None
    requested: bool = False
    blocking: bool = False
    blocked_by: bool = False
    muting: Muting | None = None


@dataclass(frozen=True, slots=True)
class Perspective:
    """Everything that visibility depends on, for one viewer.

    It never changes: a new relation makes a new perspective.
    """

    account_id: int | None = None
    following: Mapping[int, Following] = field(default_factory=dict[int, Following])
    requested: frozenset[int] = frozenset()
    blocking: frozenset[int] = frozenset()
    blocked_by: frozenset[int] = frozenset()
    muting: Mapping[int, Muting] = field(default_factory=dict[int, Muting])
    domain_blocks: frozenset[str] = frozenset()
    followed_tags: Mapping[str, int] = field(default_factory=dict[str, int])  # by name: the follow's id, as `since`

    def relation(self, other: int) -> Relation:
        return Relation(
            self.following.get(other),
            other in self.requested,
            other in self.blocking,
            other in self.blocked_by,
            self.muting.get(other),
        )

    def after(self, other: int, relation: Relation) -> Perspective:
        """Return the perspective with `relation` between the viewer and `other`."""
        return replace(
            self,
            following=_with(self.following, other, relation.following),
            requested=_marked(self.requested, other, relation.requested),
            blocking=_marked(self.blocking, other, relation.blocking),
            blocked_by=_marked(self.blocked_by, other, relation.blocked_by),
            muting=_with(self.muting, other, relation.muting),
        )

    def unmuted(self, other: int) -> Perspective:
        """Return the perspective without a mute."""
        return replace(self, muting=_with(self.muting, other, None))

    @property
    def shuns_some(self) -> bool:
        """True if blocks or mutes hide anything from the viewer."""
        return bool(self.blocking or self.blocked_by or self.muting or self.domain_blocks)

    def shuns(self, other: int) -> bool:
        """True if the viewer blocks or mutes the account, or is blocked by it."""
        return other in self.blocking or other in self.muting or other in self.blocked_by

    @property
    def shunned(self) -> frozenset[int]:
        """All accounts for which `shuns` is true, for queries that leave them out before they count a page."""
        return self.blocking.union(self.muting, self.blocked_by)

    @property
    def not_suggested(self) -> frozenset[int]:
        """The accounts that are no suggestion for the viewer: shunned accounts, the viewer, and the accounts that it
        follows or has asked to follow."""
        own = () if self.account_id is None else (self.account_id,)
        return self.shunned.union(own, self.following, self.requested)


ANONYMOUS = Perspective()


class HasAudience(Protocol):
    """The attributes of a status that the rules need."""

    @property
    def account_id(self) -> int: ...
    @property
    def visibility(self) -> str: ...
    @property
    def mentioned_ids(self) -> Sequence[int]: ...


class HasTimelinePlace(HasAudience, Protocol):
    """The attributes of a status that timelines need."""

    @property
    def id(self) -> int: ...
    @property
    def in_reply_to_id(self) -> int | None: ...
    @property
    def in_reply_to_account_id(self) -> int | None: ...
    @property
    def reblog_of_id(self) -> int | None: ...
    @property
    def reblog_account_id(self) -> int | None: ...
    @property
    def language(self) -> str | None: ...
    @property
    def account_domain(self) -> str | None: ...
    @property
    def reblog_domain(self) -> str | None: ...
    @property
    def silenced(self) -> bool: ...
    @property
    def withdrawn(self) -> bool: ...
    @property
    def tags(self) -> Sequence[str]: ...


class Quotable(HasAudience, Protocol):
    """The attributes of a status that decide which accounts may quote it."""

    @property
    def quote_policy(self) -> str: ...
    @property
    def quote_manual_policy(self) -> str: ...


class Networked(Protocol):
    """The attributes of an account that decide who sees its followers and follows."""

    @property
    def id(self) -> int: ...
    @property
    def hide_collections(self) -> bool: ...


def visible(post: HasAudience, viewer: Perspective) -> bool:
    """True if `viewer` may see the status at all. A hidden status looks missing: 404, never 403."""
    if post.account_id == viewer.account_id:
        return True
    if post.visibility in ("public", "unlisted"):
        return post.account_id not in viewer.blocked_by
    if viewer.account_id in post.mentioned_ids:
        return True
    return (
        post.visibility == "private"
        and post.account_id in viewer.following
        and post.account_id not in viewer.blocked_by
    )


def shown_at_all(entry: HasTimelinePlace, viewer: Perspective) -> bool:
    """True if the status is shown to the viewer where no block or mute of theirs hides it: by its id, among their
    bookmarks and favourites, and to the author of the status that it quotes."""
    return not entry.withdrawn and visible(entry, viewer)


def belongs_at_home(entry: HasTimelinePlace, viewer: Perspective) -> bool:
    """True if the status belongs on the viewer's home timeline, because of its author or of a hashtag."""
    return belongs_by_author(entry, viewer) or belongs_by_tag(entry, viewer)


def belongs_by_author(entry: HasTimelinePlace, viewer: Perspective) -> bool:
    """True if the status belongs on the viewer's home timeline because its author is the viewer, or is followed."""
    if entry.withdrawn:
        return False
    if entry.account_id == viewer.account_id:
        return not boosts_shunned(entry, viewer)
    following = viewer.following.get(entry.account_id)
    if following is None or not visible(entry, viewer) or hidden(entry, viewer):
        return False
    if entry.reblog_of_id is not None:
        return following.show_reblogs
    if following.languages and entry.language is not None and entry.language not in following.languages:
        return False
    return _answers_someone_known(entry, viewer)


def belongs_by_tag(entry: HasTimelinePlace, viewer: Perspective) -> bool:
    """True if the status belongs on the viewer's home timeline because of a followed hashtag.

    The terms of a follow of its author don't matter then.
    """
    if not any(name in viewer.followed_tags for name in entry.tags):
        return False
    if entry.silenced or not belongs_under_tags(entry):
        return False
    return visible(entry, viewer) and not hidden(entry, viewer) and _answers_someone_known(entry, viewer)


def belongs_in_list(entry: HasTimelinePlace, viewer: Perspective, members: Container[int], replies_policy: str) -> bool:
    """True if the status belongs on a list of the viewer's: as at home without hashtags, by its members.

    Replies are included as the list's policy says. Replies to the viewer, and of an author to its own status, always
    are.
    """
    if entry.account_id not in members or not belongs_by_author(entry, viewer):
        return False
    answered = entry.in_reply_to_account_id
    if answered is None or answered in (viewer.account_id, entry.account_id):
        return True
    return replies_policy == "followed" or (replies_policy == "list" and answered in members)


def belongs_in_public(entry: HasTimelinePlace) -> bool:
    """True if the status belongs on the public timelines: no boosts, no replies to others."""
    return (
        entry.visibility == "public"
        and not entry.withdrawn
        and entry.reblog_of_id is None
        and (entry.in_reply_to_id is None or entry.in_reply_to_account_id == entry.account_id)
    )


def belongs_in_trends(entry: HasTimelinePlace, viewer: Perspective) -> bool:
    """True if the status is shown to the viewer when it trends: as on the public timelines."""
    return belongs_in_public(entry) and not entry.silenced and not hidden(entry, viewer)


def belongs_under_tags(entry: HasTimelinePlace) -> bool:
    """True if the status belongs on the timelines of its hashtags: replies do, boosts don't."""
    return entry.visibility == "public" and not entry.withdrawn and entry.reblog_of_id is None


def belongs_to_link(entry: HasTimelinePlace, viewer: Perspective) -> bool:
    """True if the status is shown to the viewer on the timeline of a link: as on timelines of hashtags."""
    return belongs_under_tags(entry) and not entry.silenced and not hidden(entry, viewer)


def belongs_in_thread(entry: HasTimelinePlace, viewer: Perspective) -> bool:
    """True if the status is shown in a thread, or found by its words.

    Statuses of silenced authors are shown only to their followers.
    """
    if entry.withdrawn:
        return False
    if entry.account_id == viewer.account_id:
        return True
    if not visible(entry, viewer) or shunned(entry, viewer):
        return False
    return not entry.silenced or entry.account_id in viewer.following


def belongs_on_profile(entry: HasTimelinePlace, viewer: Perspective) -> bool:
    """True if the status belongs on its author's page.

    Blocks and mutes apply there only to the authors of boosted statuses.
    """
    return not entry.withdrawn and visible(entry, viewer) and not boosts_shunned(entry, viewer)


def state_for(quoted: HasTimelinePlace, viewer: Perspective) -> QuoteState:
    """Return the state of an accepted quote for a viewer: `accepted` if the quoted status is shown, else the reason.

    The quoted status is shown where a thread would show it. For a status that the viewer may not see at all, the
    state gives no details.
    """
    if belongs_in_thread(quoted, viewer):
        return "accepted"
    if not visible(quoted, viewer):
        return "unauthorized"
    if quoted.account_id in viewer.blocking:
        return "blocked_account"
    if quoted.account_domain in viewer.domain_blocks:
        return "blocked_domain"
    return "muted_account" if quoted.account_id in viewer.muting else "unauthorized"


def approval_for(post: Quotable, viewer: Perspective) -> Approval:
    """Return if a viewer may quote the status: at once, after its author agrees, or not.

    Its author may, unless it is direct; others only if it is open to all, and they neither block nor are blocked.
    """
    if viewer.account_id is None or post.visibility == "direct":
        return "denied"
    if post.account_id == viewer.account_id:
        return "automatic"
    if post.visibility == "private" or post.account_id in viewer.blocking or not visible(post, viewer):
        return "denied"
    if _covers(post.quote_policy, post, viewer):
        return "automatic"
    return "manual" if _covers(post.quote_manual_policy, post, viewer) else "denied"


def shows_profile(account_id: int, viewer: Perspective) -> bool:
    """True if the viewer may see an account's posts, featured hashtags and endorsements.

    The account itself is shown to all viewers. If it blocks the viewer, the rest is hidden.
    """
    return account_id not in viewer.blocked_by


def shows_network(account: Networked, viewer: Perspective) -> bool:
    """True if the viewer may see the follows and followers of an account."""
    if account.id == viewer.account_id:
        return True
    return shows_profile(account.id, viewer) and not account.hide_collections


def hidden(entry: HasTimelinePlace, viewer: Perspective) -> bool:
    """True if blocks and mutes of its author, the boosted author or a mentioned account hide the status."""
    if viewer.account_id is None or viewer.account_id == entry.account_id or not viewer.shuns_some:
        return False
    if shunned(entry, viewer) or boosts_shunned(entry, viewer):
        return True
    return any(mentioned in viewer.blocking or mentioned in viewer.muting for mentioned in entry.mentioned_ids)


def shunned(entry: HasTimelinePlace, viewer: Perspective) -> bool:
    """True if blocks and mutes hide the author from the viewer."""
    return viewer.shuns(entry.account_id) or entry.account_domain in viewer.domain_blocks


def boosts_shunned(entry: HasTimelinePlace, viewer: Perspective) -> bool:
    """True if it boosts a status of an author that blocks or mutes hide. An own boost may be older than the block."""
    boosted = entry.reblog_account_id
    return boosted is not None and (viewer.shuns(boosted) or entry.reblog_domain in viewer.domain_blocks)


def _answers_someone_known(entry: HasTimelinePlace, viewer: Perspective) -> bool:
    """True if a reply is to its own author, to the viewer, or to an account that the viewer follows."""
    if entry.in_reply_to_id is None:
        return True
    answered = entry.in_reply_to_account_id
    return answered is not None and (answered in (viewer.account_id, entry.account_id) or answered in viewer.following)


def _covers(policy: str, post: HasAudience, viewer: Perspective) -> bool:
    """True if a policy for quotes is about this viewer."""
    return policy == "public" or (policy == "followers" and post.account_id in viewer.following)


def _with(mapping: Mapping[int, T], key: int, value: T | None) -> Mapping[int, T]:
    if mapping.get(key) == value:
        return mapping
    changed = dict(mapping)
    changed.pop(key, None)
    if value is not None:
        changed[key] = value
    return changed


def _marked(members: frozenset[int], member: int, belongs: bool) -> frozenset[int]:
    if (member in members) == belongs:
        return members
    return members | {member} if belongs else members - {member}
