"""Addresses that pages have on servers of Mastodon lead to the pages here."""

import pytest

from ..clients import Person, Stage


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/web/@ada", "/@ada"),
        ("/web/@ada@localhost:3000", "/@ada"),
        ("/deck/@ada", "/@ada"),
        ("/web/@ada/{id}", "/@ada/{id}"),
        ("/deck/@ada@LOCALHOST:3000/{id}", "/@ada/{id}"),
        ("/web/statuses/{id}", "/@ada/{id}"),
        ("/statuses/{id}", "/@ada/{id}"),
        ("/@ada/followers", "/@ada"),
        ("/@ada@localhost:3000/following", "/@ada"),
        ("/@ada/featured", "/@ada"),
        ("/@ada/{id}/favourites", "/@ada/{id}"),
        ("/@ada/{id}/reblogs", "/@ada/{id}"),
        ("/@ada@localhost:3000/{id}/quotes", "/@ada/{id}"),
    ],
)
@pytest.mark.parametrize("accept", ["text/html,*/*", "application/activity+json"])
async def test_addresses_of_an_earlier_web_client_lead_to_pages(
    stage: Stage, ada: Person, path: str, target: str, accept: str
) -> None:
    id = (await ada.publish())["id"]
    reply = await stage.anybody().get(path.format(id=id), headers={"Accept": accept})
    assert (reply.status, reply.headers.get("Location")) == (302, target.format(id=id))


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/users/ada.rss", "/@ada.rss"),
        ("/@ada.atom", "/@ada.rss"),
        ("/@ada@localhost:3000.atom", "/@ada.rss"),
        ("/tags/caf%C3%A9.atom", "/tags/caf%C3%A9.rss"),
        ("/users/ada@localhost:3000.rss", "/@ada.rss"),
        ("/about/more", "/about"),
        ("/privacy-policy", "/privacy"),
        ("/terms-of-service", "/terms"),
        ("/terms-of-service/2026-01-01", "/terms/2026-01-01"),
        ("/terms-of-service/%0d%0aX-Mark:%20%3f", "/terms/%0D%0AX-Mark%3A%20%3F"),
        ("/auth/edit", "/settings"),
        ("/settings/profile", "/settings"),
        ("/settings/preferences", "/settings"),
        ("/oauth/authorized_applications", "/settings/applications"),
        ("/settings/preferences/other", "/settings"),
        ("/settings/privacy", "/settings"),
        ("/settings/login_activities", "/settings"),
        ("/filters", "/settings"),
        ("/settings/two_factor_authentication_methods", "/settings/two_factor"),
        ("/settings/otp_authentication", "/settings/two_factor"),
        ("/settings/aliases", "/settings/move"),
        ("/settings/migration", "/settings/move"),
        ("/settings/imports", "/settings/import"),
        ("/admin/dashboard", "/admin"),
    ],
)
async def test_addresses_that_apps_and_feed_readers_know_of_mastodon_lead_to_pages(
    stage: Stage, ada: Person, path: str, target: str
) -> None:
    reply = await stage.anybody().get(path)
    assert (reply.status, reply.headers.get("Location")) == (302, target)


async def test_such_addresses_tell_nothing_of_others_and_of_private_posts(
    stage: Stage, ada: Person, bob: Person
) -> None:
    private = (await ada.publish(visibility="private"))["id"]
    foreign = (await bob.publish())["id"]
    await stage.sql("UPDATE accounts SET domain = 'far.test' WHERE id = $1", bob.account.id)
    for path in (
        "/web/@eve@far.test",
        "/@eve@far.test/followers",
        "/web/@a%00b",
        f"/web/statuses/{private}",
        f"/statuses/{private}",
        f"/statuses/{foreign}",
        "/statuses/7",
    ):
        assert (await stage.anybody().get(path)).status == 404, path
