"""Sign-up, through an app or on the page: the checks of the form, the slow hash, the account's first turn."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass

import trio

from ...actors.commands.registration import SignUp
from ...actors.kernel import Address
from ...actors.rules import passwords
from ...actors.rules.complaints import Complaint
from ...actors.rules.languages import language_code
from ...actors.rules.mailboxes import mailbox_of
from ...actors.rules.registration import SignUpData, complaints, taken
from ...storage import invites, registration
from ...storage.oauth import NewToken
from ...storage.users import User
from ..addresses import network_subject_of
from ..answers.errors import Forbidden, TooMany
from ..intake.request import Request
from . import rates
from .context import HttpContext
from .emails import verdict_on

INVITE_CHARACTERS = 64

MakeToken = Callable[[int], NewToken]


async def valid_invite(context: HttpContext, code: str) -> str | None:
    """Return the code of an invite with which people can sign up now; None for others."""
    if not 0 < len(code) <= INVITE_CHARACTERS:
        return None
    is_valid = await context.database.read(invites.is_valid, code, context.clock.now())
    return code if is_valid else None


def is_open(context: HttpContext, invite: str | None) -> bool:
    """True if people can sign up, with or without an invite. Their addresses are confirmed by mail."""
    return context.sign_ups.rule != "closed" or (invite is not None and context.settings.sends_mail)


@dataclass(frozen=True, slots=True)
class CheckedForm:
    """All errors of a form. One without errors may need the approval of staff, under any setting of the server."""

    complaints: list[Complaint]
    needs_approval: bool = False
    invite: str | None = None


async def check(context: HttpContext, request: Request, form: SignUpData, invite: str | None) -> CheckedForm:
    """Check a form and its sender. Raises Forbidden if sign-ups from there are not allowed.

    A name that is free now may still be taken by another sign-up.
    """
    address = request.address(context.settings.trusted_proxies)
    severity = context.blocks.networks.severity_for(address, context.clock.now())
    if severity in ("sign_up_block", "no_access"):
        raise Forbidden("This action is not allowed")
    found = await _complaints_about(context, form, invite)
    mailbox = mailbox_of(form.email, context.settings.local_domain)
    if found or mailbox is None:
        return CheckedForm(found)
    # Last, and for forms without errors alone: it may ask other servers.
    verdict = await verdict_on(context, mailbox, address)
    needs_approval = verdict.needs_approval or severity == "sign_up_requires_approval"
    return CheckedForm([verdict.complaint] if verdict.complaint else [], needs_approval, invite)


async def _complaints_about(context: HttpContext, form: SignUpData, invite: str | None) -> list[Complaint]:
    settings = context.settings
    found = list(
        complaints(
            form,
            reason_required=context.sign_ups.reason_required and invite is None,
            reserved=settings.reserved_usernames,
            local_domain=settings.local_domain,
        )
    )
    mailbox = mailbox_of(form.email, settings.local_domain)
    wrong = {complaint.attribute for complaint in found}
    has = await context.database.read(registration.taken, form.username, mailbox or "")
    return [*found, *(taken(attribute) for attribute in has if attribute not in wrong)]


async def sign_up(
    context: HttpContext,
    request: Request,
    form: SignUpData,
    checked: CheckedForm,
    application_id: int | None = None,
    token: MakeToken | None = None,
) -> User:
    """Make the account of a form without errors. Raises Refused if another sign-up has taken the name."""
    mailbox = mailbox_of(form.email, context.settings.local_domain)
    if mailbox is None:
        raise ValueError("the form was not looked at")
    count_network(context, request)
    password_hash = await trio.to_thread.run_sync(passwords.hashed, form.password, limiter=context.passwords)
    id = context.ids.next()
    command = SignUp(
        form.username,
        mailbox,
        password_hash,
        language_code(form.locale),
        form.reason.strip() or None,
        (checked.invite is not None or context.sign_ups.rule == "open") and not checked.needs_approval,
        application_id,
        token(id) if token is not None else None,
        _ip(request.address(context.settings.trusted_proxies)),
        checked.invite,
    )
    return await context.runtime.ask(Address("account", str(id)), command, origin=request.origin)


def count_network(context: HttpContext, request: Request) -> None:
    """Count a sign-up for the network that it comes from. Raises TooMany."""
    if context.settings.rate_limits:
        network = network_subject_of(request.address(context.settings.trusted_proxies))
        standing = context.rates.count(rates.ACCOUNTS_OF_NETWORK, network, context.clock.now())
        if standing.exceeded:
            raise TooMany(standing.headers)


def count_mail(context: HttpContext, email: str) -> None:
    """Count a mail for its address, regardless of who asks for it. Raises TooMany."""
    if context.settings.rate_limits:
        standing = context.rates.count(rates.CONFIRMATIONS_OF_USER, email.casefold(), context.clock.now())
        if standing.exceeded:
            raise TooMany(standing.headers)


def _ip(address: str) -> str | None:
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return None
