"""The domains, networks and e-mail addresses that the server blocks, and the domains that it allows, for staff."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, timedelta
from typing import Annotated, TypeVar

from ...actors.commands.blocked_domains import (
    AllowDomain,
    ChangeDomainBlock,
    DisallowDomain,
    DomainTerms,
    ImposeDomainBlock,
    LiftDomainBlock,
)
from ...actors.commands.blocked_emails import BlockEmail, BlockEmailDomain, UnblockEmail, UnblockEmailDomain
from ...actors.commands.blocked_networks import (
    BlockNetwork,
    ChangeNetworkBlock,
    KeptAddresses,
    NetworkTerms,
    UnblockNetwork,
)
from ...actors.kernel import Message
from ...actors.rules.domains import mail_domain
from ...actors.rules.limits import BLOCK_COMMENT_CHARACTERS
from ...actors.rules.mailboxes import canonical_hash, is_mailbox, spelled
from ...actors.rules.networks import network_of
from ...actors.rules.roles import Permission
from ...actors.staff.acts import Staff
from ...storage import blocked_emails, server_blocks
from ...storage.blocked_domains import AllowedDomain, BlockedDomain, Severity
from ...storage.blocked_emails import BlockedEmail, BlockedEmailDomain
from ...storage.blocked_networks import BlockedNetwork, NetworkSeverity
from ...storage.server_blocks import ServerBlock
from ..access.authentication import Viewer
from ..access.context import HttpContext, find_row
from ..answers.answer import EMPTY, Answer, json
from ..answers.errors import invalid
from ..entities.server_block import (
    DAYS,
    allowed_domain_fields,
    blocked_domain_fields,
    blocked_email_domain_fields,
    blocked_email_fields,
    blocked_network_fields,
)
from ..intake.paging import Paged
from ..intake.parameters import (
    Choice,
    Domain,
    Flag,
    Given,
    Input,
    MaybeFlag,
    MaybeProse,
    MaybeSeconds,
    MaybeText,
    Text,
)
from ..intake.request import Request
from ..router import Declaration, api
from ..views.staff import listed, staff_of

R = TypeVar("R", bound=ServerBlock)

Fields = dict[str, object]

NOTHING = "0.0.0.0/32"  # the API blocks this if no address is given
LONGEST = 100 * 366 * 86_400  # seconds
HASH = re.compile(r"[0-9a-fA-F]{64}")


# Shared by all kinds -------------------------------------------------------------------------------------------------


def _declare(
    path: str,
    entity: str,
    permission: Permission,
    kind: type[R],
    render: Callable[[HttpContext, Sequence[R]], Awaitable[list[Fields]]],
    end: Callable[[Staff, int], Message[R] | Message[None]],
    ended: str = "{}",
) -> tuple[Declaration, Declaration]:
    """Declare the endpoints that list blocks, the newest first, show a block, and end a block by a command.

    `entity` is the type of a block in the API, `ended` the type of the answer to the end of one. Return the options of
    further endpoints, which read and which write.
    """
    noun = path.rpartition("/")[2]
    reading: Declaration = {"auth": "user", "scopes": (f"admin:read:{noun}",), "permission": permission}
    writing: Declaration = {"auth": "user", "scopes": (f"admin:write:{noun}",), "permission": permission}

    @api.get(path, **reading, returns=f"[{entity}]")
    async def show_all(context: HttpContext, request: Request, paged: Paged) -> Answer:
        rows, links = await listed(context, request, paged, server_blocks.page, kind)
        return json(await render(context, rows), headers=links)

    @api.get(f"{path}/<id>", **reading, returns=entity)
    async def show(context: HttpContext, id: int) -> Answer:
        found = await find_row(context, server_blocks.find, kind, id)
        return json((await render(context, [found]))[0])

    @api.delete(f"{path}/<id>", **writing, returns=ended)
    async def remove(context: HttpContext, viewer: Viewer, id: int) -> Answer:
        gone = await viewer.ask(end(await staff_of(context, viewer), id))
        return EMPTY if gone is None else json((await render(context, [gone]))[0])

    return reading, writing


def _each(fields: Callable[[R], Fields]) -> Callable[[HttpContext, Sequence[R]], Awaitable[list[Fields]]]:
    async def render(context: HttpContext, rows: Sequence[R]) -> list[Fields]:
        return [fields(row) for row in rows]

    return render


# Blocked domains -----------------------------------------------------------------------------------------------------

DOMAINS = "/api/v1/admin/domain_blocks"
_, WRITE_DOMAINS = _declare(
    DOMAINS,
    "Admin.DomainBlock",
    Permission.MANAGE_FEDERATION,
    BlockedDomain,
    _each(blocked_domain_fields),
    LiftDomainBlock,
)


class DomainBlockParameters(Input):
    """The terms of a block. A parameter that is not sent keeps its value."""

    severity: Annotated[Severity | None, Choice] = None
    reject_media: MaybeFlag = None
    reject_reports: MaybeFlag = None
    private_comment: MaybeProse = None
    public_comment: MaybeProse = None
    obfuscate: MaybeFlag = None

    def terms(self) -> DomainTerms:
        comments = {"Private": self.private_comment, "Public": self.public_comment}
        if wrong := [
            f"{name} comment is too long (maximum is {BLOCK_COMMENT_CHARACTERS} characters)"
            for name, text in comments.items()
            if text and len(text) > BLOCK_COMMENT_CHARACTERS
        ]:
            raise invalid(*wrong)
        return DomainTerms(
            self.severity, self.reject_media, self.reject_reports, self.private_comment, self.public_comment,
            self.obfuscate,
        )  # fmt: skip


class NewDomainBlock(Domain, DomainBlockParameters):
    """A block to make."""


@api.post(DOMAINS, **WRITE_DOMAINS, returns="Admin.DomainBlock")
async def block_domain(context: HttpContext, viewer: Viewer, wanted: NewDomainBlock) -> Answer:
    """Block a domain. If a stricter block of the domain or of a parent domain exists, 422 with that block."""
    message = ImposeDomainBlock(await staff_of(context, viewer), wanted.name(), wanted.terms())
    imposed = await viewer.ask(message)
    fields = blocked_domain_fields(imposed.block)
    if imposed.is_new:
        return json(fields)
    text = f"You have already imposed stricter limits on {imposed.block.domain}."
    return json({"error": text, "existing_domain_block": fields}, 422)


@api.put(f"{DOMAINS}/<id>", **WRITE_DOMAINS, returns="Admin.DomainBlock")
async def change_domain(context: HttpContext, viewer: Viewer, id: int, wanted: DomainBlockParameters) -> Answer:
    message = ChangeDomainBlock(await staff_of(context, viewer), id, wanted.terms())
    return json(blocked_domain_fields(await viewer.ask(message)))


# Allowed domains -----------------------------------------------------------------------------------------------------

ALLOWED = "/api/v1/admin/domain_allows"
_, WRITE_ALLOWED = _declare(
    ALLOWED,
    "Admin.DomainAllow",
    Permission.MANAGE_FEDERATION,
    AllowedDomain,
    _each(allowed_domain_fields),
    DisallowDomain,
    "Admin.DomainAllow",
)


@api.post(ALLOWED, **WRITE_ALLOWED, returns="Admin.DomainAllow")
async def allow(context: HttpContext, viewer: Viewer, domain: Domain) -> Answer:
    message = AllowDomain(await staff_of(context, viewer), domain.name())
    return json(allowed_domain_fields(await viewer.ask(message)))


# Networks ------------------------------------------------------------------------------------------------------------

NETWORKS = "/api/v1/admin/ip_blocks"
_, WRITE_NETWORKS = _declare(
    NETWORKS, "Admin.IpBlock", Permission.MANAGE_BLOCKS, BlockedNetwork, _each(blocked_network_fields), UnblockNetwork
)


class NetworkBlockParameters(Input):
    """The terms of a block. A parameter that is not sent keeps its value."""

    ip: MaybeText = None
    severity: Annotated[NetworkSeverity | None, Choice] = None
    comment: MaybeProse = None
    expires_in: MaybeSeconds = None

    def terms(self) -> NetworkTerms:
        if self.comment and len(self.comment) > BLOCK_COMMENT_CHARACTERS:
            raise invalid(f"Comment is too long (maximum is {BLOCK_COMMENT_CHARACTERS} characters)")
        if self.expires_in is not None and self.expires_in > LONGEST:
            raise invalid("Expires in is too long")
        return NetworkTerms(self._network(), self.severity, self.comment, self._seconds())

    def _network(self) -> str | None:
        """Return the network as it is stored. Raises 422."""
        if not self.ip:
            return None
        network = network_of(self.ip)
        if network is None:
            raise invalid("Ip is invalid")
        return str(network)

    def _seconds(self) -> int | None:
        """Return the seconds; 0, which means never, for an empty parameter; None for a missing parameter."""
        return self.expires_in or (0 if "expires_in" in self.model_fields_set else None)


@api.post(NETWORKS, **WRITE_NETWORKS, returns="Admin.IpBlock")
async def block_network(
    context: HttpContext, request: Request, viewer: Viewer, wanted: NetworkBlockParameters
) -> Answer:
    terms = wanted.terms()
    network = terms.network or NOTHING
    message = BlockNetwork(await staff_of(context, viewer), network, terms, kept_addresses(context, request))
    return json(blocked_network_fields(await viewer.ask(message)))


@api.put(f"{NETWORKS}/<id>", **WRITE_NETWORKS, returns="Admin.IpBlock")
async def change_network(
    context: HttpContext, request: Request, viewer: Viewer, id: int, wanted: NetworkBlockParameters
) -> Answer:
    kept = kept_addresses(context, request)
    message = ChangeNetworkBlock(await staff_of(context, viewer), id, wanted.terms(), kept)
    return json(blocked_network_fields(await viewer.ask(message)))


def kept_addresses(context: HttpContext, request: Request) -> KeptAddresses:
    """Return the addresses that a new block must not include: of the client and of trusted proxies."""
    proxies = context.settings.trusted_proxies
    return KeptAddresses(request.address(proxies), tuple(str(network) for network in proxies))


# E-mail addresses, as hashes of their canonical form -----------------------------------------------------------------

EMAILS = "/api/v1/admin/canonical_email_blocks"
READ_EMAILS, WRITE_EMAILS = _declare(
    EMAILS,
    "Admin.CanonicalEmailBlock",
    Permission.MANAGE_BLOCKS,
    BlockedEmail,
    _each(blocked_email_fields),
    UnblockEmail,
)


class TestedEmail(Input):
    email: Given


class EmailToBlock(Input):
    email: Text = ""
    canonical_email_hash: Text = ""

    def hash(self) -> bytes:
        """Return the hash of the address, or else the given hash. Raises 422."""
        if self.email.strip():
            return hash_of(self.email)
        if not self.canonical_email_hash:
            raise invalid("Canonical email hash can't be blank")
        if not HASH.fullmatch(self.canonical_email_hash):
            raise invalid("Canonical email hash is invalid")
        return bytes.fromhex(self.canonical_email_hash)


def hash_of(email: str) -> bytes:
    """Return the hash of an address. Its domain need not exist."""
    if not is_mailbox(spelled(email)):
        raise invalid("Email is invalid")
    return canonical_hash(email)


@api.post(f"{EMAILS}/test", **READ_EMAILS, returns="[Admin.CanonicalEmailBlock]")
async def test_email(context: HttpContext, tested: TestedEmail) -> Answer:
    """The block of an e-mail address, in a list; an empty list if it is not blocked."""
    found = await context.database.read(server_blocks.find_by_key, BlockedEmail, hash_of(tested.email))
    return json([] if found is None else [blocked_email_fields(found)])


@api.post(EMAILS, **WRITE_EMAILS, returns="Admin.CanonicalEmailBlock")
async def block_email(context: HttpContext, viewer: Viewer, wanted: EmailToBlock) -> Answer:
    message = BlockEmail(await staff_of(context, viewer), wanted.hash())
    return json(blocked_email_fields(await viewer.ask(message)))


# Domains of e-mail addresses -----------------------------------------------------------------------------------------


async def _with_history(context: HttpContext, rows: Sequence[BlockedEmailDomain]) -> list[Fields]:
    """Return blocks with the attempts of the last days."""
    today = context.clock.now().astimezone(UTC).date()
    since = today - timedelta(days=DAYS - 1)
    history = await context.database.read(blocked_emails.history, [row.id for row in rows], since)
    return [blocked_email_domain_fields(row, history, today) for row in rows]


EMAIL_DOMAINS = "/api/v1/admin/email_domain_blocks"
_, WRITE_EMAIL_DOMAINS = _declare(
    EMAIL_DOMAINS,
    "Admin.EmailDomainBlock",
    Permission.MANAGE_BLOCKS,
    BlockedEmailDomain,
    _with_history,
    UnblockEmailDomain,
)


class EmailDomain(Input):
    domain: Text = ""
    allow_with_approval: Flag = False

    def name(self) -> str:
        """Return the domain as it is stored. Raises 422."""
        if not self.domain.strip():
            raise invalid("Domain can't be blank")
        name = mail_domain(self.domain)
        if name is None:
            raise invalid("Domain is invalid", "Domain is not a valid domain name")
        return name


@api.post(EMAIL_DOMAINS, **WRITE_EMAIL_DOMAINS, returns="Admin.EmailDomainBlock")
async def block_email_domain(context: HttpContext, viewer: Viewer, wanted: EmailDomain) -> Answer:
    message = BlockEmailDomain(await staff_of(context, viewer), wanted.name(), wanted.allow_with_approval)
    return json((await _with_history(context, [await viewer.ask(message)]))[0])
