"""Strikes, which every act of staff against an account makes: a row, a notification for its user, and a mail."""

from __future__ import annotations

from collections.abc import Sequence

from ...storage import notifications, strikes
from ...storage.moderation import ModeratedRow
from ...storage.notifications import NewNotification
from ...storage.strikes import NewStrike
from ..effects.strikes import strike_mail
from ..facts.notifications import AddedNotification
from ..staff.acts import StaffAct


async def strike(
    act: StaffAct,
    target: ModeratedRow,
    action: str,
    text: str,
    report_id: int | None,
    status_ids: Sequence[int] | None = None,
    *,
    mailed: bool,
) -> int:
    """Store a strike, and return its id.

    The user is notified of it and, if `mailed`, sent a mail; other servers' users are not.
    """
    new = NewStrike(act.ids.next(), target.id, act.staff.account_id, action, text, report_id, status_ids)
    await strikes.insert(act.db, new, act.now)
    if target.role is None:
        return new.id
    note = NewNotification(act.ids.next(), target.id, target.id, "moderation_warning", strike_id=new.id)
    added = await notifications.insert_official(act.db, [note], act.now)
    act.publish(*map(AddedNotification.of, added))
    if mailed:
        act.promise(strike_mail(new.id, target.id))
    return new.id
