"""The pages of blocked networks and network addresses."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from ...actors.commands.blocked_networks import BlockNetwork, ChangeNetworkBlock, NetworkTerms, UnblockNetwork
from ...actors.kernel import Refused
from ...actors.rules.limits import BLOCK_COMMENT_CHARACTERS
from ...actors.rules.roles import Permission
from ...storage import server_blocks
from ...storage.blocked_networks import BlockedNetwork
from ..access.context import find_row
from ..admin.server_blocks import NetworkBlockParameters, kept_addresses
from ..answers.answer import Answer
from ..intake.parameters import Choice
from .member import StaffForm, StaffMember
from .staff_page import Facts, ListQuery, StaffPage, listed

PATH = "/admin/networks"
DAY = 86_400  # seconds
SEVERITIES = [
    ("sign_up_requires_approval", "Sign-ups wait for approval"),
    ("sign_up_block", "No sign-ups"),
    ("no_access", "No access at all"),
]
# Seconds until the end. None: unchanged; 0: never.
ENDS = {"kept": None, "never": 0, "day": DAY, "week": 7 * DAY, "month": 30 * DAY, "year": 365 * DAY}
END_WORDS = [
    ("never", "Never"),
    ("day", "In a day"),
    ("week", "In a week"),
    ("month", "In a month"),
    ("year", "In a year"),
]
DONE = {
    "blocked": "The network is blocked.",
    "changed": "The block was changed.",
    "unblocked": "The block is ended.",
}
NETWORKS = StaffPage(PATH, Permission.MANAGE_BLOCKS, DONE)
NETWORK = StaffPage(f"{PATH}/<id>", Permission.MANAGE_BLOCKS)


class NetworkForm(StaffForm, NetworkBlockParameters):
    """A new block, or changes of a block."""

    ends: Annotated[Literal["kept", "never", "day", "week", "month", "year"], Choice] = "kept"

    def wanted(self) -> NetworkTerms:
        """Return the terms. Raises HttpError if they are invalid."""
        return replace(self.terms(), expires_in=ENDS[self.ends])


@NETWORKS.get("networks.html")
async def show(me: StaffMember, wanted: ListQuery) -> Facts:
    """Show the blocks, the newest first, and the form that adds a block."""
    found, links = await listed(me, wanted, server_blocks.page, BlockedNetwork)
    now = me.context.clock.now()
    return {
        "typed": NetworkForm(),
        "severities": SEVERITIES,
        "severity_words": dict(SEVERITIES),
        "ends": END_WORDS,
        "most": BLOCK_COMMENT_CHARACTERS,
        "blocks": [(block, block.expires_at is not None and block.expires_at <= now) for block in found],
        "page_links": links,
    }


@NETWORKS.post(typed="typed")
async def block(me: StaffMember, posted: NetworkForm) -> str:
    """Block a network, or a single address."""
    terms = posted.wanted()
    if terms.network is None:
        raise Refused(422, "Name an address or a network.")
    await me.ask(BlockNetwork(me.staff, terms.network, terms, kept_addresses(me.context, me.request)))
    return "blocked"


@NETWORKS.post("/<id>/unblock")
async def unblock(me: StaffMember, id: int, posted: StaffForm) -> str:
    """End a block."""
    await me.ask(UnblockNetwork(me.staff, id))
    return "unblocked"


@NETWORK.get("network.html")
async def show_one(me: StaffMember, id: int) -> Facts:
    """Show a block with the forms that change and end it."""
    return {
        "block": await find_row(me.context, server_blocks.find, BlockedNetwork, id),
        "severities": SEVERITIES,
        "ends": [("kept", "As it is"), *END_WORDS],
        "most": BLOCK_COMMENT_CHARACTERS,
    }


@NETWORK.post()
async def change(me: StaffMember, id: int, posted: NetworkForm) -> Answer:
    """Change a block."""
    await me.ask(ChangeNetworkBlock(me.staff, id, posted.wanted(), kept_addresses(me.context, me.request)))
    return NETWORKS.after("changed")
