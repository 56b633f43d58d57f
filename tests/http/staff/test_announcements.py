"""Announcements and invites on the pages for staff."""

import re
from html import unescape

import pytest

from ...clients import PASSWORD, Stage
from .members import log, member

PATH = "/admin/announcements"


async def test_an_announcement_is_made_taken_back_shown_and_deleted(stage: Stage) -> None:
    admin, ada = await member(stage, "admin"), await stage.person("ada")
    answer = await admin.send(PATH, text="Tea at <b>five</b>, says @ada", ends="2100-01-01T10:00", all_day="true")
    assert answer.headers["Location"] == f"{PATH}?done=added"
    (told,) = (await ada.get("/api/v1/announcements")).json
    assert told["content"].startswith("<p>Tea at &lt;b&gt;five&lt;/b&gt;")
    assert told["mentions"][0]["username"] == "ada"
    assert (told["all_day"], told["ends_at"][:10]) == (True, "2100-01-01")
    page = (await admin.get(PATH)).text
    assert "Tea at &lt;b&gt;five" in page
    one = f"{PATH}/{told['id']}"
    await admin.send(f"{one}/show", PATH, shown="false")
    assert (await ada.get("/api/v1/announcements")).json == []
    await admin.send(f"{one}/show", PATH, shown="true")
    assert len((await ada.get("/api/v1/announcements")).json) == 1
    asked = await admin.send(f"{one}/remove", PATH)
    assert asked.status == 200
    assert 'class="problem"' not in asked.text
    assert "Macro" not in asked.text
    wrong = await admin.send(f"{one}/remove", PATH, password="wrong")
    assert wrong.text.count('class="problem"') == 1
    await admin.send(f"{one}/remove", PATH, password=PASSWORD)
    assert (await ada.get("/api/v1/announcements")).json == []
    acts = ["add_announcement", "unpublish_announcement", "publish_announcement", "remove_announcement"]
    assert [act for _, act, _ in await log(stage)] == acts


async def test_what_is_wrong_with_an_announcement_is_said_and_nothing_is_lost(stage: Stage) -> None:
    admin = await member(stage, "admin")
    page = await admin.send(PATH, text="Tea", starts="2100-01-02T10:00", ends="2100-01-01T10:00")
    assert page.status == 422
    assert "It ends before it starts." in page.text
    assert ">Tea</textarea>" in page.text
    assert (await admin.send(PATH, text=" ")).status == 422
    assert await log(stage) == []


@pytest.mark.parametrize(
    "time", ["0001-01-01T00:00", "9999-12-31T23:59:59.999999", "9999-12-31", "0001-01-01T00:00+14:00", "tomorrow"]
)
async def test_a_time_that_no_page_could_show_is_refused(stage: Stage, time: str) -> None:
    admin = await member(stage, "admin")
    for name in ("starts", "ends", "at"):
        page = await admin.send(PATH, text="Tea", all_day="true", **{name: time})
        assert page.status == 422
        assert "is not a time such as" in page.text
    assert (await admin.get(PATH)).status == 200
    assert await log(stage) == []


async def test_an_invite_lets_people_in_until_it_ends(stage: Stage) -> None:
    admin, path = await member(stage, "admin"), "/admin/invites"
    answer = await admin.send(path, uses="2", days="", comment="<i>friends</i>")
    assert answer.headers["Location"] == f"{path}?done=made"
    page = (await admin.get(path)).text
    assert "&lt;i&gt;friends&lt;/i&gt;" in page
    (address,) = re.findall(r'href="[^"]*(/auth/sign_up\?invite=[^"]+)"', page)
    assert (await stage.anybody().get(unescape(address))).status == 200
    code = address.partition("=")[2]
    assert (await stage.rows("SELECT code, max_uses FROM invites")) == [[code, 2]]
    await admin.send(f"{path}/end", path, code=code)
    assert "sign_up?invite=" not in (await admin.get(path)).text
    assert (await admin.send(f"{path}/end", path, code=code)).status == 404
    assert [act for _, act, _ in await log(stage)] == ["create_invite", "expire_invite"]


@pytest.mark.parametrize("form", [{"uses": "0"}, {"days": "9999"}, {"uses": "-1"}, {"comment": "x" * 421}])
async def test_an_invite_that_can_not_be_is_refused(stage: Stage, form: dict[str, str]) -> None:
    admin = await member(stage, "admin")
    page = await admin.send("/admin/invites", **form)
    assert page.status == 422
    assert await log(stage) == []
