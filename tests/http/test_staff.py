"""Every endpoint of staff, with every role: a permission that the role lacks is refused before anything is read.

The acts behind them ask again, by the row: a token may have been read before its role was taken away.
"""

from collections.abc import Callable

import pytest

from troupe.actors.broadcast.broadcast import account_address
from troupe.actors.commands.accounts import DeleteSuspendedNow
from troupe.actors.commands.blocked_domains import (
    AllowDomain,
    ChangeDomainBlock,
    DisallowDomain,
    DomainTerms,
    ImposeDomainBlock,
    LiftDomainBlock,
)
from troupe.actors.commands.blocked_emails import BlockEmail, BlockEmailDomain, UnblockEmail, UnblockEmailDomain
from troupe.actors.commands.blocked_networks import BlockNetwork, ChangeNetworkBlock, NetworkTerms, UnblockNetwork
from troupe.actors.commands.changed_settings import ChangeSetting, change_setting
from troupe.actors.commands.custom_emojis import (
    AddEmoji,
    ChangeEmoji,
    EmojiChanges,
    EmojiFiles,
    NewEmoji,
    RemoveEmoji,
)
from troupe.actors.commands.report_handling import AssignReport, ChangeReport, ReopenReport, ResolveReport
from troupe.actors.commands.trend_reviews import ChangeTag, ReviewTrend
from troupe.actors.kernel import Message, Origin, Refused
from troupe.actors.rules.roles import ROLES, may
from troupe.actors.staff.acts import OwnServer, Staff, StaffAct, run_act
from troupe.http.router import all_endpoints
from troupe.storage.engine.database import Connection

from ..clients import SCOPES, STAFF, Stage
from .stored import rows
from .strangers import MISSING, OUTSIDE, call, pointing

NOT_ALLOWED = (403, b'{"error":"This action is not allowed"}')
UNKNOWN = "103"


async def test_each_role_may_do_what_the_table_says(stage: Stage) -> None:
    tokens = {role: (await stage.person(role, STAFF, role=role)).token for role in ROLES}
    before = await rows(stage)
    for endpoint in all_endpoints():
        if endpoint.permission is None:
            continue
        for role, token in tokens.items():
            if not may(role, endpoint.permission):
                answer = await call(stage, endpoint, token, UNKNOWN)
                assert (answer.status, answer.body) == NOT_ALLOWED, f"{role}: {endpoint.method} {endpoint.path}"
    assert await rows(stage) == before


async def test_unknown_ids_are_missing_for_staff_too(stage: Stage) -> None:
    owner = await stage.person("owner", STAFF, role="owner")
    for endpoint in pointing():
        if endpoint.permission is not None:
            answer = await call(stage, endpoint, owner.token, UNKNOWN)
            assert (answer.status, answer.body) == MISSING, f"{endpoint.method} {endpoint.path}"


async def test_a_role_without_the_scope_opens_nothing(stage: Stage) -> None:
    token = (await stage.person("owner", SCOPES, role="owner")).token
    for endpoint in all_endpoints():
        if endpoint.permission is not None:
            answer = await call(stage, endpoint, token, UNKNOWN)
            assert (answer.status, answer.body) == OUTSIDE, f"{endpoint.method} {endpoint.path}"


async def test_every_path_of_staff_asks_for_a_permission() -> None:
    # The pages for staff, which have no tokens, are in `staff/test_permissions.py`.
    staff = [
        endpoint for endpoint in all_endpoints() if endpoint.path.startswith("/api/") and "/admin/" in endpoint.path
    ]
    assert [endpoint.path for endpoint in staff if endpoint.permission is None] == []
    assert [endpoint.path for endpoint in staff if not endpoint.scopes] == []


PICTURE = EmojiFiles("a.png", "a.png")
# The role that acts has no permission for any of these. The other rules would let it.
ACTS: list[tuple[str, Callable[[Staff], Message[object]]]] = [
    ("moderator", lambda staff: AddEmoji(staff, NewEmoji("cat", PICTURE))),
    ("moderator", lambda staff: ChangeEmoji(staff, 1, EmojiChanges())),
    ("moderator", lambda staff: RemoveEmoji(staff, 1)),
    ("user", lambda staff: AssignReport(staff, 1, staff.account_id)),
    ("user", lambda staff: ResolveReport(staff, 1)),
    ("user", lambda staff: ReopenReport(staff, 1)),
    ("user", lambda staff: ChangeReport(staff, 1)),
    ("user", lambda staff: ReviewTrend(staff, "publisher", "x.example", trendable=True)),
    ("user", lambda staff: ChangeTag(staff, 1)),
    ("moderator", lambda staff: ImposeDomainBlock(staff, "bad.example", DomainTerms("silence"))),
    ("moderator", lambda staff: ChangeDomainBlock(staff, 1, DomainTerms("silence"))),
    ("moderator", lambda staff: LiftDomainBlock(staff, 1)),
    ("moderator", lambda staff: AllowDomain(staff, "good.example")),
    ("moderator", lambda staff: DisallowDomain(staff, 1)),
    ("moderator", lambda staff: BlockNetwork(staff, "192.0.2.0/24", NetworkTerms(severity="no_access"))),
    ("moderator", lambda staff: ChangeNetworkBlock(staff, 1, NetworkTerms())),
    ("moderator", lambda staff: UnblockNetwork(staff, 1)),
    ("moderator", lambda staff: BlockEmailDomain(staff, "bad.example", allow_with_approval=False)),
    ("moderator", lambda staff: UnblockEmailDomain(staff, 1)),
    ("moderator", lambda staff: BlockEmail(staff, b"x" * 32)),
    ("moderator", lambda staff: UnblockEmail(staff, 1)),
]


@pytest.mark.parametrize(("role", "act"), ACTS)
async def test_an_act_asks_for_the_role_of_the_row(
    stage: Stage, role: str, act: Callable[[Staff], Message[object]]
) -> None:
    person = await stage.person("person", role=role)
    before = await rows(stage)
    message = act(Staff(person.account.id, "person"))
    with pytest.raises(Refused) as refused:
        await stage.http_context.runtime.ask(account_address(person.account.id), message, origin=Origin("test"))
    assert (refused.value.status, refused.value.text) == (403, "This action is not allowed")
    assert await rows(stage) == before


async def test_a_moderator_deletes_no_suspended_account(stage: Stage) -> None:
    mod, bob = await stage.person("mod", role="moderator"), await stage.person("bob")
    await stage.sql("UPDATE accounts SET suspended_at = now() WHERE id = $1", bob.account.id)
    message = DeleteSuspendedNow(Staff(mod.account.id, "mod"))
    with pytest.raises(Refused) as refused:
        await stage.http_context.runtime.ask(account_address(bob.account.id), message, origin=Origin("test"))
    assert refused.value.status == 403


async def test_a_moderator_does_not_choose_who_may_sign_up(stage: Stage) -> None:
    mod, context = await stage.person("mod", role="moderator"), stage.http_context
    staff = Staff(mod.account.id, "mod")

    def begin(db: Connection) -> StaffAct:
        return StaffAct(db, staff, context.ids, context.clock.now(), OwnServer("https://troupe.test", limited=False))

    before = await rows(stage)
    with pytest.raises(Refused) as refused:
        await run_act(context.database, begin, change_setting, ChangeSetting(staff, "registrations", "closed", "open"))
    assert refused.value.status == 403
    assert await rows(stage) == before
