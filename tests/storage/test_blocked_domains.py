"""Server-wide blocks: two acts at the same time, and who hears of an act."""

import asyncio
from typing import Any, cast

import pytest

from troupe.actors.commands import allowed_domains as allowances
from troupe.actors.commands import blocked_domains as domains
from troupe.actors.commands import blocked_networks as networks
from troupe.actors.commands.blocked_domains import DomainTerms
from troupe.actors.commands.blocked_networks import NetworkTerms
from troupe.actors.server_blocks import NOTICE
from troupe.actors.staff import StaffAct, act_at_command_line
from troupe.storage import blocked_domains
from troupe.storage.blocked_domains import BlockedDomain
from troupe.storage.engine.connect import run
from troupe.storage.engine.database import Connection
from troupe.storage.engine.notices import CHANNEL

from .conftest import NOW, Stage, new_id, session, transaction
from .racing import race


def test_an_act_on_blocks_sees_what_the_one_before_has_done(stage: Stage) -> None:
    def block(domain: str) -> BlockedDomain:
        return BlockedDomain(new_id(), domain, "suspend", False, False, None, None, False, stage.now)

    async def add(db: Connection, made: BlockedDomain) -> list[str]:
        before = await blocked_domains.lock(db)
        await blocked_domains.insert(db, made)
        return [one.domain for one in before]

    first, second = block("bad.example"), block("sub.bad.example")
    assert race(stage, lambda db: add(db, first), lambda db: add(db, second)) == [[], ["bad.example"]]


class _Ids:
    def next(self) -> int:
        return new_id()


async def _block_domain(db: Connection, act: StaffAct) -> int:
    imposed = await domains.impose(db, act, "bad.example", DomainTerms("silence"))
    assert isinstance(imposed, domains.ImposedBlock)
    return imposed.block.id


async def _block_network(db: Connection, act: StaffAct) -> int:
    made = await networks.block(db, act, "192.0.2.0/24", NetworkTerms(severity="no_access"))
    assert isinstance(made, networks.BlockedNetwork)
    return made.id


async def _allow_domain(db: Connection, act: StaffAct) -> int:
    made = await allowances.allow(db, act, "good.example")
    assert isinstance(made, allowances.AllowedDomain)
    return made.id


@pytest.mark.parametrize(
    ("make", "then"),
    [
        (_block_domain, lambda db, act, id: domains.change(db, act, id, DomainTerms("suspend"))),
        (_block_domain, domains.lift),
        (_block_network, lambda db, act, id: networks.change(db, act, id, NetworkTerms(severity="sign_up_block"))),
        (_block_network, networks.unblock),
        (_allow_domain, allowances.disallow),
    ],
)
def test_the_server_hears_of_each_act_when_it_is_committed(stage: Stage, make: Any, then: Any) -> None:
    """A commit whose connection was lost may end after the turn has read the blocks again."""

    async def main() -> list[str]:
        heard = asyncio.Queue[str]()
        async with session(stage.dsn) as db, session(stage.dsn) as server:
            await cast(Any, server).add_listener(CHANNEL, lambda *said: heard.put_nowait(said[-1]))
            act = act_at_command_line(cast(Any, _Ids()), NOW)

            async def committed(work: Any, *args: int) -> tuple[Any, str]:
                async with transaction(db):
                    done = await work(db, act, *args)
                    assert heard.empty()
                async with asyncio.timeout(60):
                    return done, await heard.get()

            id, first = await committed(make)
            return [first, (await committed(then, id))[1]]

    assert run(main) == [NOTICE, NOTICE]
