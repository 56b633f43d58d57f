"""The operator's texts: rules, description, privacy policy and terms of service, from files of the data folder."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from troupe.actors.memory import operator_texts
from troupe.storage.operator_texts import LARGEST_FILE, UnusableTexts, read_texts

from ..clients import Stage
from .operator_texts import write_operator_text

RULES = """
[[rules]]
id = 7
text = "Be kind."
hint = "Also to robots."
translations.de = { text = "Sei nett." }

[[rules]]
id = 3
text = "No spam."
"""


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the files read for each request."""
    monkeypatch.setattr(operator_texts, "READ_AGAIN", timedelta())


async def told(stage: Stage, what: str) -> Any:
    return await stage.anybody().done("GET", f"/api/v1/instance/{what}")


async def test_rules_keep_the_ids_that_the_operator_gave(stage: Stage) -> None:
    assert await told(stage, "rules") == []
    write_operator_text(stage, "rules.toml", RULES)
    rules = await told(stage, "rules")
    assert rules == [
        {
            "id": "7", "text": "Be kind.", "hint": "Also to robots.",
            "translations": {"de": {"text": "Sei nett.", "hint": ""}},
        },
        {"id": "3", "text": "No spam.", "hint": "", "translations": {}},
    ]  # fmt: skip
    for path in ("/api/v1/instance", "/api/v2/instance"):
        assert (await stage.anybody().get(path)).json["rules"] == rules
    write_operator_text(stage, "rules.toml", '[[rules]]\nid = 3\ntext = "No spam."')
    assert [rule["id"] for rule in await told(stage, "rules")] == ["3"]


async def test_a_description_and_a_privacy_policy_are_markdown_with_a_date(stage: Stage) -> None:
    assert "e-mail address" in (await told(stage, "privacy_policy"))["content"]
    path = write_operator_text(stage, "privacy.md", "# Privacy\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
    policy = await told(stage, "privacy_policy")
    assert policy["content"].startswith("<h1>Privacy</h1>\n<table>")
    changed = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    assert policy["updated_at"] == changed.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    write_operator_text(stage, "description.md", "We **like** [cats](https://cats.example/).")
    described = await told(stage, "extended_description")
    assert described["content"] == (
        '<p>We <strong>like</strong> <a href="https://cats.example/" rel="nofollow noopener noreferrer">cats</a>.</p>'
    )


async def test_texts_never_hold_what_a_browser_would_run(stage: Stage) -> None:
    write_operator_text(
        stage, "description.md", "<script>alert(1)</script> [x](javascript:alert(1)) ![y](https://a.example/b.png)"
    )
    content = (await told(stage, "extended_description"))["content"]
    assert "<script" not in content
    assert 'href="javascript' not in content
    assert "<img" not in content


async def test_terms_of_service_succeed_each_other(stage: Stage) -> None:
    terms = "/api/v1/instance/terms_of_service"
    assert (await stage.anybody().get(terms)).status == 404
    today = stage.http_context.clock.now().date()
    past, next_one = today - timedelta(days=30), today + timedelta(days=30)
    write_operator_text(stage, f"terms/{next_one}.md", "New")
    upcoming = await told(stage, "terms_of_service")
    assert (upcoming["effective_date"], upcoming["effective"]) == (str(next_one), False)
    write_operator_text(stage, f"terms/{past}.md", "Old")
    assert await told(stage, "terms_of_service") == {
        "effective_date": str(past), "effective": True, "content": "<p>Old</p>", "succeeded_by": str(next_one),
    }  # fmt: skip
    assert (await told(stage, f"terms_of_service/{next_one}"))["content"] == "<p>New</p>"
    assert (await told(stage, f"terms_of_service/{next_one}"))["succeeded_by"] is None
    for missing in (str(today), "2026-13-41", "x", "..%2Fprivacy"):
        assert (await stage.anybody().get(f"{terms}/{missing}")).status == 404


async def test_a_file_that_cannot_be_used_is_logged_once_and_the_texts_before_it_stay(stage: Stage) -> None:
    write_operator_text(stage, "rules.toml", RULES)
    before = await told(stage, "rules")
    write_operator_text(stage, "rules.toml", "[[rules]]\ntext = 'no id'")
    for _ in range(2):
        assert await told(stage, "rules") == before
    errors = [str(facts["error"]) for facts in stage.told("policies.unusable")]
    assert errors == ["rules.toml: a rule needs an id, which is a whole number from 1 on"]
    write_operator_text(stage, "rules.toml", '[[rules]]\nid = 1\ntext = "Mended."')
    assert (await told(stage, "rules"))[0]["text"] == "Mended."


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("privacy.md", b"x" * (LARGEST_FILE + 1), "privacy.md: it has more than 131072 bytes"),
        ("privacy.md", b"\xff", "privacy.md: it is not UTF-8"),
        ("terms/latest.md", b"x", "terms/latest.md: the name is not a date such as 2026-12-01.md"),
        ("rules.toml", b"rules = 1", "rules.toml: it has something else than tables"),
        ("rules.toml", b"rules = [1]", "rules.toml: a rule or a translation is not a table"),
        ("rules.toml", b"[[rules]", "rules.toml: "),
        ("rules.toml", b"a = " + b"[" * 100_000, "rules.toml: "),
        ("rules.toml", b"[[rules]]\nid = true", "rules.toml: a rule needs an id"),
        ("rules.toml", b"[[rules]]\nid = 9223372036854775808", "rules.toml: a rule needs an id"),
        ("rules.toml", b"[[rules]]\nid = 1\ntext = ' '", "rules.toml: rule 1: the text has not 1 to 1000"),
        ("rules.toml", b"[[rules]]\nid = 1\ntext = 'x'\nhin = 'y'", "rules.toml: rule 1: there is no key hin"),
        ("rules.toml", b"[[rules]]\nid = 1\ntext = 'x'\n" * 2, "rules.toml: there are more than 100 rules, or two"),
    ],
)
def test_an_unusable_file_is_named_with_the_reason(tmp_path: Path, name: str, text: bytes, error: str) -> None:
    (tmp_path / "terms").mkdir()
    (tmp_path / name).write_bytes(text)
    with pytest.raises(UnusableTexts) as raised:
        read_texts(tmp_path)
    assert str(raised.value).startswith(error)
