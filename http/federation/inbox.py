"""The inboxes, to which other servers deliver activities: the shared inbox, and an inbox for each user."""

from __future__ import annotations

from ...actors.activitypub.requests import SignatureRefused
from ...actors.activitypub.vocabulary import LARGEST_DOCUMENT, MalformedDocument, host_of
from ...actors.federation.reception import SenderSuspended, TooManyUnverified
from ...actors.rules.domains import registrable
from ...storage import accounts
from ..access import rates
from ..access.context import HttpContext, find_row
from ..answers.answer import Answer
from ..answers.errors import Forbidden, HttpError, Malformed, TooMany
from ..intake.request import Request
from ..router import api
from .readers import received


class NotSigned(HttpError):
    """Raised for a missing or invalid signature. Other servers expect no challenge."""

    status = 401


class EncodedBody(HttpError):
    """Raised for a body in an encoding such as gzip, because a few bytes could decompress to any size."""

    status = 415

    def __init__(self) -> None:
        super().__init__("The body has a Content-Encoding. Send it without one.")


@api.post("/inbox", body_limit=LARGEST_DOCUMENT)
async def receive(context: HttpContext, request: Request) -> Answer:
    return await _receive(context, request, None)


@api.post("/users/<name>/inbox", body_limit=LARGEST_DOCUMENT)
async def receive_for(context: HttpContext, request: Request, name: str) -> Answer:
    account = await find_row(context, accounts.find_by_acct, name, None)
    return await _receive(context, request, account.username)


async def _receive(context: HttpContext, request: Request, recipient: str | None) -> Answer:
    """Store an activity. It is processed later, so the answer is empty.

    Any content type is accepted: some servers send `application/json`, or none.
    """
    if (request.joined_header(b"content-encoding") or "identity").strip().lower() != "identity":
        raise EncodedBody
    body = await request.raw_body(LARGEST_DOCUMENT)

    def count(signer: str) -> None:
        context.limits.count_for_host(registrable(host_of(signer) or ""), rates.ACTIVITIES)

    try:
        await context.reception.take(received(context, request, body), recipient, count, request.origin)
    except MalformedDocument as error:
        raise Malformed(str(error)) from None
    except SignatureRefused as refusal:
        raise NotSigned(str(refusal)) from None
    except SenderSuspended:
        raise Forbidden from None
    except TooManyUnverified:
        raise TooMany from None
    return Answer(b"", 202)
