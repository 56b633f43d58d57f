"""The networks that the server keeps out, or keeps from signing up."""

from __future__ import annotations

from typing import Annotated

from ...actors.commands.blocked_networks import (
    BlockNetwork,
    ChangeNetworkBlock,
    KeptAddresses,
    NetworkTerms,
    UnblockNetwork,
)
from ...actors.rules.limits import BLOCK_COMMENT_CHARACTERS
from ...actors.rules.networks import network_of
from ...actors.rules.roles import Permission
from ...storage import blocked_networks
from ...storage.blocked_networks import NetworkSeverity
from ..access.authentication import Viewer
from ..access.context import HttpContext, find_row
from ..answers.answer import EMPTY, Answer, json
from ..answers.errors import invalid
from ..entities.server_block import blocked_network_fields
from ..intake.paging import Paged
from ..intake.parameters import Choice, Input, MaybeProse, MaybeSeconds, MaybeText
from ..intake.request import Request
from ..router import api
from ..views.staff import page_of_rows, staff_of

READ = ("admin:read:ip_blocks",)
WRITE = ("admin:write:ip_blocks",)
PERMISSION = Permission.MANAGE_BLOCKS
NOTHING = "0.0.0.0/32"  # what the API blocks when no address is given
LONGEST = 100 * 366 * 86_400  # seconds


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
        """The network as it is stored."""
        if not self.ip:
            return None
        network = network_of(self.ip)
        if network is None:
            raise invalid("Ip is invalid")
        return str(network)

    def _seconds(self) -> int | None:
        """0, for never, if the parameter was sent without a value."""
        return self.expires_in or (0 if "expires_in" in self.model_fields_set else None)


@api.get("/api/v1/admin/ip_blocks", auth="user", scopes=READ, permission=PERMISSION)
async def show_all(context: HttpContext, request: Request, paged: Paged) -> Answer:
    return await page_of_rows(context, request, paged, blocked_networks.page, blocked_network_fields)


@api.get("/api/v1/admin/ip_blocks/<id>", auth="user", scopes=READ, permission=PERMISSION)
async def show(context: HttpContext, id: int) -> Answer:
    return json(blocked_network_fields(await find_row(context, blocked_networks.find, id)))


@api.post("/api/v1/admin/ip_blocks", auth="user", scopes=WRITE, permission=PERMISSION)
async def block(context: HttpContext, request: Request, viewer: Viewer, wanted: NetworkBlockParameters) -> Answer:
    terms = wanted.terms()
    network = terms.network or NOTHING
    message = BlockNetwork(await staff_of(context, viewer), network, terms, kept_addresses(context, request))
    return json(blocked_network_fields(await viewer.ask(message)))


@api.put("/api/v1/admin/ip_blocks/<id>", auth="user", scopes=WRITE, permission=PERMISSION)
async def change(
    context: HttpContext, request: Request, viewer: Viewer, id: int, wanted: NetworkBlockParameters
) -> Answer:
    kept = kept_addresses(context, request)
    message = ChangeNetworkBlock(await staff_of(context, viewer), id, wanted.terms(), kept)
    return json(blocked_network_fields(await viewer.ask(message)))


@api.delete("/api/v1/admin/ip_blocks/<id>", auth="user", scopes=WRITE, permission=PERMISSION)
async def unblock(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(UnblockNetwork(await staff_of(context, viewer), id))
    return EMPTY


def kept_addresses(context: HttpContext, request: Request) -> KeptAddresses:
    """Return the addresses that a block by this request must not shut out."""
    proxies = context.settings.trusted_proxies
    return KeptAddresses(request.address(proxies), tuple(str(network) for network in proxies))
