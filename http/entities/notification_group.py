"""NotificationGroup, and the accounts that stand beside groups."""

from __future__ import annotations

from ...actors.activitypub.uris import web_address
from ...storage.accounts import Account
from ...storage.notification_groups import Group
from .account import avatar_url
from .times import instant


def group_fields(group: Group) -> dict[str, object]:
    fields: dict[str, object] = {
        "group_key": group.key,
        "notifications_count": group.count,
        "type": group.type,
        "most_recent_notification_id": str(group.most_recent_id),
        "sample_account_ids": [str(id) for id in group.account_ids],
    }
    if group.latest_at is not None:
        fields["page_min_id"] = str(group.page_min_id)
        fields["page_max_id"] = str(group.page_max_id)
        fields["latest_page_notification_at"] = instant(group.latest_at)
    if group.status_id is not None:
        fields["status_id"] = str(group.status_id)
    return fields


def partial_account_fields(account: Account, base_url: str) -> dict[str, object]:
    """PartialAccountWithAvatar: enough to draw a small picture."""
    avatar = avatar_url(account, base_url)
    return {
        "id": str(account.id),
        "acct": account.acct,
        "url": web_address(account.url or account.uri),
        "avatar": avatar,
        "avatar_static": avatar,
        "avatar_description": account.avatar_description,
        "locked": account.locked,
        "bot": account.bot,
    }
