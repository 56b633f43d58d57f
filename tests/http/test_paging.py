"""Limits are clamped, cursors go, filters stay."""

import pytest

from troupe.http.intake.paging import Paged, clamp, links

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
