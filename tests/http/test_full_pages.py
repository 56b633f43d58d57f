"""Lists are full pages: what the viewer must not see takes no places of the limit, and links lead to all the rest."""

from collections.abc import Callable

import pytest

from ..clients import Client, Person, Stage, ids, link

STRANGERS = 30  # accounts of another server, in the order in which they act

# Each list with the rows that put account 1000 + n on it, oldest first. $1 is the status, $2 its author.
PEOPLE: dict[str, tuple[str, str]] = {
    "favourited by": (
        "/api/v1/statuses/{status}/favourited_by",
        "INSERT INTO favourites (id, account_id, status_id, created_at) SELECT n, 1000 + n, $1, now() {n}",
    ),
    "reblogged by": (
        "/api/v1/statuses/{status}/reblogged_by",
        """INSERT INTO statuses (id, account_id, uri, local, visibility, conversation_id, reblog_of_id, created_at)
        SELECT n, 1000 + n, 'https://far.example/b/' || n, false, 'public', n, $1, now() {n}""",
    ),
    "followers": (
        "/api/v1/accounts/{author}/followers",
        "INSERT INTO follows (id, account_id, target_account_id, created_at) SELECT n, 1000 + n, $2, now() {n}",
    ),
    "following": (
        "/api/v1/accounts/{author}/following",
        "INSERT INTO follows (id, account_id, target_account_id, created_at) SELECT n, $2, 1000 + n, now() {n}",
    ),
    "endorsements": (
        "/api/v1/accounts/{author}/endorsements",
        "INSERT INTO endorsements (id, account_id, target_account_id, created_at) SELECT n, $2, 1000 + n, now() {n}",
    ),
}
# Lists that are the viewer's own, where only accounts are hidden that no viewer sees. $2 is the viewer.
OWN: dict[str, tuple[str, str]] = {
    "endorsements": (
        "/api/v1/endorsements",
        "INSERT INTO endorsements (id, account_id, target_account_id, created_at) SELECT n, $2, 1000 + n, now() {n}",
    ),
    "follow requests": (
        "/api/v1/follow_requests",
        "INSERT INTO follow_requests (id, account_id, target_account_id, created_at) SELECT n, 1000 + n, $2, now() {n}",
    ),
    "blocks": (
        "/api/v1/blocks",
        "INSERT INTO blocks (id, account_id, target_account_id, created_at) SELECT n, $2, 1000 + n, now() {n}",
    ),
    "mutes": (
        "/api/v1/mutes",
        """INSERT INTO mutes (id, account_id, target_account_id, hide_notifications, created_at)
        SELECT n, $2, 1000 + n, true, now() {n}""",
    ),
}


def several(table: dict[str, tuple[str, str]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("path", "fill"), list(table.values()), ids=list(table))


async def strangers(stage: Stage) -> None:
    """Make accounts 1001 to 1030 of another server."""
    await stage.sql(
        f"""INSERT INTO accounts (id, username, domain, uri, inbox_url, created_at, updated_at)
        SELECT 1000 + n, 's' || n, 'far.example', 'https://far.example/' || n, 'https://far.example/i', now(), now()
        FROM generate_series(1, {STRANGERS}) n"""
    )
    await stage.sql("INSERT INTO account_counts (account_id) SELECT id FROM accounts WHERE domain = 'far.example'")


async def put_on_list(stage: Stage, fill: str, status: str, author: Person) -> None:
    query = fill.format(n=f"FROM generate_series(1, {STRANGERS}) n WHERE $1::bigint > 0 AND $2::bigint > 0")
    await stage.sql(query, int(status), author.account.id)


async def names_on(client: Client, path: str) -> list[list[str]]:
    """The names on each page, to the last one."""
    pages: list[list[str]] = []
    while path:
        answer = await client.get(path)
        assert answer.status == 200
        pages.append([account["username"] for account in answer.json])
        path = link(answer, "next") if 'rel="next"' in answer.headers.get("Link", "") else ""
    return pages


def hide_by_relation(kind: str) -> Callable[[Stage, Person, int], object]:
    async def hide(stage: Stage, viewer: Person, id: int) -> None:
        assert (await viewer.post(f"/api/v1/accounts/{id}/{kind}")).status == 200

    return hide


async def hide_by_suspension(stage: Stage, viewer: Person, id: int) -> None:
    await stage.sql("UPDATE accounts SET suspended_at = now() WHERE id = $1", id)


async def hide_by_deletion(stage: Stage, viewer: Person, id: int) -> None:
    await stage.sql("UPDATE accounts SET deleted_at = now() WHERE id = $1", id)


WAYS = {
    "block": hide_by_relation("block"),
    "mute": hide_by_relation("mute"),
    "suspension": hide_by_suspension,
    "deletion": hide_by_deletion,
}


@several(PEOPLE)
@pytest.mark.parametrize("way", WAYS)
async def test_hidden_accounts_take_no_places_of_a_page(
    stage: Stage, ada: Person, bob: Person, path: str, fill: str, way: str
) -> None:
    """The 26 newest of 30 are hidden from Bob."""
    await strangers(stage)
    status = (await ada.publish())["id"]
    await put_on_list(stage, fill, status, ada)
    for number in range(5, STRANGERS + 1):
        await WAYS[way](stage, bob, 1000 + number)  # type: ignore[misc]
    path = path.format(status=status, author=ada.id)
    assert await names_on(bob, f"{path}?limit=3") == [["s4", "s3", "s2"], ["s1"]]
    answer = await bob.get(f"{path}?limit=2")
    assert [account["username"] for account in answer.json] == ["s4", "s3"]
    assert [account["username"] for account in (await bob.get(f"{path}?min_id=1&limit=2")).json] == ["s3", "s2"]
    assert (await bob.get(f"{path}?limit=0")).json == []
    if way in ("block", "mute"):
        everyone = [[f"s{number}" for number in range(STRANGERS, 0, -1)]]
        assert await names_on(stage.anybody(), path) == await names_on(ada, path) == everyone


@several(OWN)
@pytest.mark.parametrize("way", ["suspension", "deletion"])
async def test_accounts_that_are_gone_take_no_places_on_own_lists(
    stage: Stage, bob: Person, path: str, fill: str, way: str
) -> None:
    await strangers(stage)
    await put_on_list(stage, fill, "1", bob)
    for number in range(5, STRANGERS + 1):
        await WAYS[way](stage, bob, 1000 + number)  # type: ignore[misc]
    assert await names_on(bob, f"{path}?limit=3") == [["s4", "s3", "s2"], ["s1"]]


async def test_members_of_a_list_that_are_gone_take_no_places(stage: Stage, bob: Person) -> None:
    await strangers(stage)
    made = (await bob.post("/api/v1/lists", {"title": "far"})).json["id"]
    await put_on_list(
        stage,
        "INSERT INTO list_accounts (id, list_id, account_id, created_at) SELECT n, $1, 1000 + n, now() {n}",
        made,
        bob,
    )
    await stage.sql("UPDATE accounts SET deleted_at = now() WHERE id BETWEEN 1005 AND 1030")
    assert await names_on(bob, f"/api/v1/lists/{made}/accounts?limit=3") == [["s4", "s3", "s2"], ["s1"]]


@pytest.mark.parametrize("kind", ["favourite", "bookmark"])
async def test_statuses_that_are_hidden_by_now_take_no_places(
    stage: Stage, ada: Person, bob: Person, kind: str
) -> None:
    """The seven newest are for followers, and Bob follows Ada no more."""
    await bob.post(f"/api/v1/accounts/{ada.id}/follow")
    opened = [await ada.publish(f"open {number}") for number in range(3)]
    closed = [await ada.publish(f"closed {number}", visibility="private") for number in range(7)]
    for status in [*opened, *closed]:
        await bob.done("POST", f"/api/v1/statuses/{status['id']}/{kind}")
    newest = [status["id"] for status in reversed(opened)]
    path = f"/api/v1/{kind}s"
    assert ids(await bob.get(f"{path}?limit=2")) == [closed[6]["id"], closed[5]["id"]]
    await bob.post(f"/api/v1/accounts/{ada.id}/unfollow")
    first = await bob.get(f"{path}?limit=2")
    assert ids(first) == newest[:2]
    second = await bob.get(link(first, "next"))
    assert (ids(second), "next" in second.headers["Link"]) == (newest[2:], False)
    assert ids(await bob.get(link(second, "prev"))) == newest[:2]
    assert ids(await bob.get(f"{path}?limit=0")) == []


async def test_a_list_goes_on_behind_more_hidden_statuses_than_one_page_reads(
    stage: Stage, ada: Person, bob: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 90 bookmarks the newest 88 are hidden, and a page reads two slices of 40."""
    monkeypatch.setattr("troupe.actors.timelines.paging.SLICES", 2)
    opened = [await ada.publish(f"open {number}") for number in range(2)]
    for status in opened:
        await bob.done("POST", f"/api/v1/statuses/{status['id']}/bookmark")
    await stage.sql(
        """WITH made AS (
            INSERT INTO statuses (id, account_id, uri, local, visibility, conversation_id, created_at)
            SELECT n, $1, 'https://far.example/s/' || n, true, 'private', n, now() FROM generate_series(1, 88) n
            RETURNING id
        ), counted AS (INSERT INTO status_counts (status_id) SELECT id FROM made)
        INSERT INTO bookmarks (id, account_id, status_id, created_at)
        SELECT 9000000000000000000 + id, $2, id, now() FROM made""",
        ada.account.id, bob.account.id,
    )  # fmt: skip
    first = await bob.get("/api/v1/bookmarks?limit=2")
    assert ids(first) == []
    second = await bob.get(link(first, "next"))
    assert ids(second) == [status["id"] for status in reversed(opened)]


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/timelines/home",
        "/api/v1/notifications?types[]=mention",
        "/api/v2/notifications?types[]=mention&grouped_types[]=x",
    ],
)
async def test_small_pages_are_filled_behind_many_filtered_entries(
    stage: Stage, ada: Person, bob: Person, path: str
) -> None:
    """The 30 newest posts have a word that Bob filters."""
    await bob.post(f"/api/v1/accounts/{ada.id}/follow")
    shown = [await ada.publish(f"@bob tea {number}") for number in range(3)]
    for number in range(30):
        await ada.publish(f"@bob coffee {number}")
    keywords = [{"keyword": "coffee"}]
    terms = {"title": "no", "context": ["home", "notifications"], "filter_action": "hide"}
    made = await bob.post("/api/v2/filters", json=terms | {"keywords_attributes": keywords})
    assert made.status == 200
    answer = await bob.get(f"{path}{'&' if '?' in path else '?'}limit=2")
    assert answer.status == 200
    found = answer.json["statuses"] if "v2" in path else [one.get("status", one) for one in answer.json]
    assert [one["id"] for one in found] == [shown[2]["id"], shown[1]["id"]]
