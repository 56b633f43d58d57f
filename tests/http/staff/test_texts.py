"""Rules, terms, the description and the privacy policy on the pages for staff. Visitors see changes at once."""

import re
from collections.abc import Awaitable, Callable
from datetime import date, timedelta
from pathlib import Path

import pytest

from troupe.actors.kernel import Refused
from troupe.actors.memory import operator_texts
from troupe.actors.staff import operator_texts as staff_texts
from troupe.actors.staff.acts import OwnServer, Staff, StaffAct, run_act
from troupe.actors.staff.operator_texts import version_of
from troupe.storage.engine.database import Connection
from troupe.storage.operator_texts import LARGEST_FILE, Rule, RuleText, read_rules

from ...clients import PASSWORD, Stage
from ..operator_texts import write_operator_text
from .members import log, member

RULES, TERMS, TEXTS = "/admin/rules", "/admin/terms", "/admin/texts"
HOSTILE = "</textarea><script>alert(1)</script>"


@pytest.fixture(autouse=True)
def rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are read again only when something tells of a change."""
    monkeypatch.setattr(operator_texts, "READ_AGAIN", timedelta(days=1))


def folder(stage: Stage) -> Path:
    return stage.http_context.settings.data / "texts"


async def shown(stage: Stage) -> list[str]:
    return [rule["text"] for rule in (await stage.anybody().get("/api/v1/instance/rules")).json]


async def test_rules_are_added_changed_translated_and_removed(stage: Stage) -> None:
    admin, one = await member(stage, "admin", "adm"), f"{RULES}/1"
    assert await shown(stage) == []
    await admin.send(RULES, text=f"Be kind.\r\n{HOSTILE}", hint="Also to robots.")
    assert await shown(stage) == [f"Be kind.\n{HOSTILE}"]
    for page in (RULES, one):
        assert HOSTILE not in (await admin.get(page)).text
    await admin.send(one, text="Be nice.", hint="")
    await admin.send(one, language="de", text="Sei nett.", hint="Immer.")
    assert read_rules(folder(stage)) == (Rule(1, RuleText("Be nice."), {"de": RuleText("Sei nett.", "Immer.")}),)
    assert "Sei nett." in (await admin.get(one)).text
    await admin.send(one, language="de", text="", hint="")
    assert read_rules(folder(stage)) == (Rule(1, RuleText("Be nice.")),)
    assert "password" in (await admin.send(f"{one}/remove", one)).text
    assert await shown(stage) == ["Be nice."]
    await admin.send(f"{one}/remove", one, password=PASSWORD)
    assert await shown(stage) == []
    acts = ["add_rule", *["change_rule"] * 3, "remove_rule"]
    assert await log(stage) == [("adm", act, "1") for act in acts]


async def test_a_rule_that_can_not_be_is_refused_and_its_text_is_kept(stage: Stage) -> None:
    admin = await member(stage, "admin")
    page = await admin.send(RULES, text=" ", hint="A <hint>")
    assert (page.status, "the text has not 1 to 1000 characters" in page.text) == (422, True)
    assert "A &lt;hint&gt;" in page.text
    await admin.send(RULES, text="Be kind.")
    page = await admin.send(f"{RULES}/1", language="../x", text="Sei nett.")
    assert (page.status, "Name a language by its code" in page.text, "Sei nett." in page.text) == (422, True, True)
    assert (await admin.send(f"{RULES}/7", RULES, text="x")).status == 404
    assert await shown(stage) == ["Be kind."]
    assert len(await log(stage)) == 1


async def test_terms_are_published_changed_and_removed(stage: Stage) -> None:
    admin = await member(stage, "admin", "adm")
    await admin.send(TERMS, day="2026-01-01", text=f"# Terms\r\n\r\n{HOSTILE}")
    assert (folder(stage) / "terms" / "2026-01-01.md").read_text("utf-8") == f"# Terms\n\n{HOSTILE}"
    assert "<h1>Terms</h1>" in (await stage.anybody().get("/api/v1/instance/terms_of_service")).json["content"]
    again = await admin.send(TERMS, day="2026-01-01", text="Others")
    assert (again.status, "There are terms of 2026-01-01 already." in again.text) == (422, True)
    assert "Others" in again.text
    form = (await admin.get(f"{TERMS}?day=2026-01-01")).text
    assert "# Terms" in form
    assert HOSTILE not in form
    await admin.send(TERMS, day="2026-01-01", text="Be nice.", change="true")
    assert "Be nice." in (await stage.anybody().get("/api/v1/instance/terms_of_service")).json["content"]
    assert "password" in (await admin.send(f"{TERMS}/remove", TERMS, day="2026-01-01")).text
    await admin.send(f"{TERMS}/remove", TERMS, day="2026-01-01", password=PASSWORD)
    assert (await stage.anybody().get("/api/v1/instance/terms_of_service")).status == 404
    acts = ["publish_terms", "replace_terms", "remove_terms"]
    assert await log(stage) == [("adm", act, "2026-01-01") for act in acts]


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ({"day": "", "text": "x"}, "Choose the day"),
        ({"day": "../../rules", "text": "x"}, "Choose the day"),
        ({"day": "2026-01-01", "text": " "}, "it would be empty"),
        ({"day": "2026-01-01", "text": "x" * (LARGEST_FILE + 1)}, "it has more than"),
    ],
)
async def test_terms_that_can_not_be_are_refused(stage: Stage, form: dict[str, str], problem: str) -> None:
    admin = await member(stage, "admin")
    page = await admin.send(TERMS, **form)
    assert (page.status, problem in page.text) == (422, True), page.text
    assert not folder(stage).exists()
    assert await log(stage) == []


async def test_the_description_and_the_policy_are_changed_and_taken_away(stage: Stage) -> None:
    admin = await member(stage, "admin", "adm")
    for name, path in (("description", "extended_description"), ("privacy", "privacy_policy")):
        address = f"/api/v1/instance/{path}"
        before = (await stage.anybody().get(address)).json["content"]
        await admin.send(TEXTS, name=name, text=f"A *{name}* {HOSTILE}")
        assert f"A <em>{name}</em>" in (await stage.anybody().get(address)).json["content"]
        assert HOSTILE not in (await admin.get(TEXTS)).text
        await admin.send(TEXTS, name=name, text="")
        assert (await stage.anybody().get(address)).json["content"] == before
    assert await log(stage) == [("adm", "change_text", name) for name in ("description",) * 2 + ("privacy",) * 2]


@pytest.mark.parametrize(
    ("path", "page", "form", "others"),
    [
        (TEXTS, TEXTS, {"name": "privacy"}, {"name": "privacy", "text": "Theirs."}),
        (TERMS, f"{TERMS}?day=2026-01-01", {"day": "2026-01-01", "change": "true"},
            {"day": "2026-01-01", "change": "true", "text": "Theirs."}),
        (f"{RULES}/1", f"{RULES}/1", {"hint": ""}, {"text": "Theirs.", "hint": ""}),
        (f"{RULES}/1", f"{RULES}/1", {"hint": "", "language": "de"}, {"text": "Theirs.", "hint": "", "language": "de"}),
    ],
)  # fmt: skip
async def test_a_text_that_somebody_else_has_changed_is_not_replaced_unknowingly(
    stage: Stage, path: str, page: str, form: dict[str, str], others: dict[str, str]
) -> None:
    admin, other = await member(stage, "admin"), await member(stage, "admin", "other")
    await admin.send(RULES, text="Be kind.")
    await admin.send(TERMS, day="2026-01-01", text="# Terms")
    # Of the pages with several forms, the last one is meant: the policy, and another translation.
    last = "language" in form or path == TEXTS

    def version(html: str) -> str:
        found = re.findall(r'name="opened" value="(\w+)"', html)
        return found[-1 if last else 0]

    opened = version((await admin.get(page)).text)
    await other.send(path, page, **others)
    refused = await admin.send(path, page, **form, text="Mine.", opened=opened)
    assert (refused.status, "This text was changed after you opened" in refused.text) == (422, True), refused.text
    assert "Mine." in refused.text
    assert "Theirs." in (await admin.get(page)).text
    now = version_of("Theirs.", "") if path.startswith(RULES) else version_of("Theirs.")
    assert f'value="{now}"' in refused.text
    done = await admin.send(path, page, **form, text="Mine.", opened=now)
    assert "was changed after you opened" not in done.text
    assert "Mine." in (await admin.get(page)).text


async def test_a_file_that_can_not_be_read_is_named_and_stays(stage: Stage) -> None:
    admin = await member(stage, "admin")
    file = write_operator_text(stage, "rules.toml", "[[rules]")
    assert "The texts can&#39;t be read" in (await admin.get(RULES)).text
    page = await admin.send(RULES, text="No spam.")
    assert (page.status, "Correct the file first." in page.text) == (422, True)
    assert file.read_text("utf-8") == "[[rules]"
    assert await log(stage) == []


async def test_an_act_whose_file_can_not_be_written_is_not_logged(stage: Stage) -> None:
    admin = await member(stage, "admin")
    write_operator_text(stage, "privacy.md/is_a_folder", "x")
    page = await admin.send(TEXTS, name="privacy", text="Nothing is kept.")
    assert (page.status, "can&#39;t be written" in page.text) == (422, True), page.text
    assert await log(stage) == []


async def test_an_act_asks_for_the_role_of_the_row(stage: Stage) -> None:
    """The page asked for the role too, but it may have been taken away since then."""
    mod, context = await stage.account("mod", role="moderator"), stage.http_context
    texts, day = folder(stage), date(2026, 1, 1)

    def begin(db: Connection) -> StaffAct:
        server = OwnServer("https://troupe.test", limited=False)
        return StaffAct(db, Staff(mod.id, "mod"), context.ids, context.clock.now(), server)

    acts: list[Callable[[StaffAct], Awaitable[object]]] = [
        lambda act: staff_texts.add_rule(act, texts, RuleText("Be kind.")),
        lambda act: staff_texts.publish_terms(act, texts, day, b"x", change=False),
        lambda act: staff_texts.remove_terms(act, texts, day),
        lambda act: staff_texts.write_text(act, texts, "privacy", b"x"),
    ]
    for do in acts:
        with pytest.raises(Refused) as refused:
            await run_act(context.database, begin, do)
        assert refused.value.status == 403
    assert not folder(stage).exists()
    assert await log(stage) == []
