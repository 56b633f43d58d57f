"""Flag, a report about accounts of this server and their posts; Move, of the actor to another account."""

from __future__ import annotations

from ...account import PerspectiveOf
from ...activitypub.vocabulary import host_of, text_of, uri_of, uris_of
from ...commands.moves import Move
from ...commands.reports import FileReport
from ...rules.limits import REPORT_STATUSES
from ...shown.statuses import may_see
from ..actor_documents import is_known_as
from ..inbox_context import Activity, InboxContext

LONGEST_COMMENT = 5_000
MOST_OBJECTS = 200


async def flag(inbox: InboxContext, activity: Activity) -> None:
    """File a report about each named account of this server, with the named posts of it."""
    if inbox.standing_of(activity.actor.uri).rejects_reports:
        return
    # Mastodon writes the reason to `content`, Lemmy to `summary`.
    reasons = (text_of(activity.document.get(name), LONGEST_COMMENT) for name in ("content", "summary"))
    comment = next(filter(None, reasons), "")
    about: dict[int, list[int]] = {}
    for uri in uris_of(activity.document.get("object"))[:MOST_OBJECTS]:
        if not inbox.names.is_local(uri):
            continue
        if (account_id := await inbox.local_account_id(uri)) is not None:
            about.setdefault(account_id, [])
        elif (status := await inbox.status(uri)) is not None:
            about.setdefault(status.account_id, []).append(status.id)
    admitted = inbox.shared.quotas.take("reports", host_of(activity.actor.uri) or "", len(about))
    for account_id, status_ids in list(about.items())[:admitted]:
        seen = await _visible(inbox, activity, account_id, status_ids)
        report = FileReport(account_id, seen[:REPORT_STATUSES], comment=comment, uri=activity.id)
        await inbox.ask(activity.actor.id, report, activity.origin)


async def _visible(inbox: InboxContext, activity: Activity, account_id: int, status_ids: list[int]) -> tuple[int, ...]:
    """Return the posts of an account that the reporter may see. A report never shows other posts, not even to staff."""
    viewer = await inbox.ask(activity.actor.id, PerspectiveOf(), activity.origin)
    shown = await inbox.shared.statuses.show_many(dict.fromkeys(status_ids))
    return tuple(
        id for id, post in shown.items()
        if viewer is not None and post.status.account_id == account_id and may_see(post, viewer)
    )  # fmt: skip


async def move(inbox: InboxContext, activity: Activity) -> None:
    """Have local followers follow the new account. It is fetched again, because its `alsoKnownAs` must name the old
    account."""
    actor, target_uri = activity.actor, uri_of(activity.document.get("target"))
    if activity.object_uri != actor.uri or target_uri is None or target_uri == actor.uri:
        return
    target = await inbox.resolver.account(target_uri)
    if target is not None and not target.local:
        target = await inbox.resolver.refresh(target)
    if target is None or target.suspended_at is not None or target.moved_to_id is not None:
        return
    if is_known_as(target.also_known_as, actor, actor.domain or ""):
        await inbox.ask(actor.id, Move(target.id), activity.origin)
