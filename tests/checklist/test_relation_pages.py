"""The seed checklist's rows on paging through followers, requests, blocks, mutes and endorsements."""

import pytest

from ..clients import Client, Person, Reply, Stage, ids, link
from .rows import rows

REQUESTS = "/api/v1/follow_requests"


async def made_forty_five(stage: Stage, table: str, column: str, owner: Person) -> list[str]:
    """45 rows of a relation with as many accounts; their ids, the latest first."""
    await stage.sql("""
        INSERT INTO accounts (id, username, domain, uri, created_at, updated_at)
        SELECT n, 'u' || n, 'd.example', 'https://d.example/' || n, now(), now() FROM generate_series(101, 145) n
    """)
    await stage.sql("INSERT INTO account_counts (account_id) SELECT generate_series(101, 145)")
    other = "account_id" if column == "target_account_id" else "target_account_id"
    await stage.sql(
        f"INSERT INTO {table} (id, {column}, {other}, created_at) "
        "SELECT n, $1, n, now() FROM generate_series(101, 145) n", owner.account.id
    )  # fmt: skip
    return [str(id) for id in range(145, 100, -1)]


async def walk(client: Client, path: str) -> list[str]:
    """All there is, by the links from page to page, and back again to the first."""
    page = await client.get(path)
    pages = [page]
    while (following := link_or_none(page, "next")) is not None:
        page = await client.get(following)
        pages.append(page)
    assert len(ids(page)) < 20
    back = ids(await client.get(link(pages[-1], "prev")))
    assert back == ids(pages[0])  # since_id keeps the newest page
    return [id for one in pages for id in ids(one)]


def link_or_none(reply: Reply, relation: str) -> str | None:
    return link(reply, relation) if f'rel="{relation}"' in reply.headers.get("Link", "") else None


@pytest.mark.parametrize(
    ("path", "table", "column"),
    [
        ("/api/v1/blocks", "blocks", "account_id"),
        ("/api/v1/mutes", "mutes", "account_id"),
        (REQUESTS, "follow_requests", "target_account_id"),
        ("/api/v1/accounts/{id}/followers", "follows", "target_account_id"),
        ("/api/v1/accounts/{id}/following", "follows", "account_id"),
        ("/api/v1/endorsements", "endorsements", "account_id"),
    ],
)
@rows("S108", "S110", "S111", "S138", "S139", "S142")
async def test_lists_of_accounts_page(stage: Stage, ada: Person, path: str, table: str, column: str) -> None:
    everybody = await made_forty_five(stage, table, column, ada)
    path = path.format(id=ada.id)
    assert ids(await ada.get(path)) == everybody[:40]
    assert await walk(ada, f"{path}?limit=20") == everybody
    assert ids(await ada.get(f"{path}?limit=2&min_id=110")) == ["112", "111"]
    assert ids(await ada.get(f"{path}?limit=2&max_id=110")) == ["109", "108"]
    assert ids(await ada.get(f"{path}?limit=2&since_id=110")) == everybody[:2]
    assert ids(await ada.get(f"{path}?limit=999")) == everybody
    assert ids(await ada.get(f"{path}?limit=0")) == []


@rows("S110")
async def test_an_empty_list_has_no_links(ada: Person) -> None:
    for path in ("/api/v1/blocks", "/api/v1/mutes", REQUESTS, "/api/v1/domain_blocks", "/api/v1/endorsements"):
        answer = await ada.get(path)
        assert (answer.status, answer.json, "Link" in answer.headers) == (200, [], False)


@rows("S143")
async def test_domain_blocks_page(stage: Stage, ada: Person) -> None:
    await stage.sql(
        "INSERT INTO account_domain_blocks (id, account_id, domain, created_at) "
        "SELECT n, $1, 'd' || n, now() FROM generate_series(1, 5) n", ada.account.id
    )  # fmt: skip
    first = await ada.get("/api/v1/domain_blocks?limit=3")
    assert first.json == ["d5", "d4", "d3"]
    second = await ada.get(link(first, "next"))
    assert (second.json, link_or_none(second, "next")) == (["d2", "d1"], None)
    assert (await ada.get("/api/v1/domain_blocks?min_id=2&limit=2")).json == ["d4", "d3"]
