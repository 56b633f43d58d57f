"""Strikes, which every act of staff against an account makes: a row, a notification for its user, and a mail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...storage import notifications, strikes
from ...storage.engine.database import Connection
from ...storage.moderation import ModeratedRow
from ...storage.notifications import NewNotification, Notification
from ...storage.strikes import NewStrike
from ..account import AccountActor
from ..effects.mail import MAIL
from ..effects.notifications import notifications_added
from ..effects.strikes import strike_mail
from ..facts import AddedNotifications
from ..staff import StaffAct


@dataclass(frozen=True, slots=True)
class Struck:
    """The outcome of a transaction with a strike: what its user is told, and the promises to hand over."""

    id: int
    told: Sequence[Notification]
    promised: Sequence[int]


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
) -> Struck:
    """Store a strike. The user is notified of it and, if `mailed`, sent a mail; other servers' users are not."""
    new = NewStrike(act.next_id(), target.id, act.staff.account_id, action, text, report_id, status_ids)
    await strikes.insert(db, new, act.now)
    if target.role is None:
        return Struck(new.id, (), ())
    note = NewNotification(act.next_id(), target.id, target.id, "moderation_warning", strike_id=new.id)
    told = await notifications.insert_official(db, [note], act.now)
    mails = [strike_mail(new.id, target.id)] if mailed else []
    promised = await act.promise(db, [*notifications_added(told), *mails])
    return Struck(new.id, told, promised)


async def publish_strike(account: AccountActor, struck: Struck) -> None:
    """Tell the user of a strike, after the commit and before the answer."""
    await account.publish(AddedNotifications(struck.told), promised=struck.promised)
    account.context.outbox.wake(MAIL)
