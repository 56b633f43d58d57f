"""Strikes, which every act of staff against an account makes: a row, a notification for its user, and a mail."""

from __future__ import annotations

from collections.abc import Sequence

from ...storage import notifications, strikes
from ...storage.engine.database import Connection
from ...storage.moderation import ModeratedRow
from ...storage.notifications import NewNotification
from ...storage.strikes import NewStrike
from ..effects.strikes import strike_mail
from ..facts import AddedNotifications
from ..staff import StaffAct


async def strike(
    db: Connection,
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
    new = NewStrike(act.next_id(), target.id, act.staff.account_id, action, text, report_id, status_ids)
    await strikes.insert(db, new, act.now)
    if target.role is None:
        return new.id
    note = NewNotification(act.next_id(), target.id, target.id, "moderation_warning", strike_id=new.id)
    added = await notifications.insert_official(db, [note], act.now)
    await act.publish(db, [AddedNotifications(added)])
    if mailed:
        await act.promise(db, [strike_mail(new.id, target.id)])
    return new.id
