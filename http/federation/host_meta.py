"""host-meta (RFC 6415): the address of WebFinger, which some servers always look up first."""

from __future__ import annotations

import html

import orjson

from ..access.context import HttpContext
from ..answers.answer import Answer
from ..intake.negotiation import prefers
from ..intake.request import Request
from ..router import api
from .webfinger import JRD

XRD = "application/xrd+xml; charset=utf-8"
JSON_TYPES = ("application/json", "application/jrd+json", "application/xrd+json")
XML_TYPES = ("application/xrd+xml", "application/xml", "text/xml")
BY_ACCEPT = (("Vary", "Accept"),)


@api.get("/.well-known/host-meta", without_memory=True)
def show_host_meta(context: HttpContext, request: Request) -> Answer:
    """Show the address as XML, or as JSON if the client prefers it."""
    return _as_json(context) if prefers(request, JSON_TYPES, XML_TYPES) else _as_xml(context)


@api.get("/.well-known/host-meta.json", without_memory=True)
def show_host_meta_json(context: HttpContext) -> Answer:
    """Show the address as JSON, for clients that select the format by the path."""
    return _as_json(context)


def _as_xml(context: HttpContext) -> Answer:
    body = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<XRD xmlns="http://docs.oasis-open.org/ns/xri/xrd-1.0">\n'
        f'  <Link rel="lrdd" template="{html.escape(_webfinger_template(context))}"/>\n'
        "</XRD>\n"
    )
    return Answer(body.encode(), headers=BY_ACCEPT, content_type=XRD)


def _as_json(context: HttpContext) -> Answer:
    links = [{"rel": "lrdd", "template": _webfinger_template(context)}]
    return Answer(orjson.dumps({"links": links}), headers=BY_ACCEPT, content_type=JRD)


def _webfinger_template(context: HttpContext) -> str:
    return f"{context.settings.base_url}/.well-known/webfinger?resource={{uri}}"
