"""Limits are clamped, cursors go, filters stay."""

import pytest

from troupe.http.intake.paging import Paged, clamp, links

from ..clients import Person

URL = "https://troupe.test/api/v1/timelines/public"


@pytest.mark.parametrize(("asked", "given"), [(None, 20), (5, 5), (40, 40), (41, 40), (-5, 5), (-500, 40), (0, 0)])
def test_limits(asked: int | None, given: int) -> None:
    assert clamp(asked, 20) == given


def test_a_limit_that_is_no_number_is_an_empty_page() -> None:
    assert Paged.read({"limit": "many"}).page(20).limit == 0


def test_cursors_are_read_together() -> None:
    page = Paged.read({"max_id": "9", "min_id": "3", "limit": "80"}).page(40)
    assert (page.max_id, page.min_id, page.since_id, page.limit) == (9, 3, None, 80)


def test_both_links_next_first() -> None:
    assert links(URL, [], [9, 5, 3]) == (("Link", f'<{URL}?max_id=3>; rel="next", <{URL}?min_id=9>; rel="prev"'),)


def test_filters_and_limit_are_kept_and_cursors_are_not() -> None:
    query = [("limit", "2"), ("max_id", "7"), ("any[]", "a"), ("any[]", "b"), ("since_id", "1"), ("min_id", "2")]
    header = links(URL, query, [5, 3])[0][1]
    kept = "limit=2&any%5B%5D=a&any%5B%5D=b"
    assert header == f'<{URL}?{kept}&max_id=3>; rel="next", <{URL}?{kept}&min_id=5>; rel="prev"'


@pytest.mark.parametrize("name", ["access_token", "bearer_token"])
def test_a_token_in_the_query_is_not_repeated(name: str) -> None:
    header = links(URL, [("limit", "2"), (name, "secret")], [5, 3])[0][1]
    assert header == f'<{URL}?limit=2&max_id=3>; rel="next", <{URL}?limit=2&min_id=5>; rel="prev"'


def test_an_empty_page_has_no_links() -> None:
    assert links(URL, [("limit", "2")], []) == ()


def test_a_last_page_of_a_list_leads_back_only() -> None:
    assert links(URL, [], [5], prev="since_id", full=False) == (("Link", f'<{URL}?since_id=5>; rel="prev"'),)


def test_an_address_in_a_header_is_ascii() -> None:
    (header,) = links("https://troupe.test/api/v1/timelines/tag/größe 1", [("any[]", "größe")], [5], full=False)
    escaped = "gr%C3%B6%C3%9Fe"
    assert header[1] == (
        f'<https://troupe.test/api/v1/timelines/tag/{escaped}%201?any%5B%5D={escaped}&min_id=5>; rel="prev"'
    )


# Ids of other software: a ULID, a flake of Pleroma, a UUID, numbers that are none here.
FOREIGN = ("01G65Z755AFWAKHE12NY0CQ9FH", "9n4bvd2jzk", "b1c0a0f4-7f4e-4b8e-9d1c-6b0e6a1f5a3d", "-1", "1e5", "9" * 24)


@pytest.mark.parametrize("id", FOREIGN)
async def test_an_id_of_another_software_is_an_empty_page_and_not_everything(ada: Person, bob: Person, id: str) -> None:
    post = (await ada.publish("hello #tea"))["id"]
    await bob.post(f"/api/v1/statuses/{post}/favourite")
    await ada.post(f"/api/v1/statuses/{post}/bookmark")
    await ada.post(f"/api/v1/statuses/{post}/favourite")
    await bob.post(f"/api/v1/accounts/{ada.id}/follow")
    await ada.post(f"/api/v1/accounts/{bob.id}/mute")
    for path in (
        "/api/v1/notifications", "/api/v1/timelines/home", "/api/v1/timelines/public", "/api/v1/timelines/tag/tea",
        "/api/v1/bookmarks", "/api/v1/favourites", "/api/v1/mutes", f"/api/v1/accounts/{ada.id}/statuses",
        f"/api/v1/accounts/{ada.id}/followers", f"/api/v1/statuses/{post}/favourited_by",
        f"/api/v1/accounts/{ada.id}/statuses?pinned=true", "/api/v2/search?q=hello&type=statuses",
    ):  # fmt: skip
        for cursor in ("min_id", "since_id"):
            if "search" in path and cursor == "since_id":
                continue  # a search has none
            found = await ada.get(f"{path}{'&' if '?' in path else '?'}{cursor}={id}")
            entries = found.json["statuses"] if "search" in path else found.json
            assert (found.status, entries) == (200, []), (path, cursor)
    grouped = await ada.get(f"/api/v2/notifications?min_id={id}")
    assert (grouped.status, grouped.json["notification_groups"]) == (200, [])


@pytest.mark.parametrize("id", FOREIGN)
async def test_an_id_of_another_software_in_a_path_is_unknown(ada: Person, id: str) -> None:
    for path in (
        "/api/v1/statuses/{}", "/api/v1/statuses/{}/context", "/api/v1/accounts/{}", "/api/v1/accounts/{}/statuses",
        "/api/v1/notifications/{}", "/api/v1/lists/{}", "/api/v1/polls/{}", "/api/v1/media/{}",
        "/api/v1/scheduled_statuses/{}", "/api/v2/filters/{}", "/api/v1/timelines/list/{}",
    ):  # fmt: skip
        assert (await ada.get(path.format(id))).status == 404, path
