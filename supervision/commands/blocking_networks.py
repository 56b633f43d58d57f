"""Blocks of networks, directly in the rows, for the commands."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from ...actors.commands.blocked_networks import KeptAddresses, NetworkTerms, change
from ...actors.commands.blocked_networks import block as insert
from ...actors.commands.blocked_networks import unblock as end
from ...actors.kernel.ids import Ids
from ...actors.rules.limits import BLOCK_COMMENT_CHARACTERS
from ...actors.rules.networks import network_of
from ...actors.staff import act_at_command_line
from ...http.entities.server_block import blocked_network_fields
from ...storage import blocked_networks
from ...storage.blocked_networks import BlockedNetwork
from ...storage.engine.database import Connection
from .acting import NotDone, WrongValue, allowed


async def listed(db: Connection, ids: Ids, now: datetime) -> list[dict[str, object]]:
    """Return all blocks, in the order of their networks."""
    return [blocked_network_fields(one) for one in await blocked_networks.find_all(db)]


async def block(
    db: Connection, written: str, terms: NetworkTerms, proxies: tuple[str, ...], ids: Ids, now: datetime
) -> str:
    """Block a network, or change its block. Return it as it is stored. `proxies` keep their access."""
    network = _checked(written)
    if len(terms.comment or "") > BLOCK_COMMENT_CHARACTERS:
        raise WrongValue(f"The comment has more than {BLOCK_COMMENT_CHARACTERS} characters.")
    act, existing, kept = act_at_command_line(ids, now), await _find(db, network), KeptAddresses(None, proxies)
    if existing is not None:
        allowed(await change(db, act, existing.id, terms, kept))
    else:
        severity = terms.severity or "no_access"
        allowed(await insert(db, act, network, replace(terms, severity=severity), kept))
    return network


async def unblock(db: Connection, written: str, ids: Ids, now: datetime) -> str:
    """End the block of a network. Return it as it is stored."""
    network = _checked(written)
    existing = await _find(db, network)
    if existing is None:
        raise NotDone(f"{network} is not blocked.")
    allowed(await end(db, act_at_command_line(ids, now), existing.id))
    return network


def _checked(written: str) -> str:
    network = network_of(written)
    if network is None:
        raise WrongValue(f"{written!r} is not an address or a network.")
    return str(network)


async def _find(db: Connection, network: str) -> BlockedNetwork | None:
    return next((one for one in await blocked_networks.find_all(db) if one.network == network), None)
