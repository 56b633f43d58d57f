"""Sign-up, through an app or on the page: the checks of the form and the e-mail address, and the new account."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC
from functools import cache

import trio

from ...actors.commands.registration import SignUp
from ...actors.kernel import Address
from ...actors.rules import passwords
from ...actors.rules.complaints import Complaint
from ...actors.rules.domains import with_parents
from ...actors.rules.languages import language_code
from ...actors.rules.mailboxes import canonical_hash, is_inside, mailbox_of
from ...actors.rules.registration import SignUpData, blocked, complaints, taken, unreachable
from ...storage import blocked_emails, invites, registration, server_blocks
from ...storage.blocked_emails import BlockedEmail
from ...storage.oauth import NewToken
from ...storage.users import User
from ..access.context import HttpContext
from ..answers.errors import Forbidden
from ..intake.request import Request
from ..server.addresses import network_subject_of, subject_of

INVITE_CHARACTERS = 64

MakeToken = Callable[[int], NewToken]


async def valid_invite(context: HttpContext, code: str) -> str | None:
    """Return the code if it belongs to a valid invite, else None."""
    if not 0 < len(code) <= INVITE_CHARACTERS:
        return None
    is_valid = await context.database.read(invites.is_valid, code, context.clock.now())
    return code if is_valid else None


def is_open(context: HttpContext, invite: str | None) -> bool:
    """True if people can sign up, with or without an invite. An invite needs a mail server, for the confirmation."""
    return context.sign_ups.rule != "closed" or (invite is not None and context.settings.sends_mail)


@dataclass(frozen=True, slots=True)
class CheckedForm:
    """All errors of a form. A valid form may need the approval of staff, whatever the rule for sign-ups is."""

    complaints: list[Complaint]
    needs_approval: bool = False
    invite: str | None = None


async def check(context: HttpContext, request: Request, form: SignUpData, invite: str | None) -> CheckedForm:
    """Check a form and its sender. Raises Forbidden if the sender's network may not sign up.

    Another sign-up may still take a name that is free now.
    """
    address = request.address(context.settings.trusted_proxies)
    severity = context.blocks.networks.severity_for(address, context.clock.now())
    if severity in ("sign_up_block", "no_access"):
        raise Forbidden("This action is not allowed")
    found = await _complaints_about(context, form, invite)
    mailbox = mailbox_of(form.email, context.settings.local_domain)
    if found or mailbox is None:
        return CheckedForm(found)
    # Last, and only for forms without errors, because it may send requests to other servers.
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
    """Create the account of a valid form. Raises Refused if another sign-up has taken the name."""
    mailbox = mailbox_of(form.email, context.settings.local_domain)
    if mailbox is None:
        raise ValueError("the form was not checked")
    await context.limits.count_sign_up(request)
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


def _ip(address: str) -> str | None:
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class EmailVerdict:
    """The result of the checks of an address: an error, or possibly the need for an approval by staff."""

    complaint: Complaint | None = None
    needs_approval: bool = False


async def verdict_on(context: HttpContext, mailbox: str, client: str) -> EmailVerdict:
    """Check an address for a client, as `mailbox_of` returns it.

    The checks are the blocks of staff, the list of providers of disposable addresses, and the DNS.
    """
    domain = mailbox.rpartition("@")[2]
    if context.blocks.domains.standing_of(domain).suspended:
        return EmailVerdict(blocked())
    if context.settings.disposable_emails == "refused" and is_disposable(domain):
        return EmailVerdict(blocked())
    if await context.database.read(server_blocks.find_by_key, BlockedEmail, canonical_hash(mailbox)) is not None:
        return EmailVerdict(taken("email"))  # this error does not reveal the block to the owner of the address
    servers = await _servers_of(context, domain, client)
    if servers == ():
        return EmailVerdict(unreachable())
    return await _blocked_by_domain(context, (domain, *(servers or ())), client)


async def _servers_of(context: HttpContext, domain: str, client: str) -> tuple[str, ...] | None:
    """Return the mail servers of a domain; None if they are unknown, or the check is off."""
    if not context.settings.check_email_domains or is_inside(context.settings.local_domain):
        return None
    return (await context.mail_servers(domain, network_subject_of(client))).names


async def _blocked_by_domain(context: HttpContext, names: tuple[str, ...], client: str) -> EmailVerdict:
    """Check the domain of an address and its mail servers for blocks of e-mail domains. Attempts are counted."""
    wanted = list(dict.fromkeys(domain for name in names for domain in with_parents(name)))
    found = await context.database.read(blocked_emails.find_among, wanted)
    if not found:
        return EmailVerdict()
    today, network = context.clock.now().astimezone(UTC).date(), subject_of(client)[:64]
    ids = [block.id for block in found]
    await context.database.transact(blocked_emails.count, ids, today, network)
    if all(block.allow_with_approval for block in found):
        return EmailVerdict(needs_approval=True)
    return EmailVerdict(blocked())


def is_disposable(domain: str) -> bool:
    """True if the domain belongs to a provider of disposable addresses."""
    return any(name in _disposable() for name in with_parents(domain))


@cache
def _disposable() -> frozenset[str]:
    from disposable_email_domains import blocklist  # late: the first sign-up takes 2 ms, 1.4 MiB

    return frozenset(blocklist)
