"""Acts of staff on the networks that the server keeps out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ...storage import blocked_networks, server_blocks
from ...storage.blocked_networks import BlockedNetwork, NetworkSeverity
from ..kernel import Command, Refused
from ..memory.server_blocks import NOTICE
from ..refusals import NOT_FOUND
from ..rules.networks import covers, is_of_this_machine
from ..rules.roles import Permission
from ..staff.acts import Staff, StaffAct, Target, act, blocks_in

TAKEN = Refused(422, "Validation failed: Ip has already been taken")
NO_SEVERITY = Refused(422, "Validation failed: Severity can't be blank")
THIS_MACHINE = Refused(422, "Validation failed: Ip is of this machine, which is never blocked")
OWN_ADDRESS = Refused(422, "Validation failed: Ip is your own")
OWN_PROXY = Refused(422, "Validation failed: Ip is that of a trusted proxy of this server")


@dataclass(frozen=True, slots=True)
class KeptAddresses:
    """The addresses that keep their access: that of the person who blocks, if it is known, and the trusted proxies."""

    own: str | None = None
    proxies: tuple[str, ...] = ()


NONE_KEPT = KeptAddresses()


@dataclass(frozen=True, slots=True)
class NetworkTerms:
    """The terms of a block of a network. None: not said, so that it stays as it is. `expires_in` 0 means never."""

    network: str | None = None
    severity: NetworkSeverity | None = None
    comment: str | None = None
    expires_in: int | None = None

    def of(self, block: BlockedNetwork, now: datetime) -> BlockedNetwork:
        """Return a block with these terms."""
        return replace(
            block,
            network=block.network if self.network is None else self.network,
            severity=block.severity if self.severity is None else self.severity,
            comment=block.comment if self.comment is None else self.comment,
            expires_at=block.expires_at if self.expires_in is None else _end(self.expires_in, now),
        )


@dataclass(frozen=True, slots=True)
class BlockNetwork(Command[BlockedNetwork]):
    """Command of staff: block a network."""

    staff: Staff
    network: str
    terms: NetworkTerms
    kept: KeptAddresses = NONE_KEPT


@dataclass(frozen=True, slots=True)
class ChangeNetworkBlock(Command[BlockedNetwork]):
    """Command of staff: change a block of a network."""

    staff: Staff
    id: int
    terms: NetworkTerms
    kept: KeptAddresses = NONE_KEPT


@dataclass(frozen=True, slots=True)
class UnblockNetwork(Command[None]):
    """Command of staff: end a block of a network."""

    staff: Staff
    id: int


@act(BlockNetwork, Permission.MANAGE_BLOCKS, blocks_in)
async def block(act: StaffAct, message: BlockNetwork) -> BlockedNetwork | Refused:
    terms = message.terms
    if terms.severity is None:
        return NO_SEVERITY
    made = terms.of(BlockedNetwork(act.ids.next(), message.network, terms.severity, "", act.now, None), act.now)
    if (refused := _refusal(made, message.kept)) is not None:
        return refused
    if not await server_blocks.insert(act.db, made):
        return TAKEN
    await _record(act, "block_network", made)
    return made


@act(ChangeNetworkBlock, Permission.MANAGE_BLOCKS, blocks_in)
async def change(act: StaffAct, message: ChangeNetworkBlock) -> BlockedNetwork | Refused:
    found = await blocked_networks.lock(act.db, message.id)
    if found is None:
        return NOT_FOUND
    changed = message.terms.of(found, act.now)
    if (refused := _refusal(changed, message.kept)) is not None:
        return refused
    if not await blocked_networks.update(act.db, changed):
        return TAKEN
    await _record(act, "change_network_block", changed)
    return changed


@act(UnblockNetwork, Permission.MANAGE_BLOCKS, blocks_in)
async def unblock(act: StaffAct, message: UnblockNetwork) -> Refused | None:
    gone = await server_blocks.delete(act.db, BlockedNetwork, message.id)
    if gone is None:
        return NOT_FOUND
    await _record(act, "unblock_network", gone)
    return None


def _refusal(block: BlockedNetwork, kept: KeptAddresses) -> Refused | None:
    """Return the refusal of a block that would have no effect, or shut out who could end it."""
    if is_of_this_machine(block.network):
        return THIS_MACHINE
    if block.severity != "no_access":
        return None
    if kept.own is not None and covers(block.network, kept.own):
        return OWN_ADDRESS
    return OWN_PROXY if any(covers(block.network, proxy) for proxy in kept.proxies) else None


async def _record(act: StaffAct, action: str, block: BlockedNetwork) -> None:
    """Write an act into the audit log, and have the blocks read again when it is committed."""
    await act.reload(NOTICE)
    await act.log(action, Target("ip_block", block.id, block.network), block.comment, severity=block.severity)


def _end(seconds: int, now: datetime) -> datetime | None:
    return now + timedelta(seconds=seconds) if seconds else None
