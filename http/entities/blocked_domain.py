"""Admin::DomainBlock, and DomainBlock as the public sees it."""

from __future__ import annotations

from ...actors.rules.domains import digest_of, obfuscated
from ...storage.blocked_domains import BlockedDomain
from .times import instant


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
