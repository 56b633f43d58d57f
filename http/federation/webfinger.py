"""WebFinger (RFC 7033): from the handle or a URL of an account to its actor."""

from __future__ import annotations

import re
from urllib.parse import unquote

import orjson

from ...actors.activitypub.names import LocalNames, ServerActorName
from ...actors.activitypub.vocabulary import CONTENT_TYPE
from ...actors.rules.identity import handle_of
from ...storage.accounts import Account
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..answers.errors import Gone, Malformed, NotFound
from ..entities.account import avatar_url
from ..intake.parameters import Input, Sought
from ..router import api
from .actors import find_actor

JRD = "application/jrd+json; charset=utf-8"
PROFILE_PAGE = "http://webfinger.net/rel/profile-page"
AVATAR = "http://webfinger.net/rel/avatar"
SUBSCRIBE = "http://ostatus.org/schema/1.0/subscribe"
# A handle, with or without `acct:`, or any other URI.
RESOURCE = re.compile(r"(?i:acct:)?@?[^\s@:/?#=&]+@[^\s@]+|(?!(?i:acct:))[A-Za-z][A-Za-z0-9+.-]*:\S+")


class WebfingerQuery(Input):
    resource: Sought  # cut, because it is decoded several times


@api.get("/.well-known/webfinger")
async def show_webfinger(context: HttpContext, sought: WebfingerQuery) -> Answer:
    """Show the links of a local account or of this server. 404 for other accounts, 410 for deleted accounts."""
    names = context.federation.names
    if _names_server(sought.resource, names):
        return _answer(_of_server(names))
    if RESOURCE.fullmatch(unquote(sought.resource).strip()) is None:
        raise Malformed("resource must be a URI, such as acct:name@domain")
    name = local_name(sought.resource, names)
    if name is None:
        raise NotFound
    account = await find_actor(context, name)
    if account.deleted_at is not None:
        raise Gone
    return _answer(_of_account(account, names))


def _names_server(resource: str, names: LocalNames) -> bool:
    """True for the handle, the actor and the domain of this server. Mastodon requests the domain."""
    if isinstance(names.read(resource), ServerActorName):
        return True
    name = unquote(resource).strip().lower()
    domain = re.sub("^https?://", "", name).removesuffix("/").removesuffix(":443")
    return domain == names.domain or name.removeprefix("acct:").removeprefix("@") == f"{names.domain}@{names.domain}"


def local_name(resource: str, names: LocalNames) -> str | None:
    """Return the username in a resource of this server; None for other resources."""
    if names.is_local(resource):
        return names.username_of(resource)
    # Some clients encode the resource twice, or append the port of their request.
    resource = unquote(resource).strip().removesuffix(":443")
    scheme, colon, rest = resource.partition(":")
    handle = handle_of(rest if colon and scheme.lower() == "acct" else resource, names.domain)
    # A name without a domain may belong to any server.
    return handle[0] if handle is not None and handle[1] is None and "@" in resource.lstrip("@") else None


def _of_account(account: Account, names: LocalNames) -> dict[str, object]:
    """Return the links of an account: its page, actor and avatar, and the page for remote interactions.

    A suspended account has only its actor, whose document shows the suspension.
    """
    subject = f"acct:{account.username}@{names.domain}"
    actor = {"rel": "self", "type": CONTENT_TYPE, "href": account.uri}
    if account.suspended_at is not None:
        return {"subject": subject, "aliases": [account.uri], "links": [actor]}
    url = account.url or account.uri
    return {
        "subject": subject,
        "aliases": list(dict.fromkeys((url, account.uri))),
        "links": [
            {"rel": PROFILE_PAGE, "type": "text/html", "href": url},
            actor,
            _subscription(names),
            {"rel": AVATAR, "href": avatar_url(account, names.base_url)},
        ],
    }


def _of_server(names: LocalNames) -> dict[str, object]:
    return {
        "subject": f"acct:{names.domain}@{names.domain}",
        "aliases": [names.server_actor],
        "links": [
            {"rel": PROFILE_PAGE, "type": "text/html", "href": f"{names.base_url}/about"},
            {"rel": "self", "type": CONTENT_TYPE, "href": names.server_actor},
            _subscription(names),
        ],
    }


def _subscription(names: LocalNames) -> dict[str, object]:
    """Return the link for remote interactions: other servers send our users there to follow or answer an object."""
    return {"rel": SUBSCRIBE, "template": f"{names.base_url}/authorize_interaction?uri={{uri}}"}


def _answer(links: dict[str, object]) -> Answer:
    return Answer(orjson.dumps(links), content_type=JRD)
