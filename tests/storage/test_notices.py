"""Who hears of an act of staff: the running server, when the act is committed."""

import asyncio
from typing import Any, cast

import pytest

from troupe.actors.commands import blocked_domains as domains
from troupe.actors.commands import blocked_networks as networks
from troupe.actors.commands import custom_emojis as emojis
from troupe.actors.commands.blocked_domains import DomainTerms
from troupe.actors.commands.blocked_networks import NetworkTerms
from troupe.actors.commands.changed_settings import NOTICES, ChangeSetting, change_setting
from troupe.actors.commands.custom_emojis import EmojiChanges, EmojiFiles, NewEmoji
from troupe.actors.facts.fact import promises_with
from troupe.actors.kept.custom_emojis import NOTICE as EMOJIS
from troupe.actors.kernel import Address, Refused
from troupe.actors.memory.server_blocks import NOTICE as BLOCKS
from troupe.actors.staff.acts import COMMAND_LINE, StaffAct
from troupe.storage.engine.connect import run
from troupe.storage.engine.notices import CHANNEL

from .conftest import Stage, act_of, session, transaction


async def _block_domain(act: StaffAct) -> int:
    message = domains.ImposeDomainBlock(COMMAND_LINE, "bad.example", DomainTerms("silence"))
    imposed = await domains.impose(act, message)
    assert isinstance(imposed, domains.ImposedBlock)
    return imposed.block.id


async def _block_network(act: StaffAct) -> int:
    message = networks.BlockNetwork(COMMAND_LINE, "192.0.2.0/24", NetworkTerms(severity="no_access"))
    made = await networks.block(act, message)
    assert isinstance(made, networks.BlockedNetwork)
    return made.id


async def _allow_domain(act: StaffAct) -> int:
    made = await domains.allow(act, domains.AllowDomain(COMMAND_LINE, "good.example"))
    assert isinstance(made, domains.AllowedDomain)
    return made.id


async def _add_emoji(act: StaffAct) -> int:
    added = await emojis.add_many(act, [NewEmoji("cat", EmojiFiles("a.png", "a.png"))])
    assert not isinstance(added, Refused)
    return added[0].id


async def _choose_sign_ups(act: StaffAct) -> None:
    await change_setting(act, ChangeSetting(COMMAND_LINE, "registrations", "closed", "open"))


async def _suspend_domain(act: StaffAct, id: int) -> None:
    await domains.change(act, domains.ChangeDomainBlock(COMMAND_LINE, id, DomainTerms("suspend")))


async def _lift_domain(act: StaffAct, id: int) -> None:
    await domains.lift(act, domains.LiftDomainBlock(COMMAND_LINE, id))


async def _open_network(act: StaffAct, id: int) -> None:
    terms = NetworkTerms(severity="sign_up_block")
    await networks.change(act, networks.ChangeNetworkBlock(COMMAND_LINE, id, terms))


async def _unblock_network(act: StaffAct, id: int) -> None:
    await networks.unblock(act, networks.UnblockNetwork(COMMAND_LINE, id))


async def _disallow_domain(act: StaffAct, id: int) -> None:
    await domains.disallow(act, domains.DisallowDomain(COMMAND_LINE, id))


async def _disable_emoji(act: StaffAct, id: int) -> None:
    await emojis.change(act, emojis.ChangeEmoji(COMMAND_LINE, id, EmojiChanges(disabled=True)))


async def _remove_emoji(act: StaffAct, id: int) -> None:
    await emojis.remove(act, emojis.RemoveEmoji(COMMAND_LINE, id))


async def _choose_others(act: StaffAct, _: None) -> None:
    await change_setting(act, ChangeSetting(COMMAND_LINE, "registrations", None, "open"))


@pytest.mark.parametrize(
    ("make", "then", "notice"),
    [
        (_block_domain, _suspend_domain, BLOCKS),
        (_block_domain, _lift_domain, BLOCKS),
        (_block_network, _open_network, BLOCKS),
        (_block_network, _unblock_network, BLOCKS),
        (_allow_domain, _disallow_domain, BLOCKS),
        (_add_emoji, _disable_emoji, EMOJIS),
        (_add_emoji, _remove_emoji, EMOJIS),
        (_choose_sign_ups, _choose_others, NOTICES["registrations"]),
    ],
)
def test_the_server_hears_of_each_act_when_it_is_committed(stage: Stage, make: Any, then: Any, notice: str) -> None:
    """A commit whose connection was lost may end after the turn has read the rows again."""

    async def main() -> list[str]:
        heard = asyncio.Queue[str]()

        def hear(*told: Any) -> None:
            heard.put_nowait(told[-1])

        async with session(stage.dsn) as db, session(stage.dsn) as listening:
            await cast(Any, listening).add_listener(CHANNEL, hear)

            async def committed(work: Any, *args: int) -> tuple[Any, str]:
                async with transaction(db):
                    act = act_of(db)
                    done = await work(act, *args)
                    await act.write_promises()
                    assert heard.empty()
                async with asyncio.timeout(60):
                    first = await heard.get()
                    if act.promises or [*promises_with(act.facts, Address("account", "1"))]:
                        assert await heard.get() == "outbox"  # relays keep them
                    return done, first

            id, first = await committed(make)
            return [first, (await committed(then, id))[1]]

    assert run(main) == [notice, notice]
