"""QuoteApproval, Quote and ShallowQuote. All three depend on the viewer.

A quote has the quoted status in the state `accepted` alone. In all others it tells nothing of it.
"""

from __future__ import annotations

import orjson

from ...actors.rules.visibility import Approval, Perspective, Quotable, approval_for
from ...actors.statuses import ShownStatus, quote_state

NOT_QUOTABLE = "nobody"


def approval_json(status: Quotable, viewer: Perspective) -> bytes:
    """Return who may quote a status, and if the viewer may."""
    known = _APPROVALS.get(key := (status.quote_policy, status.quote_manual_policy, approval_for(status, viewer)))
    return known or _APPROVALS.setdefault(key, _approval(*key))


def quote_json(state: str, quoted: bytes) -> bytes:
    return b'{"state":"%b","quoted_status":%b}' % (state.encode(), quoted)


def shallow_quote_json(shown: ShownStatus, viewer: Perspective) -> bytes:
    """Return the quote of a status that is quoted itself: the id in place of a status."""
    state = quote_state(shown, viewer)
    if state is None:
        return b"null"
    id = str(shown.quoted.id) if state == "accepted" and shown.quoted is not None else None
    return orjson.dumps({"state": state, "quoted_status_id": id})


def variant(shown: ShownStatus, viewer: Perspective) -> str:
    """Return a name of what the viewer is shown of the quotes of a status: two viewers with one name see the same."""
    original = shown.boosted or shown
    name = approval_for(original.status, viewer)
    if original.quoted is None:
        return name
    quoted = original.quoted
    nested = quote_state(quoted, viewer)
    return f"{name} {quote_state(original, viewer)} {approval_for(quoted.status, viewer)} {nested}"


def _approval(policy: str, manual_policy: str, current: Approval) -> bytes:
    return orjson.dumps({"automatic": _kinds(policy), "manual": _kinds(manual_policy), "current_user": current})


def _kinds(policy: str) -> list[str]:
    return [] if policy == NOT_QUOTABLE else [policy]


_APPROVALS: dict[tuple[str, str, Approval], bytes] = {}
