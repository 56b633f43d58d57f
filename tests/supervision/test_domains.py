"""`troupe domains`: what is printed, stored and refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from troupe.storage.engine.connect import transact_once
from troupe.storage.engine.database import Connection, Row
from troupe.supervision.commands import troupe

from .foreign import Rows

SUSPENDED = "SELECT suspended_at IS NOT NULL FROM accounts WHERE id = 7"
HEAD = "#domain,#severity,#reject_media,#reject_reports,#public_comment,#obfuscate\n"


@pytest.fixture
def data(folder: tuple[Path, str]) -> Path:
    path, dsn = folder
    transact_once(dsn, execute, "DELETE FROM blocked_domains")
    return path


async def execute(db: Connection, query: str, *args: object) -> list[Row]:
    return await db.fetch(query, *args)


def run(data: Path, *words: str, text: str | None = None) -> Result:
    return CliRunner().invoke(troupe, ["domains", *words, "--data", str(data)], input=text)


def blocks(data: Path) -> list[Any]:
    return json.loads(run(data, "list", "--json").stdout)


def test_a_domain_is_blocked_changed_and_unblocked(data: Path) -> None:
    made = run(data, "block", "BAD.example", "--severity", "suspend", "--private-comment", "spam", "--reject-media")
    assert (made.exit_code, made.stdout) == (0, "Blocked bad.example\n")
    assert run(data, "list").stdout == "bad.example\tsuspend\tspam\n"
    changed = run(data, "block", "bad.example", "--severity", "silence", "--public-comment", "loud")
    assert changed.exit_code == 0
    (block,) = blocks(data)
    assert (block["severity"], block["reject_media"], block["private_comment"], block["public_comment"]) == (
        "silence", True, "spam", "loud",
    )  # fmt: skip
    assert run(data, "unblock", "bad.example").stdout == "Unblocked bad.example\n"
    assert blocks(data) == []


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("block", "no domain"), "Error: 'no domain' is not a domain.\n"),
        (
            ("block", "bad.example", "--public-comment", "x" * 2001),
            "Error: The comment has more than 2000 characters.\n",
        ),
        (("unblock", "good.example"), "Error: good.example is not blocked.\n"),
    ],
)
def test_what_can_not_be_done_is_said(data: Path, words: tuple[str, ...], error: str) -> None:
    refused = run(data, *words)
    assert (refused.exit_code, refused.stderr) == (1 if "not blocked" in error else 2, error)
    assert blocks(data) == []


def test_domains_are_allowed_and_disallowed(data: Path) -> None:
    assert run(data, "allow", "Friend.example").stdout == "Allowed friend.example\n"
    assert run(data, "allowed").stdout == "friend.example\n"
    assert run(data, "disallow", "friend.example").exit_code == 0
    assert run(data, "allowed").stdout == ""
    refused = run(data, "disallow", "friend.example")
    assert (refused.exit_code, refused.stderr) == (1, "Error: friend.example is not allowed.\n")


def test_with_limited_federation_accounts_of_other_domains_are_suspended(
    data: Path, folder: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = Rows(folder[1])
    rows.account(7, "far", "friend.example")
    run(data, "allow", "other.example")
    assert rows.run(SUSPENDED) == [(False,)]
    monkeypatch.setenv("TROUPE_LIMITED_FEDERATION", "true")
    for words, suspended in ((("disallow", "other.example"), True), (("allow", "friend.example"), False),
                             (("disallow", "friend.example"), True)):  # fmt: skip
        assert run(data, *words).exit_code == 0
        assert rows.run(SUSPENDED) == [(suspended,)]


def test_a_part_of_a_domain_is_not_blocked_less_strictly(data: Path) -> None:
    run(data, "block", "bad.example", "--severity", "suspend")
    refused = run(data, "block", "sub.bad.example")
    assert (refused.exit_code, refused.stderr) == (1, "Error: bad.example is blocked as strictly already.\n")


def test_blocks_are_exported_and_imported(data: Path) -> None:
    run(data, "block", "bad.example", "--severity", "suspend", "--obfuscate", "--public-comment", 'a, "b"')
    run(data, "block", "quiet.example", "--reject-reports")
    text = run(data, "export").stdout
    assert text == (f'{HEAD}bad.example,suspend,false,false,"a, ""b""",true\nquiet.example,silence,false,true,,false\n')
    before = [{**one, "id": "", "created_at": ""} for one in blocks(data)]
    for domain in ("bad.example", "quiet.example"):
        run(data, "unblock", domain)
    assert run(data, "import", "-", "--dry-run", text=text).stdout == (
        "Would block bad.example\nWould block quiet.example\n"
    )
    assert blocks(data) == []
    assert run(data, "import", "-", text=text).stdout == "Blocked bad.example\nBlocked quiet.example\n"
    assert [{**one, "id": "", "created_at": ""} for one in blocks(data)] == before
    assert run(data, "import", "-", text=text).stdout == ""


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (f"{HEAD}good.example,silence,,,,\n\nno domain,suspend,,,,\n", "Line 4: 'no domain' is not a domain."),
        (f"{HEAD}good.example,kill,,,,\n", "Line 2: 'kill' is not a severity."),
        ("# spam\na.example\nb\nc,d\n", "Line 3: 'b' is not a domain.\nLine 4: 'c' is not a domain."),
    ],
)
def test_a_file_with_a_wrong_line_blocks_nothing(data: Path, text: str, error: str) -> None:
    refused = run(data, "import", "-", text=text)
    assert (refused.exit_code, refused.stderr) == (1, f"Error: {error}\nNo domain was blocked.\n")
    assert blocks(data) == []


def test_a_list_of_bare_domains_is_imported_as_suspensions(data: Path) -> None:
    assert run(data, "import", "-", text="a.example\nb.example\n").exit_code == 0
    assert [(one["domain"], one["severity"]) for one in blocks(data)] == [
        ("a.example", "suspend"), ("b.example", "suspend"),
    ]  # fmt: skip


OWN = [
    "social.example.com",
    "SOCIAL.Example.com.",
    "*.social.example.com",
    "https://social.example.com/",
    "example.com",
]


@pytest.mark.parametrize("written", OWN)
def test_a_server_does_not_block_itself(data: Path, monkeypatch: pytest.MonkeyPatch, written: str) -> None:
    monkeypatch.setenv("TROUPE_DOMAIN", "social.example.com")
    refused = run(data, "block", written, "--severity", "suspend")
    assert (refused.exit_code, refused.stderr) == (1, "Error: Domain is that of this server.\n")
    assert blocks(data) == []


def test_a_server_with_an_international_name_does_not_block_itself(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TROUPE_DOMAIN", "b\u00fccher.example.com")
    for written in ("B\u00dcCHER.example.com", "xn--bcher-kva.example.com"):
        assert run(data, "block", written).stderr == "Error: Domain is that of this server.\n"
        assert run(data, "allow", written).stderr == "Error: Domain is that of this server.\n"
    assert run(data, "block", "sub.b\u00fccher.example.com").exit_code == 0  # another server may be there


def test_a_list_leaves_out_the_domain_of_this_server(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TROUPE_DOMAIN", "social.example.com")
    done = run(data, "import", "-", text="bad.example\nsocial.example.com\nexample.com\n")
    assert (done.exit_code, done.stdout) == (0, "Blocked bad.example\n")
    assert done.stderr == (
        "social.example.com is left out: it is the domain of this server.\n"
        "example.com is left out: it is the domain of this server.\n"
    )


def test_a_list_does_not_weaken_blocks_and_says_which_it_would_make_stricter(data: Path) -> None:
    run(data, "block", "strict.example", "--severity", "suspend")
    run(data, "block", "mild.example")
    text = (
        "domain,severity\nsub.strict.example,silence\nstrict.example,noop\nmild.example,suspend\n"
        "sub.new.example,noop\nnew.example,suspend\nnew.example,silence\n"
    )
    done = run(data, "import", "-", text=text)
    assert done.stdout == "Blocked new.example\n"
    assert done.stderr == "mild.example stays as it is: its severity is silence, and suspend in the file.\n"
    assert {one["domain"]: one["severity"] for one in blocks(data)} == {
        "strict.example": "suspend", "mild.example": "silence", "new.example": "suspend",
    }  # fmt: skip


def test_acts_at_the_command_line_are_in_the_audit_log(folder: tuple[Path, str], data: Path) -> None:
    run(data, "block", "logged.example", "--private-comment", "spam")
    rows = transact_once(
        folder[1], execute, "SELECT actor, action, reason FROM audit_log WHERE target = $1", "logged.example"
    )
    assert [tuple(row.values()) for row in rows] == [("command line", "block_domain", "spam")]
