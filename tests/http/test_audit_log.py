"""The record of what staff did."""

from typing import Any

import asyncpg
import pytest

from ..clients import STAFF, Person, Stage, link

LOG = "/api/v1/admin/audit_log"


async def acted(stage: Stage) -> tuple[Person, Person, Person]:
    """Two of the staff, who have acted on an account."""
    mod = await stage.person("mod", STAFF, role="moderator")
    admin = await stage.person("admin", STAFF, role="admin")
    ada = await stage.person("ada")
    for staff, type in ((mod, "silence"), (admin, "sensitive"), (admin, "suspend")):
        await staff.post(f"/api/v1/admin/accounts/{ada.id}/action", {"type": type, "text": f"why {type}"})
    return mod, admin, ada


async def actions(reader: Person, query: str = "") -> list[str]:
    answer = await reader.done("GET", f"{LOG}?{query}")
    return [entry["action"] for entry in answer]


async def test_every_act_is_there_with_its_reason(stage: Stage) -> None:
    mod, admin, ada = await acted(stage)
    first: Any = (await mod.get(LOG)).json[0]
    assert first["actor"] == {"id": admin.id, "name": "admin"}
    assert first["target"] == {"type": "account", "id": ada.id, "name": "ada"}
    assert (first["action"], first["reason"]) == ("suspend", "why suspend")


async def test_entries_are_found_by_actor_target_and_action(stage: Stage) -> None:
    mod, admin, ada = await acted(stage)
    await mod.post(f"/api/v1/admin/accounts/{(await stage.person('bob')).id}/action", {"type": "silence"})
    assert await actions(mod) == ["silence", "suspend", "sensitive", "silence"]
    assert await actions(mod, f"actor_id={admin.id}") == ["suspend", "sensitive"]
    assert await actions(mod, f"target_type=account&target_id={ada.id}") == ["suspend", "sensitive", "silence"]
    assert await actions(mod, f"action=silence&target_id={ada.id}") == ["silence"]
    assert await actions(mod, "actor_id=nonsense") == []
    assert await actions(mod, "actor_id=&action=&target_type=&target_id=&limit=1") == ["silence"]


async def test_pages_have_links(stage: Stage) -> None:
    mod, _, _ = await acted(stage)
    first = await mod.get(f"{LOG}?limit=2")
    assert [entry["action"] for entry in first.json] == ["suspend", "sensitive"]
    second = await mod.get(link(first, "next"))
    assert [entry["action"] for entry in second.json] == ["silence"]
    newer = await mod.get(link(second, "prev"))
    assert [entry["action"] for entry in newer.json] == ["suspend", "sensitive"]


@pytest.mark.parametrize("change", ["UPDATE audit_log SET actor = 'x'", "DELETE FROM audit_log", "TRUNCATE audit_log"])
async def test_no_statement_changes_or_deletes_entries(stage: Stage, change: str) -> None:
    mod, _, _ = await acted(stage)
    before = (await mod.get(LOG)).json
    with pytest.raises(asyncpg.RaiseError, match="never changed and never deleted"):
        await stage.sql(change)
    assert (await mod.get(LOG)).json == before
