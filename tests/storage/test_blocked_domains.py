"""Server-wide blocks of domains: two acts at the same time."""

from troupe.storage import blocked_domains, server_blocks
from troupe.storage.blocked_domains import BlockedDomain
from troupe.storage.engine.database import Connection

from .conftest import Stage, new_id
from .racing import race


def test_an_act_on_blocks_sees_what_the_one_before_has_done(stage: Stage) -> None:
    def block(domain: str) -> BlockedDomain:
        return BlockedDomain(new_id(), domain, "suspend", False, False, None, None, False, stage.now)

    async def add(db: Connection, made: BlockedDomain) -> list[str]:
        before = await blocked_domains.lock(db)
        await server_blocks.insert(db, made)
        return [one.domain for one in before]

    first, second = block("bad.example"), block("sub.bad.example")
    assert race(stage, lambda db: add(db, first), lambda db: add(db, second)) == [[], ["bad.example"]]
