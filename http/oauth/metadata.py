"""The server's OAuth metadata, and the claims about the user of a token."""

from __future__ import annotations

from ...actors.rules import scopes
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, json
from ..answers.errors import NotFound
from ..entities.account import avatar_url
from ..router import api


@api.get("/.well-known/oauth-authorization-server", without_memory=True)
def show_metadata(context: HttpContext) -> Answer:
    """The metadata of the authorization server (RFC 8414)."""
    base = context.settings.base_url
    return json(
        {
            "issuer": f"{base}/",
            "service_documentation": "https://docs.joinmastodon.org/",
            "authorization_endpoint": f"{base}/oauth/authorize",
            "token_endpoint": f"{base}/oauth/token",
            "app_registration_endpoint": f"{base}/api/v1/apps",
            "revocation_endpoint": f"{base}/oauth/revoke",
            "userinfo_endpoint": f"{base}/oauth/userinfo",
            "scopes_supported": sorted(scopes.ALL),
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "code_challenge_methods_supported": ["S256"],
            "grant_types_supported": _grant_types(context),
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        }
    )


def _grant_types(context: HttpContext) -> list[str]:
    always = ["authorization_code", "client_credentials"]
    return [*always, "password"] if context.settings.password_grant else always


@api.route("GET", "POST", path="/oauth/userinfo", auth="user", scopes=("profile",), returns="Userinfo")
async def show_userinfo(context: HttpContext, viewer: Viewer) -> Answer:
    """OpenID's claims about the viewer."""
    account = await context.accounts.find(viewer.account_id)
    if account is None:
        raise NotFound
    base = context.settings.base_url
    return json(
        {
            "iss": f"{base}/",
            "sub": account.uri,
            "name": account.display_name or account.username,
            "preferred_username": account.username,
            "profile": account.url,
            "picture": avatar_url(account, base),
        }
    )
