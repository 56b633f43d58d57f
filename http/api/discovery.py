"""Discovery: webfinger and host-meta for other servers, nodeinfo for statistics sites, health for operators."""

from __future__ import annotations

import html
import re
from datetime import timedelta

import orjson

from ... import __version__
from ...actors.rules.identity import handle_of
from ...storage import instance
from ...storage.accounts import Account
from ...storage.engine.database import Unavailable
from ..access.context import HttpContext
from ..answers.answer import Answer, json
from ..answers.errors import NotFound
from ..entities.account import avatar_url
from ..intake.input import Input
from ..intake.parameters import Given
from ..intake.request import Request
from ..router import api
from ..views.accounts import find_local

JRD = "application/jrd+json; charset=utf-8"
XRD = "application/xrd+xml; charset=utf-8"
NODEINFO = "http://nodeinfo.diaspora.software/ns/schema/2.0"
ACTIVITY = "application/activity+json"
PROFILE_PAGE = "http://webfinger.net/rel/profile-page"
AVATAR = "http://webfinger.net/rel/avatar"

MONTH = timedelta(days=30)
HALF_YEAR = timedelta(days=180)

# The links under which an account is known: its actor, and its page for people.
PATH = re.compile(r"/(?:users/|@)([A-Za-z0-9_]{1,30})/?")


class Sought(Input):
    resource: Given


# Accounts -----------------------------------------------------------------------------------------------------


@api.get("/.well-known/webfinger")
async def show_webfinger(context: HttpContext, sought: Sought) -> Answer:
    """The links of a local account, by its handle or one of its links. 404 for accounts of other servers."""
    name = local_name(sought.resource, context.settings.local_domain, context.settings.base_url)
    if name is None:
        raise NotFound
    account = await find_local(context, name)
    settings = context.settings
    return Answer(orjson.dumps(webfinger(account, settings.local_domain, settings.base_url)), content_type=JRD)


def local_name(resource: str, domain: str, base_url: str) -> str | None:
    """The user's name in a resource of this server; None for everything else."""
    if resource.startswith(f"{base_url}/"):
        found = PATH.fullmatch(resource.removeprefix(base_url))
        return found[1] if found else None
    handle = handle_of(resource.removeprefix("acct:"), domain)
    # A name without a domain may belong to any server.
    return handle[0] if handle is not None and handle[1] is None and "@" in resource.lstrip("@") else None


def webfinger(account: Account, domain: str, base_url: str) -> dict[str, object]:
    """The answer of RFC 7033, with the links that other servers look for."""
    url = account.url or account.uri
    return {
        "subject": f"acct:{account.username}@{domain}",
        "aliases": list(dict.fromkeys((url, account.uri))),
        "links": [
            {"rel": PROFILE_PAGE, "type": "text/html", "href": url},
            {"rel": "self", "type": ACTIVITY, "href": account.uri},
            {"rel": AVATAR, "href": avatar_url(account, base_url)},
        ],
    }


# The server ---------------------------------------------------------------------------------------------------


@api.get("/.well-known/host-meta")
def show_host_meta(context: HttpContext, request: Request) -> Answer:
    """RFC 6415: the address of webfinger, as XML unless JSON is asked for."""
    return _as_json(context) if "json" in (request.header(b"accept") or "") else _as_xml(context)


@api.get("/.well-known/host-meta.json")
def show_host_meta_json(context: HttpContext) -> Answer:
    """The same as JSON, for clients that ask by path."""
    return _as_json(context)


def _as_xml(context: HttpContext) -> Answer:
    body = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<XRD xmlns="http://docs.oasis-open.org/ns/xri/xrd-1.0">\n'
        f'  <Link rel="lrdd" template="{html.escape(_webfinger_template(context))}"/>\n'
        "</XRD>\n"
    )
    return Answer(body.encode(), headers=(("Vary", "Accept"),), content_type=XRD)


def _as_json(context: HttpContext) -> Answer:
    links = [{"rel": "lrdd", "template": _webfinger_template(context)}]
    return Answer(orjson.dumps({"links": links}), headers=(("Vary", "Accept"),), content_type=JRD)


def _webfinger_template(context: HttpContext) -> str:
    return f"{context.settings.base_url}/.well-known/webfinger?resource={{uri}}"


@api.get("/.well-known/nodeinfo")
def show_nodeinfo_links(context: HttpContext) -> Answer:
    return json({"links": [{"rel": NODEINFO, "href": f"{context.settings.base_url}/nodeinfo/2.0"}]})


@api.get("/nodeinfo/2.0")
async def show_nodeinfo(context: HttpContext) -> Answer:
    """The software of this server and how much it is used."""

    async def make() -> bytes:
        return orjson.dumps(await _nodeinfo(context))

    profile = f'application/json; profile="{NODEINFO}#"; charset=utf-8'
    return Answer(await context.kept.get("nodeinfo", context.clock.now(), make), content_type=profile)


async def _nodeinfo(context: HttpContext) -> dict[str, object]:
    now = context.clock.now()
    month = await context.database.read(instance.numbers, now - MONTH)
    half_year = await context.database.read(instance.numbers, now - HALF_YEAR)
    return {
        "version": "2.0",
        "software": {"name": "troupe", "version": __version__},
        "protocols": ["activitypub"],
        "services": {"inbound": [], "outbound": []},
        "usage": {
            "users": {"total": month.users, "activeMonth": month.active, "activeHalfyear": half_year.active},
            "localPosts": month.statuses,
        },
        "openRegistrations": context.sign_ups.rule != "closed",
        "metadata": {"nodeName": context.settings.title, "nodeDescription": context.settings.description},
    }


@api.get("/health")
def show_health() -> Answer:
    """Liveness: the process answers requests. It says nothing about the database."""
    return json({"status": "UP"})


@api.get("/ready")
async def show_readiness(context: HttpContext) -> Answer:
    """Readiness: the database answers too; else 503."""
    if not await context.readiness.check():
        raise Unavailable("the database does not answer")
    return json({"status": "UP"})
