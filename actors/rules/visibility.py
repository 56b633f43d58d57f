"""Who may see what. Every surface asks `visible`; timelines ask `belongs_at_home`, `belongs_in_public` and `hidden`,
threads and search `belongs_in_thread`, profiles `belongs_on_profile`. What an account shows of itself is decided by
`shows_profile`, and whom it knows by `shows_network`.

The rules are those of the Mastodon API's pages on visibility, blocks and mutes, and of the user's specification: a
direct status is seen by its author and those it mentions, a private one by followers as well; whoever the author blocks
sees nothing, save what is private or direct and mentions them.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, Protocol, TypeVar

T = TypeVar("T")

Visibility = Literal["public", "unlisted", "private", "direct"]


@dataclass(frozen=True, slots=True)
class Following:
    """One follow as the follower set it up. `since` is the follow's id, so that it compares with ids of statuses."""

    since: int = 0
    show_reblogs: bool = True
    notify: bool = False
    languages: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Muting:
    """One mute; `expires_at` is None when it holds until it is taken back."""

    hide_notifications: bool = True
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Relation:
    """Everything between a viewer and one other account, seen by the viewer."""

    following: Following | None = None
    requested: bool = False
    blocking: bool = False
    blocked_by: bool = False
    muting: Muting | None = None


@dataclass(frozen=True, slots=True)
class Perspective:
    """What visibility depends on, for one viewer. Never changed in place: a new relation makes a new perspective."""

    account_id: int | None = None
    following: Mapping[int, Following] = field(default_factory=dict[int, Following])
    requested: frozenset[int] = frozenset()
    blocking: frozenset[int] = frozenset()
    blocked_by: frozenset[int] = frozenset()
    muting: Mapping[int, Muting] = field(default_factory=dict[int, Muting])
    domain_blocks: frozenset[str] = frozenset()

    def relation(self, other: int) -> Relation:
        return Relation(
            self.following.get(other),
            other in self.requested,
            other in self.blocking,
            other in self.blocked_by,
            self.muting.get(other),
        )

    def after(self, other: int, relation: Relation) -> Perspective:
        """The perspective once `relation` holds between the viewer and `other`."""
        return replace(
            self,
            following=_with(self.following, other, relation.following),
            requested=_marked(self.requested, other, relation.requested),
            blocking=_marked(self.blocking, other, relation.blocking),
            blocked_by=_marked(self.blocked_by, other, relation.blocked_by),
            muting=_with(self.muting, other, relation.muting),
        )

    def unmuted(self, other: int) -> Perspective:
        """The perspective once a mute is over."""
        return replace(self, muting=_with(self.muting, other, None))

    def shuns(self, other: int) -> bool:
        """Blocked or muted by the viewer, or blocking the viewer."""
        return other in self.blocking or other in self.muting or other in self.blocked_by

    @property
    def shunned(self) -> frozenset[int]:
        """Every account that `shuns` is true of, for queries that leave them out before they count a page."""
        return self.blocking.union(self.muting, self.blocked_by)


ANONYMOUS = Perspective()


class HasAudience(Protocol):
    """What the rules need to know of a status."""

    @property
    def account_id(self) -> int: ...
    @property
    def visibility(self) -> str: ...
    @property
    def mentioned_ids(self) -> Sequence[int]: ...


class HasTimelinePlace(HasAudience, Protocol):
    """What timelines need to know of a status."""

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


class Networked(Protocol):
    """What decides who sees an account's followers and follows."""

    @property
    def id(self) -> int: ...
    @property
    def hide_collections(self) -> bool: ...


def visible(post: HasAudience, viewer: Perspective) -> bool:
    """Whether `viewer` may see the status at all. Hidden is the same as missing: a 404, never a 403."""
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


def belongs_at_home(entry: HasTimelinePlace, viewer: Perspective) -> bool:
    """Whether the status is part of the viewer's home timeline."""
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


def belongs_in_list(entry: HasTimelinePlace, viewer: Perspective, members: Container[int], replies_policy: str) -> bool:
    """Whether the status is part of a list of the viewer's: as at home, of its members, and of their answers those
    that the policy wants. Answers to the viewer and to oneself always are."""
    if entry.account_id not in members or not belongs_at_home(entry, viewer):
        return False
    answered = entry.in_reply_to_account_id
    if answered is None or answered in (viewer.account_id, entry.account_id):
        return True
    return replies_policy == "followed" or (replies_policy == "list" and answered in members)


def belongs_in_public(entry: HasTimelinePlace) -> bool:
    """Whether the status is part of the public timelines: no boosts, no replies to others."""
    return (
        entry.visibility == "public"
        and entry.reblog_of_id is None
        and (entry.in_reply_to_id is None or entry.in_reply_to_account_id == entry.account_id)
    )


def belongs_under_tags(entry: HasTimelinePlace) -> bool:
    """Whether the status stands under its hashtags: answers do, boosts don't."""
    return entry.visibility == "public" and entry.reblog_of_id is None


def belongs_in_thread(entry: HasTimelinePlace, viewer: Perspective) -> bool:
    """Whether the status stands among those above and below another, or is found by its words. The silenced are heard
    by their followers only."""
    if entry.account_id == viewer.account_id:
        return True
    if not visible(entry, viewer) or shunned(entry, viewer):
        return False
    return not entry.silenced or entry.account_id in viewer.following


def belongs_on_profile(entry: HasTimelinePlace, viewer: Perspective) -> bool:
    """Whether the status stands on its author's page: there blocks and mutes keep out whom it boosts only."""
    return visible(entry, viewer) and not boosts_shunned(entry, viewer)


def shows_profile(account_id: int, viewer: Perspective) -> bool:
    """True if the viewer may see what is on an account's profile: its posts, its featured hashtags, its endorsements.
    The account itself is shown to everybody; its block hides the rest."""
    return account_id not in viewer.blocked_by


def shows_network(account: Networked, viewer: Perspective) -> bool:
    """True if the viewer may see the follows and followers of an account."""
    if account.id == viewer.account_id:
        return True
    return shows_profile(account.id, viewer) and not account.hide_collections


def hidden(entry: HasTimelinePlace, viewer: Perspective) -> bool:
    """Whether blocks and mutes keep the status out of the viewer's timelines: its author, whom it boosts, whom it
    mentions."""
    if viewer.account_id is None or viewer.account_id == entry.account_id:
        return False
    if shunned(entry, viewer) or boosts_shunned(entry, viewer):
        return True
    return any(mentioned in viewer.blocking or mentioned in viewer.muting for mentioned in entry.mentioned_ids)


def shunned(entry: HasTimelinePlace, viewer: Perspective) -> bool:
    """Whether blocks and mutes keep its author away from the viewer."""
    return viewer.shuns(entry.account_id) or entry.account_domain in viewer.domain_blocks


def boosts_shunned(entry: HasTimelinePlace, viewer: Perspective) -> bool:
    """True if it boosts an account that blocks or mutes keep away. An own boost may be older than those."""
    boosted = entry.reblog_account_id
    return boosted is not None and (viewer.shuns(boosted) or entry.reblog_domain in viewer.domain_blocks)


def _answers_someone_known(entry: HasTimelinePlace, viewer: Perspective) -> bool:
    """A reply is of interest when it answers oneself, its own author, or someone else one follows."""
    if entry.in_reply_to_id is None:
        return True
    answered = entry.in_reply_to_account_id
    return answered is not None and (answered in (viewer.account_id, entry.account_id) or answered in viewer.following)


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
