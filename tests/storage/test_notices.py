"""Who hears of an act of staff: the running server, when the act is committed."""

import asyncio
from typing import Any, cast

import pytest

from troupe.actors.changed_settings import NOTICES, change_setting
from troupe.actors.commands import allowed_domains as allowances
from troupe.actors.commands import blocked_domains as domains
from troupe.actors.commands import blocked_networks as networks
from troupe.actors.commands import custom_emojis as emojis
from troupe.actors.commands.blocked_domains import DomainTerms
from troupe.actors.commands.blocked_networks import NONE_KEPT, NetworkTerms
from troupe.actors.commands.custom_emojis import EmojiChanges, EmojiFiles, NewEmoji
from troupe.actors.custom_emojis import NOTICE as EMOJIS
from troupe.actors.kernel import Refused
from troupe.actors.rules.live_settings import LIVE_SETTINGS
from troupe.actors.server_blocks import NOTICE as BLOCKS
from troupe.actors.staff import StaffAct, act_at_command_line
from troupe.storage.engine.connect import run
from troupe.storage.engine.database import Connection
from troupe.storage.engine.notices import CHANNEL

from .conftest import NOW, Stage, new_id, session, transaction


class _Ids:
    def next(self) -> int:
        return new_id()


async def _block_domain(db: Connection, act: StaffAct) -> int:
    imposed = await domains.impose(db, act, "bad.example", DomainTerms("silence"), here="troupe.test")
    assert isinstance(imposed, domains.ImposedBlock)
    return imposed.block.id


async def _block_network(db: Connection, act: StaffAct) -> int:
    made = await networks.block(db, act, "192.0.2.0/24", NetworkTerms(severity="no_access"), NONE_KEPT)
    assert isinstance(made, networks.BlockedNetwork)
    return made.id


async def _allow_domain(db: Connection, act: StaffAct) -> int:
    made = await allowances.allow(db, act, "good.example", limited=True, here="troupe.test")
    assert isinstance(made, allowances.AllowedDomain)
    return made.id


async def _add_emoji(db: Connection, act: StaffAct) -> int:
    added = await emojis.add(db, act, [NewEmoji("cat", EmojiFiles("a.png", "a.png"))])
    assert not isinstance(added, Refused)
    return added[0].id


async def _choose_sign_ups(db: Connection, act: StaffAct) -> None:
    await change_setting(db, act, LIVE_SETTINGS["registrations"], "closed", "open")


async def _suspend_domain(db: Connection, act: StaffAct, id: int) -> None:
    await domains.change(db, act, id, DomainTerms("suspend"), here="troupe.test")


async def _open_network(db: Connection, act: StaffAct, id: int) -> None:
    await networks.change(db, act, id, NetworkTerms(severity="sign_up_block"), NONE_KEPT)


async def _disallow_domain(db: Connection, act: StaffAct, id: int) -> None:
    await allowances.disallow(db, act, id, limited=True)


async def _disable_emoji(db: Connection, act: StaffAct, id: int) -> None:
    await emojis.change(db, act, id, EmojiChanges(disabled=True))


async def _choose_others(db: Connection, act: StaffAct, _: None) -> None:
    await change_setting(db, act, LIVE_SETTINGS["registrations"], None, "open")


@pytest.mark.parametrize(
    ("make", "then", "notice"),
    [
        (_block_domain, _suspend_domain, BLOCKS),
        (_block_domain, domains.lift, BLOCKS),
        (_block_network, _open_network, BLOCKS),
        (_block_network, networks.unblock, BLOCKS),
        (_allow_domain, _disallow_domain, BLOCKS),
        (_add_emoji, _disable_emoji, EMOJIS),
        (_add_emoji, emojis.remove, EMOJIS),
        (_choose_sign_ups, _choose_others, NOTICES["registrations"]),
    ],
)
def test_the_server_hears_of_each_act_when_it_is_committed(stage: Stage, make: Any, then: Any, notice: str) -> None:
    """A commit whose connection was lost may end after the turn has read the rows again."""

    async def main() -> list[str]:
        heard = asyncio.Queue[str]()

        def hear(*told: Any) -> None:
            heard.put_nowait(told[-1])

        async with session(stage.dsn) as db, session(stage.dsn) as server:
            await cast(Any, server).add_listener(CHANNEL, hear)
            act = act_at_command_line(cast(Any, _Ids()), NOW)

            async def committed(work: Any, *args: int) -> tuple[Any, str]:
                async with transaction(db):
                    done = await work(db, act, *args)
                    assert heard.empty()
                async with asyncio.timeout(60):
                    return done, await heard.get()

            id, first = await committed(make)
            return [first, (await committed(then, id))[1]]

    assert run(main) == [notice, notice]
