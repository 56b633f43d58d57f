"""The servers that this one knows: all of them, and those whose domain begins so."""

import pytest

from ..clients import SCOPES, Stage

PEERS = "/api/v1/instance/peers"
SEARCH = "/api/v1/peers/search"
BLOCKS = "/api/v1/admin/domain_blocks"

KNOWN = """
    INSERT INTO accounts (id, username, domain, uri, created_at, updated_at)
    SELECT n, 'u' || n, domain, 'https://x/' || n, now(), now()
    FROM unnest($1::text[]) WITH ORDINALITY AS known (domain, n)
"""
DOMAINS = ["far.example", "fare.test", "xn--bcher-kva.example", "near.example", "near.example"]


async def found(stage: Stage, q: str) -> list[str]:
    return await stage.anybody().done("GET", SEARCH, query_string={"q": q})


async def test_each_known_domain_is_named_once(stage: Stage) -> None:
    await stage.account("ada")
    await stage.sql(KNOWN, DOMAINS)
    answer = await stage.anybody().get(PEERS)
    assert (answer.status, sorted(answer.json)) == (200, sorted(set(DOMAINS)))


async def test_suspended_servers_are_not_named(stage: Stage) -> None:
    adm = await stage.person("adm", (*SCOPES, "admin:read", "admin:write"), role="admin")
    await stage.sql(KNOWN, ["bad.example", "sub.bad.example", "quiet.example", "notbad.example"])
    assert len((await stage.anybody().get(PEERS)).json) == 4
    made = (await adm.post(BLOCKS, {"domain": "bad.example", "severity": "suspend"})).json
    await adm.post(BLOCKS, {"domain": "quiet.example", "severity": "silence"})
    assert (await stage.anybody().get(PEERS)).json == ["notbad.example", "quiet.example"]
    assert await found(stage, "bad") == []
    await adm.delete(f"{BLOCKS}/{made['id']}")
    assert len((await stage.anybody().get(PEERS)).json) == 4


@pytest.mark.parametrize(
    ("q", "domains"),
    [
        ("far", ["far.example", "fare.test"]),
        ("far.", ["far.example"]),
        (" FAR.example ", ["far.example"]),
        ("example", []),
        ("bücher.example", ["xn--bcher-kva.example"]),
        ("xn--b", ["xn--bcher-kva.example"]),
        ("%", []),
        ("_ar", []),
        (".*", []),
        ('"', []),
        (",", []),
        ('","', []),
        ("f", ["far.example", "fare.test"]),
        ("x", ["xn--bcher-kva.example"]),
        ("n" * 100_000, []),
    ],
)
async def test_domains_are_found_by_their_beginning(stage: Stage, q: str, domains: list[str]) -> None:
    await stage.sql(KNOWN, DOMAINS)
    assert await found(stage, q) == domains


async def test_ten_are_found_at_most(stage: Stage) -> None:
    await stage.sql(KNOWN, [f"d{number:02}.example" for number in range(15)])
    assert await found(stage, "d") == [f"d{number:02}.example" for number in range(10)]


@pytest.mark.parametrize("query", ["", "?q=", "?q=%20"])
async def test_a_search_is_for_something(stage: Stage, query: str) -> None:
    answer = await stage.anybody().get(f"{SEARCH}{query}")
    assert answer.status == 400
    assert "q" in answer.json["error"]


async def test_ten_domains_are_the_most_and_each_of_them_counts(stage: Stage) -> None:
    domains = [f"{letter}.example" for letter in "abc"] + [f"server{number:02}.example" for number in range(12)]
    await stage.sql(KNOWN, domains)
    assert await found(stage, "server") == domains[3:13]
    assert [await found(stage, letter) for letter in "abc"] == [[domain] for domain in domains[:3]]
