"""The header of all pages: what visitors, users and members of staff find there, and which cache may keep it."""

import re
from typing import Any

import pytest

from troupe.http.access.rates import FAILED_SIGN_INS
from troupe.storage.engine.database import Unavailable

from ..clients import PASSWORD, Person, Reply, Stage
from .browsing import Page
from .registering import OPEN
from .settling import Browser, signed_in

PUBLIC = ("/", "/about", "/privacy", "/@ada", "/@ada/{id}", "/tags/tea", "/authorize_interaction?uri=@a@b.example")
FORMS = (
    "/auth/sign_in",
    "/auth/password/new",
    "/auth/password/sent",
    "/auth/confirmation/new",
    "/auth/confirmation?confirmation_token=x",
)
SETTINGS = ("/settings", "/settings/password", "/settings/move", "/settings/export", "/settings/delete")
MISSING = ("/@nobody", "/terms", "/@ada/1")
STAFF = ("/admin", "/admin/reports", "/admin/log")


def header_of(page: Reply) -> list[str]:
    """The words of the links and buttons in the header, the server's name first."""
    found = re.search(r"<header.*?</header>", page.text, re.DOTALL)
    assert found is not None, page.text
    return [
        re.sub("<[^>]*>", "", one).strip()
        for one in re.findall(r"<(?:a|button)\b.*?</(?:a|button)>", found[0], re.DOTALL)
    ]


async def test_visitors_can_sign_in_from_every_page(stage: Stage, ada: Person) -> None:
    id = (await ada.publish("hello #tea"))["id"]
    for path in (*PUBLIC, *FORMS, *MISSING):
        page = await stage.anybody().get(path.format(id=id))
        assert header_of(page) == ["Troupe", "About", "Sign in"], path
        assert Page(page).all("a", href="/"), path


class TestWithOpenSignUps:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return OPEN

    async def test_they_are_offered_to_visitors_alone(self, stage: Stage, ada: Person) -> None:
        assert header_of(await stage.anybody().get("/about")) == ["Troupe", "About", "Sign in", "Sign up"]
        browser = await signed_in(stage)
        for path in ("/", "/about"):
            assert "/auth/sign_up" not in (await browser.get(path)).text, path


async def test_users_find_their_settings_and_the_way_out_on_every_page(stage: Stage, ada: Person) -> None:
    id = (await ada.publish("hello #tea"))["id"]
    browser = await signed_in(stage)
    for path in (*PUBLIC, *FORMS, *SETTINGS, *MISSING):
        page = await browser.get(path.format(id=id))
        assert header_of(page) == ["Troupe", "@ada", "Settings", "Sign out"], path
        assert len(Page(page).all("form", action="/settings/sign_out", method="post")) == 1, path
    answer = await browser.send("/settings/sign_out", "/@ada")  # with the token of a public page
    assert answer.status == 302
    assert header_of(await browser.get("/@ada")) == ["Troupe", "About", "Sign in"]


async def test_the_form_that_signs_out_needs_the_token_of_the_page(stage: Stage, ada: Person) -> None:
    browser = await signed_in(stage)
    assert (await browser.post("/settings/sign_out", {"form_token": "x"})).status == 403
    assert (await browser.get("/settings/sign_out")).status == 405
    assert "Sign out" in header_of(await browser.get("/"))


@pytest.mark.parametrize("role", ["moderator", "admin", "owner"])
async def test_staff_find_their_pages_from_every_page(stage: Stage, ada: Person, role: str) -> None:
    await stage.sql("UPDATE users SET role = $1", role)
    browser = await signed_in(stage)
    for path in ("/", "/@ada", "/settings", "/admin"):
        page = await browser.get(path)
        assert header_of(page) == ["Troupe", "@ada", "Settings", "Staff", "Sign out"], path
        assert len(Page(page).all("main", id="content")) == 1
    await stage.sql("UPDATE accounts SET moved_to_id = id")  # who has moved may open no page for staff
    assert "Staff" not in header_of(await browser.get("/"))


async def test_pages_of_a_sign_in_for_an_app_lead_nowhere_else(stage: Stage, ada: Person) -> None:
    browser = await signed_in(stage)
    assert header_of(await browser.get("/oauth/authorize/native?code=x")) == ["Troupe"]


@pytest.mark.parametrize("state", ["disabled_at = now()", "confirmed_at = NULL", "approved_at = NULL"])
async def test_who_may_not_sign_in_any_more_is_a_visitor(stage: Stage, ada: Person, state: str) -> None:
    browser = await signed_in(stage)
    await stage.sql(f"UPDATE users SET {state}")
    assert header_of(await browser.get("/")) == ["Troupe", "About", "Sign in"]


async def test_no_cache_shows_the_header_of_one_person_to_another(stage: Stage, ada: Person, bob: Person) -> None:
    """A cache that may be shared asks before each use, and keeps the pages of users not at all."""
    id = (await ada.publish("hello #tea"))["id"]
    adas, bobs = await signed_in(stage), await signed_in(stage, "bob")
    for path in (one.format(id=id) for one in PUBLIC):
        visitor = await stage.anybody().get(path)
        assert visitor.headers["Cache-Control"] == "no-cache"
        assert "Cookie" in visitor.headers["Vary"].split(", ")
        seen = {"visitor": visitor}
        for name, browser in (("ada", adas), ("bob", bobs)):
            seen[name] = page = await browser.send_as("GET", path, {"If-None-Match": visitor.headers["ETag"]})
            assert page.status == 200, path  # the copy of a visitor is not the newest for a user
            assert page.headers["Cache-Control"] == "private, no-cache", path
            assert "Cookie" in page.headers["Vary"].split(", ")
            again = await browser.send_as("GET", path, {"If-None-Match": page.headers["ETag"]})
            assert (again.status, again.headers["Cache-Control"]) == (304, "private, no-cache"), path
        assert len({page.headers["ETag"] for page in seen.values()}) == 3, path
        assert "@ada</a>" not in re.findall(r"<header.*?</header>", seen["bob"].text, re.DOTALL)[0]


async def test_a_page_with_a_document_at_its_address_depends_on_both(stage: Stage, ada: Person) -> None:
    assert (await stage.anybody().get("/@ada")).headers["Vary"] == "Cookie, Accept"


async def test_a_cookie_without_a_sign_in_gets_the_page_of_a_visitor(stage: Stage, ada: Person) -> None:
    browser = Browser(stage)
    await browser.get("/auth/sign_in")  # sets the cookie of a session that nothing belongs to
    page = await browser.get("/@ada")
    assert page.headers["Cache-Control"] == "no-cache"
    assert page.text == (await stage.anybody().get("/@ada")).text


async def test_a_frame_on_another_site_knows_no_user(stage: Stage, ada: Person) -> None:
    id = (await ada.publish("framed"))["id"]
    page = await (await signed_in(stage)).get(f"/@ada/{id}/embed")
    assert page.text == (await stage.anybody().get(f"/@ada/{id}/embed")).text
    assert "<header" not in page.text


async def test_without_the_database_a_page_names_the_server_alone(
    stage: Stage, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = await signed_in(stage)

    async def fail(*_: object) -> None:
        raise Unavailable("away")

    monkeypatch.setattr(type(stage.http_context.database), "read", fail)
    for path, status in (("/privacy", 200), ("/nothing/@", 404), ("/settings", 503)):
        page = await browser.send_as("GET", path, {"Accept": "text/html"})
        assert (page.status, header_of(page)) == (status, ["Troupe"]), path


class TestLimits:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return {"rate_limits": True}

    async def test_a_refusal_of_too_many_requests_asks_no_database(self, stage: Stage, ada: Person) -> None:
        browser = await signed_in(stage)
        for _ in range(FAILED_SIGN_INS.limit):
            await browser.send("/settings/password", password="wrong", new_password="a new password")
        page = await browser.send("/settings/password", password=PASSWORD, new_password="a new password")
        assert (page.status, header_of(page)) == (429, ["Troupe"])


async def test_the_way_to_the_sign_in_repeats_no_secret_of_an_address(stage: Stage, ada: Person) -> None:
    page = await stage.anybody().get("/@ada?max_id=5&access_token=abc&token=def&code=ghi")
    assert re.findall(r'href="(/auth/sign_in[^"]*)"', page.text) == ["/auth/sign_in?to=%2F%40ada%3Fmax_id%3D5"]


async def test_the_open_page_is_marked_in_the_header(stage: Stage, ada: Person) -> None:
    for path, words in (("/about", "About"), ("/auth/sign_in", "Sign in")):
        assert re.findall(r'aria-current="page">([^<]*)<', (await stage.anybody().get(path)).text) == [words]
    assert 'href="/settings" aria-current="page"' in (await (await signed_in(stage)).get("/settings")).text
