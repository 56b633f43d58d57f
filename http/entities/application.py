"""Application, CredentialApplication, Token and WebPushSubscription: the entities that an app gets about itself."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from ...actors.activitypub.uris import maybe_web_address
from ...storage.oauth import Application
from ...storage.push_subscriptions import ALERTS, PushSubscription


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


def token_fields(secret: str, scopes: Iterable[str], created_at: datetime) -> dict[str, object]:
    """Return a new access token for its client."""
    return {
        "access_token": secret,
        "token_type": "Bearer",
        "scope": " ".join(scopes),
        "created_at": int(created_at.timestamp()),
    }


def push_subscription_fields(
    subscription: PushSubscription, server_key: str, *, id_as_number: bool
) -> dict[str, object]:
    """Return a subscription without its keys and its token. Some apps can parse the id only as a number."""
    return {
        "id": subscription.id if id_as_number else str(subscription.id),
        "endpoint": subscription.endpoint,
        "standard": subscription.standard,
        "server_key": server_key,
        "alerts": {alert: alert in subscription.alerts for alert in ALERTS},
        "policy": subscription.policy,
    }
