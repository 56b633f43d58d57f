"""Application, CredentialApplication."""

from __future__ import annotations

from ...actors.activitypub.uris import maybe_web_address
from ...storage.oauth import Application


def application_fields(application: Application, vapid_key: str) -> dict[str, object]:
    return {
        "id": str(application.id),
        "name": application.name,
        "website": maybe_web_address(application.website),
        "scopes": list(application.scopes),
        "redirect_uris": list(application.redirect_uris),
        "redirect_uri": "\n".join(application.redirect_uris),
        "vapid_key": vapid_key,
    }


def credential_application_fields(application: Application, secret: str, vapid_key: str) -> dict[str, object]:
    """Return a new application with its secret, which is stored as a hash and never shown again."""
    return application_fields(application, vapid_key) | {
        "client_id": application.client_id,
        "client_secret": secret,
        "client_secret_expires_at": 0,
    }
