"""The inboxes: where other servers deliver activities. One is shared by all users, and each user has one."""

from __future__ import annotations

from ...actors.activitypub.requests import ReceivedRequest, SignatureRefused
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


class NotSigned(HttpError):
    """A request whose signature does not hold. Other servers expect no challenge."""

    status = 401


class EncodedBody(HttpError):
    """A body in an encoding such as gzip. What it is of a few bytes could be any number."""

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
    """Store an activity. Nothing of what it does is in the answer. Its content type does not matter: some servers send
    `application/json`, or none."""
    if (request.header(b"content-encoding") or "identity").strip().lower() != "identity":
        raise EncodedBody
    body = await request.raw_body(LARGEST_DOCUMENT)
    path = request.path if not request.query_string else f"{request.path}?{request.query_string.decode('latin-1')}"

    def count(signer: str) -> None:
        context.limits.count_for_host(registrable(host_of(signer) or ""), rates.ACTIVITIES)

    received = ReceivedRequest("POST", context.settings.base_url, path, request.headers, body)
    try:
        await context.reception.take(received, recipient, count, request.origin)
    except MalformedDocument as error:
        raise Malformed(str(error)) from None
    except SignatureRefused as refusal:
        raise NotSigned(str(refusal)) from None
    except SenderSuspended:
        raise Forbidden from None
    except TooManyUnverified:
        raise TooMany from None
    return Answer(b"", 202)
