"""Admin::DomainAllow."""

from __future__ import annotations

from ...storage.allowed_domains import AllowedDomain
from .times import instant


def allowed_domain_fields(allowed: AllowedDomain) -> dict[str, object]:
    return {"id": str(allowed.id), "domain": allowed.domain, "created_at": instant(allowed.created_at)}
