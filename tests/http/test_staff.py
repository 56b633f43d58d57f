"""Every endpoint of staff, with every role: a permission that the role lacks is refused before anything is read."""

from troupe.actors.rules.roles import ROLES, may
from troupe.http.endpoints import all_endpoints

from ..clients import SCOPES, Stage
from .stored import rows
from .strangers import MISSING, OUTSIDE, call, pointing

STAFF = (*SCOPES, "admin:read", "admin:write")
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
    staff = [endpoint for endpoint in all_endpoints() if "/admin/" in endpoint.path]
    assert [endpoint.path for endpoint in staff if endpoint.permission is None] == []
    assert [endpoint.path for endpoint in staff if not endpoint.scopes] == []
