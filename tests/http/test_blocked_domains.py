"""The domains that the whole server blocks: who sees them, and what they do to accounts."""

from hashlib import sha256
from typing import Any

import pytest

from ..clients import Person, Stage
from .moderating import remote, states

BLOCKS = "/api/v1/admin/domain_blocks"


async def test_a_block_is_made_changed_and_lifted(stage: Stage, adm: Person) -> None:
    made = (await adm.post(BLOCKS, {"domain": " Bad.Example ", "private_comment": "spam", "reject_media": "1"})).json
    assert made == {
        "id": made["id"],
        "domain": "bad.example",
        "digest": sha256(b"bad.example").hexdigest(),
        "created_at": made["created_at"],
        "severity": "silence",
        "reject_media": True,
        "reject_reports": False,
        "private_comment": "spam",
        "public_comment": None,
        "obfuscate": False,
    }
    path = f"{BLOCKS}/{made['id']}"
    assert (await adm.get(path)).json == made
    changed = (await adm.put(path, {"severity": "suspend", "private_comment": "", "obfuscate": "true"})).json
    assert changed == made | {"severity": "suspend", "private_comment": None, "obfuscate": True}
    assert (await adm.get(BLOCKS)).json == [changed]
    assert (await adm.delete(path)).json == {}
    assert (await adm.get(path)).status == 404
    assert (await adm.delete(path)).status == 404
    log = await stage.rows("SELECT actor, action, target FROM audit_log ORDER BY id")
    assert log == [["adm", act, "bad.example"] for act in ("block_domain", "change_domain_block", "unblock_domain")]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({}, "Domain can't be blank"),
        ({"domain": " "}, "Domain can't be blank"),
        ({"domain": "no domain"}, "Domain is not a valid domain name"),
        ({"domain": "x" * 300 + ".example"}, "Domain is not a valid domain name"),
        ({"domain": "bad.example", "severity": "kill"}, "Severity is not included in the list"),
        (
            {"domain": "bad.example", "public_comment": "x" * 2001},
            "Public comment is too long (maximum is 2000 characters)",
        ),
    ],
)
async def test_wrong_blocks_are_refused(stage: Stage, adm: Person, given: dict[str, str], error: str) -> None:
    answer = await adm.post(BLOCKS, given)
    assert (answer.status, answer.json) == (422, {"error": f"Validation failed: {error}"})
    assert (await adm.get(BLOCKS)).json == []


class TestOwnDomain:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return {"rate_limits": False, "domain": "social.example"}

    @pytest.mark.parametrize(
        "domain", ["social.example", "example.", "SOCIAL.example", "*.social.example", "https://social.example/"]
    )
    async def test_a_server_does_not_block_itself(self, adm: Person, domain: str) -> None:
        assert (await adm.post(BLOCKS, {"domain": domain})).status == 422


async def test_a_milder_block_is_answered_with_the_stricter_one(adm: Person) -> None:
    strict = (await adm.post(BLOCKS, {"domain": "bad.example", "severity": "suspend"})).json
    for domain in ("bad.example", "sub.bad.example"):
        answer = await adm.post(BLOCKS, {"domain": domain})
        assert answer.status == 422
        assert answer.json == {
            "error": "You have already imposed stricter limits on bad.example.",
            "existing_domain_block": strict,
        }
    assert (await adm.post(BLOCKS, {"domain": "notbad.example"})).status == 200


async def test_blocks_are_paged(adm: Person) -> None:
    made = [(await adm.post(BLOCKS, {"domain": f"{name}.example"})).json["id"] for name in "abc"]
    first = await adm.get(f"{BLOCKS}?limit=2")
    assert [one["id"] for one in first.json] == [made[2], made[1]]
    assert f"max_id={made[1]}" in first.headers["Link"]
    assert [one["id"] for one in (await adm.get(f"{BLOCKS}?max_id={made[1]}")).json] == [made[0]]
    assert [one["id"] for one in (await adm.get(f"{BLOCKS}?min_id={made[0]}&limit=1")).json] == [made[1]]


async def test_accounts_of_the_domain_and_its_subdomains_are_suspended_until_it_ends(
    stage: Stage, adm: Person, ada: Person
) -> None:
    for domain in ("bad.example", "sub.bad.example", "notbad.example"):
        await remote(stage, domain)
    find = "/api/v1/accounts/lookup?acct=far@sub.bad.example"
    assert "suspended" not in (await ada.get(find)).json
    made = (await adm.post(BLOCKS, {"domain": "bad.example", "severity": "suspend"})).json
    assert (await ada.get(find)).json["suspended"] is True, "before the answer to the block"
    assert await states(stage, "bad.example") == [False, True]
    assert await states(stage, "notbad.example") == [False, False]
    await adm.put(f"{BLOCKS}/{made['id']}", {"severity": "silence"})
    assert await states(stage, "bad.example") == await states(stage, "sub.bad.example") == [True, False]
    await adm.delete(f"{BLOCKS}/{made['id']}")
    assert await states(stage, "bad.example") == await states(stage, "sub.bad.example") == [False, False]
    assert "suspended" not in (await ada.get(find)).json


async def test_the_end_of_a_block_leaves_what_staff_did_to_an_account(stage: Stage, adm: Person) -> None:
    await remote(stage, "bad.example")
    ((account,),) = await stage.rows("SELECT id FROM accounts WHERE domain IS NOT NULL")
    await adm.post(f"/api/v1/admin/accounts/{account}/action", {"type": "suspend"})
    made = (await adm.post(BLOCKS, {"domain": "bad.example", "severity": "suspend"})).json
    await adm.delete(f"{BLOCKS}/{made['id']}")
    assert await states(stage, "bad.example") == [False, True]


async def test_the_block_of_the_longer_name_rules(stage: Stage, adm: Person) -> None:
    await remote(stage, "sub.bad.example")
    part = (await adm.post(BLOCKS, {"domain": "sub.bad.example", "severity": "silence"})).json
    whole = (await adm.post(BLOCKS, {"domain": "bad.example", "severity": "suspend"})).json
    assert await states(stage, "sub.bad.example") == [True, False]
    await adm.delete(f"{BLOCKS}/{part['id']}")
    assert await states(stage, "sub.bad.example") == [False, True]
    await adm.delete(f"{BLOCKS}/{whole['id']}")
    assert await states(stage, "sub.bad.example") == [False, False]


PUBLIC = "/api/v1/instance/domain_blocks"


async def fill(adm: Person) -> None:
    await adm.post(BLOCKS, {"domain": "quiet.example", "public_comment": "loud", "private_comment": "secret"})
    await adm.post(BLOCKS, {"domain": "bad.example", "severity": "suspend", "obfuscate": "1"})
    await adm.post(BLOCKS, {"domain": "watched.example", "severity": "noop"})


async def test_the_list_is_not_shown_unless_the_operator_wants_it(stage: Stage, adm: Person, ada: Person) -> None:
    await fill(adm)
    for reader in (stage.anybody(), ada, adm):
        refused = await reader.get(PUBLIC)
        assert (refused.status, refused.json) == (404, {"error": "Record not found"})


class TestPublic:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return {"rate_limits": False, "domain_blocks_shown": "public"}

    async def test_the_public_sees_what_limits_users(self, stage: Stage, adm: Person) -> None:
        await fill(adm)
        shown = await stage.anybody().get(PUBLIC)
        assert shown.json == [
            {
                "domain": "bad.*****le",
                "digest": sha256(b"bad.example").hexdigest(),
                "severity": "suspend",
                "comment": "",
            },
            {
                "domain": "quiet.example",
                "digest": sha256(b"quiet.example").hexdigest(),
                "severity": "silence",
                "comment": "loud",
            },
        ]


@pytest.mark.parametrize(("shown", "stranger", "user"), [("users", 401, 200), ("nobody", 404, 404)])
class TestShown:
    @pytest.fixture
    def options(self, shown: str) -> dict[str, Any]:
        return {"rate_limits": False, "domain_blocks_shown": shown, "domain_blocks_comments": "users"}

    async def test_who_reads_the_blocks_is_the_operators_choice(
        self, stage: Stage, adm: Person, ada: Person, stranger: int, user: int
    ) -> None:
        await fill(adm)
        refused = await stage.anybody().get(PUBLIC)
        assert (refused.status, list(refused.json)) == (stranger, ["error"])
        answer = await ada.get(PUBLIC)
        assert answer.status == user
        if user == 200:
            assert answer.json[1]["comment"] == "loud"


class TestComments:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return {"rate_limits": False, "domain_blocks_shown": "public", "domain_blocks_comments": "users"}

    async def test_comments_may_be_for_users_alone(self, stage: Stage, adm: Person, ada: Person) -> None:
        await fill(adm)
        assert [one["comment"] for one in (await stage.anybody().get(PUBLIC)).json] == [None, None]
        assert [one["comment"] for one in (await ada.get(PUBLIC)).json] == ["", "loud"]
