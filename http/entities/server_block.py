"""DomainBlock; Admin::DomainBlock, Admin::DomainAllow, Admin::IpBlock, and the blocks of e-mail addresses."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from ...actors.rules.domains import digest_of, obfuscated
from ...storage.blocked_domains import AllowedDomain, BlockedDomain
from ...storage.blocked_emails import BlockedEmail, BlockedEmailDomain, History
from ...storage.blocked_networks import BlockedNetwork
from .times import instant, maybe_instant

DAYS = 7  # of the history of a blocked e-mail domain


def blocked_domain_fields(block: BlockedDomain) -> dict[str, object]:
    """Return a block as staff see it."""
    return {
        "id": str(block.id),
        "domain": block.domain,
        "digest": digest_of(block.domain),
        "created_at": instant(block.created_at),
        "severity": block.severity,
        "reject_media": block.reject_media,
        "reject_reports": block.reject_reports,
        "private_comment": block.private_comment,
        "public_comment": block.public_comment,
        "obfuscate": block.obfuscate,
    }


def public_domain_fields(block: BlockedDomain, *, with_comment: bool) -> dict[str, object]:
    """Return a block as visitors see it."""
    return {
        "domain": obfuscated(block.domain) if block.obfuscate else block.domain,
        "digest": digest_of(block.domain),
        "severity": block.severity,
        "comment": (block.public_comment or "") if with_comment else None,
    }


def allowed_domain_fields(allowed: AllowedDomain) -> dict[str, object]:
    return {"id": str(allowed.id), "domain": allowed.domain, "created_at": instant(allowed.created_at)}


def blocked_email_domain_fields(block: BlockedEmailDomain, history: History, today: date) -> dict[str, object]:
    """Return a block with the attempts of the last days, today first."""
    days = [today - timedelta(days=ago) for ago in range(DAYS)]
    return {
        "id": str(block.id),
        "domain": block.domain,
        "created_at": instant(block.created_at),
        "history": [_day(day, *history.get((block.id, day), (0, 0))) for day in days],
        "allow_with_approval": block.allow_with_approval,
    }


def _day(day: date, accounts: int, uses: int) -> dict[str, str]:
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return {"day": str(int(midnight.timestamp())), "accounts": str(accounts), "uses": str(uses)}


def blocked_email_fields(block: BlockedEmail) -> dict[str, object]:
    return {"id": str(block.id), "canonical_email_hash": block.email_hash.hex()}


def blocked_network_fields(block: BlockedNetwork) -> dict[str, object]:
    return {
        "id": str(block.id),
        "ip": block.network,
        "severity": block.severity,
        "comment": block.comment,
        "created_at": instant(block.created_at),
        "expires_at": maybe_instant(block.expires_at),
    }
