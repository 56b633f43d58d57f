"""Reports on the pages for staff: seen, taken on, noted, acted on; each act is the API's, and in the audit log."""

import re

from troupe.storage import reports

from ...clients import PASSWORD, Stage
from ..settling import form_token
from .members import log, member, world


async def state(stage: Stage, id: str) -> tuple[bool, int | None, str]:
    found = await stage.http_context.database.read(reports.find, int(id))
    assert found is not None
    return found.action_taken_at is not None, found.assigned_account_id, found.category


async def test_a_report_is_handled(stage: Stage) -> None:
    made, mod = await world(stage), await member(stage, "moderator", "mod")
    path = f"/admin/reports/{made.report}"
    listed = await mod.get("/admin/reports")
    assert f'href="{path}"' in listed.text
    for act, done in (("assign", "yours"), ("unassign", "no one"), ("assign", "yours")):
        answer = await mod.send(f"{path}/{act}", path)
        assert answer.status == 302
        assert done in (await mod.get(answer.headers["Location"])).text
    await mod.send(f"{path}/note", path, content="I have asked her.")
    await mod.send(f"{path}/change", path, category="other")
    page = (await mod.get(path)).text
    assert "I have asked her." in page
    assert (await state(stage, made.report))[2] == "other"
    await mod.send(f"{path}/resolve", path)
    assert (await state(stage, made.report))[0]
    assert path in (await mod.get("/admin/reports?resolved=true")).text
    await mod.send(f"{path}/reopen", path)
    assert not (await state(stage, made.report))[0]
    acts = ["assign", "unassign", "assign", "note", "update", "resolve", "reopen"]
    assert await log(stage) == [("mod", act, "eve") for act in acts]
    shown = (await mod.get("/admin/acts")).text
    assert [act for act in acts if f'data-label="Act">{act}</th>' not in shown] == []


async def test_texts_of_people_are_shown_as_texts(stage: Stage) -> None:
    made, mod = await world(stage), await member(stage, "moderator")
    for path in ("/admin/reports", f"/admin/reports/{made.report}", f"/admin/accounts/{made.eve.id}"):
        text = (await mod.get(path)).text
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
        assert re.findall(r"<script[^>]*>", text) == re.findall(r'<script src="/staff\.js\?v=\w+" defer>', text)


async def test_a_note_that_is_refused_is_not_lost(stage: Stage) -> None:
    made, mod = await world(stage), await member(stage, "moderator")
    path = f"/admin/reports/{made.report}"
    page = await mod.send(f"{path}/note", path, content="x" * 2001)
    assert page.status == 422
    assert "is too long" in page.text
    assert "x" * 2001 in page.text


async def test_posts_are_deleted_only_with_the_password(stage: Stage) -> None:
    made, mod = await world(stage), await member(stage, "moderator", "mod")
    path, act = f"/admin/reports/{made.report}", f"/admin/accounts/{made.eve.id}/act"
    form = {"type": "delete_statuses", "report_id": made.report, "status_ids[]": made.status, "text": "No <ads>"}
    asked = await mod.send(act, path, **form)
    assert asked.status == 200
    assert "Nothing brings them back" in asked.text
    assert await log(stage) == []
    repeated = dict(re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', asked.text))
    wrong = await mod.post(act, repeated | {"password": "wrong"})
    assert wrong.status == 422
    assert "This is not your password" in wrong.text
    assert await log(stage) == []
    done = await mod.post(act, repeated | {"text": "No <ads>", "password": PASSWORD})
    assert done.headers["Location"] == f"{path}?done=acted"
    assert await log(stage) == [("mod", "delete_statuses", "eve")]
    assert (await made.eve.get(f"/api/v1/statuses/{made.status}")).status == 404
    assert (await state(stage, made.report))[0]
    assert "deleted" in (await mod.get(path)).text


async def test_a_warning_of_a_report_resolves_it(stage: Stage) -> None:
    made, mod = await world(stage), await member(stage, "moderator")
    path = f"/admin/reports/{made.report}"
    form = {"type": "none", "text": "Please stop.", "report_id": made.report}
    answer = await mod.send(f"/admin/accounts/{made.eve.id}/act", path, **form)
    assert answer.headers["Location"] == f"{path}?done=acted"
    assert (await state(stage, made.report))[0]
    notes = await made.eve.get("/api/v1/notifications")
    assert [one["type"] for one in notes.json] == ["moderation_warning"]


async def test_pages_of_reports(stage: Stage) -> None:
    made, mod = await world(stage), await member(stage, "moderator")
    for number in range(4):
        other = await stage.person(f"other{number}")
        await made.bob.post("/api/v1/reports", json={"account_id": other.id})
    first = (await mod.get("/admin/reports?limit=2&done=decided")).text
    assert 'rel="prev"' not in first
    ids = re.findall(r"/admin/reports/(\d+)", first)
    older = re.findall(r'rel="next" href="([^"]*)"', first)[0].replace("&amp;", "&")
    assert re.fullmatch(r"/admin/reports\?limit=2&max_id=\d+", older), "without the notice after an action"
    second = (await mod.get(older)).text
    others = re.findall(r"/admin/reports/(\d+)", second)
    assert len(set(ids) | set(others)) == 4
    newer = re.findall(r'rel="prev" href="([^"]*)"', second)[0].replace("&amp;", "&")
    assert re.findall(r"/admin/reports/(\d+)", (await mod.get(newer)).text) == ids


async def test_a_report_that_is_not_there(stage: Stage) -> None:
    mod = await member(stage, "moderator")
    token = form_token(await mod.get("/settings"))
    assert (await mod.get("/admin/reports/103")).status == 404
    assert (await mod.post("/admin/reports/103/resolve", {"form_token": token})).status == 404
