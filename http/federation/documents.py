"""Answers with documents of ActivityPub."""

from __future__ import annotations

import orjson

from ...actors.activitypub.documents.actors import tombstone_of
from ...actors.activitypub.vocabulary import CONTENT_TYPE
from ...storage.engine.json_values import JsonObject
from ..access.context import HttpContext
from ..answers.answer import Answer, Headers
from ..intake.request import Request
from .readers import demands_signatures, is_signed

DOCUMENT = f"{CONTENT_TYPE}; charset=utf-8"
# Caches may store public documents for a minute. It is short, because a cache shows deleted documents until then.
FOR_A_MOMENT = ("Cache-Control", "public, max-age=60")
FOR_NO_CACHE = ("Cache-Control", "private, no-store")
BY_ACCEPT = ("Vary", "Accept")
BY_SIGNATURE = ("Vary", "Accept, Signature")


def document(context: HttpContext, request: Request, body: JsonObject, *, public: bool, status: int = 200) -> Answer:
    """Answer with a document. Caches may store it if it is `public`."""
    return Answer(orjson.dumps(body), status, _headers(context, request, public=public), DOCUMENT)


def open_document(body: JsonObject) -> Answer:
    """Answer with a document that needs no signature under any setting."""
    return Answer(orjson.dumps(body), 200, (FOR_A_MOMENT, BY_ACCEPT), DOCUMENT)


def tombstone(context: HttpContext, request: Request, uri: str) -> Answer:
    """Answer 410: the object was deleted."""
    return document(context, request, tombstone_of(uri), public=True, status=410)


def _headers(context: HttpContext, request: Request, *, public: bool) -> Headers:
    """Return the headers for caches. The answer to a signed request depends on its actor, also for public objects.

    For example, a blocked actor sees fewer public objects. So a cache may store only answers to unsigned requests, and
    use them only for unsigned requests.
    """
    shared = public and not is_signed(request) and not demands_signatures(context)
    return (FOR_A_MOMENT if shared else FOR_NO_CACHE, BY_SIGNATURE)
