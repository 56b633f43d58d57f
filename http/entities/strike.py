"""AccountWarning, and its Appeal; for staff with what else they need to decide."""

from __future__ import annotations

import orjson

from ...storage.accounts import Account
from ...storage.strikes import Strike
from .account import account_json
from .rendered import Renderings
from .times import instant


def warning_json(strike: Strike, target: Account, renderings: Renderings, base_url: str) -> bytes:
    """Return a strike for the account that it is about."""
    return b'%b,"target_account":%b}' % (orjson.dumps(_fields(strike))[:-1], account_json(target, renderings, base_url))


def appeal_json(strike: Strike, target: Account, renderings: Renderings, base_url: str) -> bytes:
    """Return an appeal for staff, with the strike that it is against. This entity is Troupe's own."""
    fields = {
        "id": str(strike.appeal_id),
        "text": strike.appeal_text,
        "state": state_of(strike),
        "created_at": None if strike.appealed_at is None else instant(strike.appealed_at),
    }
    return b'%b,"strike":%b}' % (orjson.dumps(fields)[:-1], warning_json(strike, target, renderings, base_url))


def _fields(strike: Strike) -> dict[str, object]:
    return {
        "id": str(strike.id),
        "action": strike.action,
        "text": strike.text,
        "status_ids": None if strike.status_ids is None else [str(id) for id in strike.status_ids],
        "appeal": None if strike.appeal_id is None else {"text": strike.appeal_text, "state": state_of(strike)},
        "created_at": instant(strike.created_at),
    }


def state_of(strike: Strike) -> str:
    """Return the state of the appeal against a strike."""
    if strike.appeal_approved_at is not None:
        return "approved"
    return "pending" if strike.appeal_rejected_at is None else "rejected"
