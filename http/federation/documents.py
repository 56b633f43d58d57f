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
# Caches on the way may keep public documents for a moment. What is deleted must not be shown for long.
FOR_A_MOMENT = ("Cache-Control", "public, max-age=60")
FOR_NO_CACHE = ("Cache-Control", "private, no-store")
BY_ACCEPT = ("Vary", "Accept")
BY_SIGNATURE = ("Vary", "Accept, Signature")


def document(context: HttpContext, request: Request, body: JsonObject, *, public: bool, status: int = 200) -> Answer:
    """Answer with a document. Caches may keep one that is `public`."""
    return Answer(orjson.dumps(body), status, _headers(context, request, public=public), DOCUMENT)


def open_document(body: JsonObject) -> Answer:
    """Answer with a document that no setting hides."""
    return Answer(orjson.dumps(body), 200, (FOR_A_MOMENT, BY_ACCEPT), DOCUMENT)


def tombstone(context: HttpContext, request: Request, uri: str) -> Answer:
    """Answer that a thing was deleted for good."""
    return document(context, request, tombstone_of(uri), public=True, status=410)


def _headers(context: HttpContext, request: Request, *, public: bool) -> Headers:
    """Return the headers for caches. What a signed request gets depends on its actor, also where all of it is public.

    A blocked actor is shown fewer public things, for example. So a cache keeps only what an unsigned request got, and
    gives that to unsigned requests alone.
    """
    shared = public and not is_signed(request) and not demands_signatures(context)
    return (FOR_A_MOMENT if shared else FOR_NO_CACHE, BY_SIGNATURE)
