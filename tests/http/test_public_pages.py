"""The pages that the API's links lead to: what they show, to whom, and with which headers."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from troupe.http.pages.templates import FOLDER
from troupe.http.pages.times import shown_time
from troupe.http.web.paging import POSTS

from ..clients import BASE, Person, Stage
from .browsing import Page, feed, page
from .operator_texts import write_operator_text
from .uploading import film, film_of, picture, uploaded

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>&amp;'
NOW = datetime(2026, 11, 27, 14, 5, tzinfo=UTC)


# -- what is shown


async def test_the_links_of_the_api_lead_to_pages(stage: Stage, ada: Person) -> None:
    status = await ada.publish("hello #Tea")
    for url, text in (
        (status["url"], "hello"),
        (status["account"]["url"], "hello"),
        (status["tags"][0]["url"], "hello"),
        ((await stage.anybody().get("/api/v2/instance")).json["configuration"]["urls"]["about"], "localhost:3000"),
        ((await stage.anybody().get("/api/v2/instance")).json["configuration"]["urls"]["privacy_policy"], "password"),
    ):
        assert text in (await page(stage, url.removeprefix(BASE))).text, url


@pytest.mark.parametrize(
    ("path", "target"), [("/users/ada", "/@ada"), ("/users/ADA", "/@ada"), ("/users/ada/statuses/{id}", "/@ada/{id}")]
)
async def test_addresses_for_servers_lead_people_to_pages(stage: Stage, ada: Person, path: str, target: str) -> None:
    id = (await ada.publish())["id"]
    reply = await stage.anybody().get(path.format(id=id), headers={"Accept": "text/html,*/*"})
    assert (reply.status, reply.headers["Location"]) == (302, target.format(id=id))


async def test_a_profile_tells_about_the_account(stage: Stage, ada: Person, bob: Person) -> None:
    await bob.post(f"/api/v1/accounts/{ada.id}/follow")
    fields = {"0": {"name": "site", "value": "https://ada.example"}, "1": {"name": "old", "value": "https://b.example"}}
    await ada.change_profile(display_name="Ada L", note="I like #tea", fields_attributes=fields)
    link = '<a href="https://ada.example" rel="me">x</a>'
    verified = [{"name": "site", "value": link, "verified_at": "2026-11-22T00:00:00.000Z"}]
    await stage.sql("UPDATE accounts SET fields = $2 WHERE id = $1", ada.account.id, verified)
    await stage.sql("UPDATE accounts SET moved_to_id = $2 WHERE id = $1", ada.account.id, bob.account.id)
    shown = await page(stage, "/@ada")
    for text in ("Ada L", "@ada@localhost:3000", "I like", "site", "verified", "1 follower", "has moved to"):
        assert text in " ".join(shown.text.split()), text
    assert shown.all("a", href="https://ada.example", rel="me")
    assert shown.all("a", href="/@bob")
    assert len(shown.all("h1")) == 1


async def test_pinned_statuses_come_first_and_only_on_the_first_page(stage: Stage, ada: Person) -> None:
    pinned = await ada.publish("the pinned one")
    await ada.post(f"/api/v1/statuses/{pinned['id']}/pin")
    await ada.publish("a newer one")
    shown = (await page(stage, "/@ada")).text
    assert shown.index("the pinned one") < shown.index("a newer one")
    for path in ("/@ada/with_replies", f"/@ada?max_id={pinned['id']}"):
        assert "Pinned" not in (await page(stage, path)).text


async def test_tabs_have_replies_and_media(stage: Stage, ada: Person, bob: Person) -> None:
    root = await bob.publish("root")
    await ada.publish("my reply", in_reply_to_id=root["id"])
    medium = (await uploaded(ada, description="a dot"))["id"]
    await ada.write("my picture", media_ids=[medium])
    await ada.post(f"/api/v1/statuses/{root['id']}/reblog")
    found = {tab: (await page(stage, f"/@ada{tab}")).text for tab in ("", "/with_replies", "/media")}
    shown = {tab: [word for word in ("my reply", "my picture", "root") if word in text] for tab, text in found.items()}
    assert shown == {
        "": ["my picture", "root"],
        "/with_replies": ["my reply", "my picture", "root"],
        "/media": ["my picture"],
    }


@pytest.mark.parametrize("path", ["/@ada", "/tags/tea", "/"])
async def test_pages_lead_to_all_posts_and_back(stage: Stage, ada: Person, path: str) -> None:
    for number in range(POSTS + 3):
        await ada.publish(f"post {number:02} #tea")
    first = await page(stage, path)
    assert len(first.all("article")) == POSTS
    assert first.all("a", rel="prev") == []
    (older,) = first.all("a", rel="next")
    second = await page(stage, older["href"])
    assert re.findall(r"post \d+", second.text) == ["post 02", "post 01", "post 00"]
    assert second.all("a", rel="next") == []
    (newer,) = second.all("a", rel="prev")
    assert re.findall(r"post \d+", (await page(stage, newer["href"])).text) == re.findall(r"post \d+", first.text)
    beyond = await page(stage, f"{path}?max_id=1")
    assert beyond.all("a", rel="prev")


async def test_a_status_is_shown_in_its_thread(stage: Stage, ada: Person, bob: Person) -> None:
    root = await ada.publish("root")
    status = await bob.publish("middle", in_reply_to_id=root["id"], language="de")
    await ada.publish("leaf", in_reply_to_id=status["id"])
    shown = await page(stage, f"/@bob/{status['id']}")
    order = [shown.text.rindex(word) for word in ("root", "middle", "leaf")]
    assert order == sorted(order)
    assert "In reply to @ada@localhost:3000" in shown.text
    assert [one.get("lang") for one in shown.all("div", dir="auto") if "text" in one["class"]] == [None, "de", None]
    assert len(shown.all("h1")) == 1


async def test_a_boost_leads_to_the_original(stage: Stage, ada: Person, bob: Person) -> None:
    status = await ada.publish("original")
    boost = (await bob.post(f"/api/v1/statuses/{status['id']}/reblog")).json
    reply = await stage.anybody().get(f"/@bob/{boost['id']}")
    assert (reply.status, reply.headers["Location"]) == (302, f"/@ada/{status['id']}")
    assert "boosted" in (await page(stage, "/@bob")).text


async def test_media_have_their_descriptions_and_hide_where_the_author_wants(stage: Stage, ada: Person) -> None:
    described, bare = (await uploaded(ada, description="a dot"))["id"], (await uploaded(ada))["id"]
    status = await ada.write("look", media_ids=[described, bare])
    shown = await page(stage, f"/@ada/{status['id']}")
    pictures = [one["alt"] for one in shown.all("img", loading="lazy") if one.get("class") != "face"]
    assert pictures == ["a dot", "Picture without a description"]
    assert shown.all("details") == []
    assert shown.meta("og:image") == status["media_attachments"][0]["url"]
    for form in ({"sensitive": True}, {"spoiler_text": "the end"}):
        edit = {"status": "look", "media_ids": [described], **form}
        assert (await ada.send("PUT", f"/api/v1/statuses/{status['id']}", json=edit)).status == 200
        veiled = await page(stage, f"/@ada/{status['id']}")
        (veil,) = veiled.all("details")
        assert "open" not in veil
        assert "/media/" not in (veiled.meta("og:image") or "")


async def test_other_sites_are_told_of_each_picture_with_its_size(stage: Stage, ada: Person) -> None:
    """Facebook shows a picture with the first link to a page only if it is told the size."""
    dot = await uploaded(ada, picture(64, 40), description="a dot")
    shown = await film_of(ada, film(sound=True))
    status = await ada.write("look", media_ids=[dot["id"], (await uploaded(ada, picture(30, 50)))["id"]])
    head = await page(stage, f"/@ada/{status['id']}")
    told = [(one["property"][3:], one["content"]) for one in head.all("meta") if "og:image" in one.get("property", "")]
    first, second = (medium["url"] for medium in status["media_attachments"])
    assert told == [
        ("image", first), ("image:width", "64"), ("image:height", "40"), ("image:alt", "a dot"),
        ("image", second), ("image:width", "30"), ("image:height", "50"),
    ]  # fmt: skip
    still = await page(stage, f"/@ada/{(await ada.write('look', media_ids=[shown['id']]))['id']}")
    assert (still.meta("og:image:width"), still.meta("og:image:height")) == ("64", "48")


async def test_a_film_is_shown_by_its_picture_where_it_is_linked(stage: Stage, ada: Person) -> None:
    shown = await film_of(ada, film(sound=True))
    status = await ada.write("look", media_ids=[shown["id"]])
    head = await page(stage, f"/@ada/{status['id']}")
    assert head.meta("og:image") == shown["preview_url"]
    assert head.meta("twitter:card") == "summary_large_image"
    bare = await film_of(ada, film(sound=True, pictures=False), "a.ogg")
    status = await ada.write("listen", media_ids=[bare["id"]])
    assert (await page(stage, f"/@ada/{status['id']}")).meta("twitter:card") == "summary"


async def test_a_profile_is_found_by_the_whole_handle(stage: Stage, ada: Person) -> None:
    status = await ada.publish("hello")
    for handle in ("ada@localhost:3000", "ADA@LocalHost:3000"):
        assert (await page(stage, f"/@{handle}")).link("canonical") == f"{BASE}/@ada"
        assert (await page(stage, f"/@{handle}/{status['id']}")).link("canonical") == f"{BASE}/@ada/{status['id']}"
        assert (await stage.anybody().get(f"/@{handle}.rss")).status == 200
    for handle in ("ada@elsewhere.example", "ada@", "ada@localhost:3000@localhost:3000", "@localhost:3000"):
        await page(stage, f"/@{handle}", 404)


async def test_media_of_accounts_that_moderators_marked_are_folded(stage: Stage, ada: Person) -> None:
    status = await ada.write("look", media_ids=[(await uploaded(ada))["id"]])
    await stage.sql("UPDATE accounts SET sensitized_at = now() WHERE id = $1", ada.account.id)
    stage.http_context.statuses.clear()
    shown = await page(stage, f"/@ada/{status['id']}")
    assert len(shown.all("details")) == 1
    assert "/media/" not in (shown.meta("og:image") or "")
    assert "/media/" not in (await stage.anybody().get("/@ada.rss")).text


async def test_polls_show_their_results(stage: Stage, ada: Person, bob: Person) -> None:
    status = await ada.send(
        "POST", "/api/v1/statuses", json={"status": "tea?", "poll": {"options": ["yes", "no"], "expires_in": 600}}
    )
    assert (
        await bob.send("POST", f"/api/v1/polls/{status.json['poll']['id']}/votes", json={"choices": [0]})
    ).status == 200
    shown = " ".join((await page(stage, f"/@ada/{status.json['id']}")).text.split())
    assert "yes 100%" in shown
    assert "no 0%" in shown
    assert "1 vote" in shown


async def test_votes_that_are_hidden_until_the_end_are_hidden_here_too(stage: Stage, ada: Person) -> None:
    poll = {"options": ["yes", "no"], "expires_in": 600, "hide_totals": True}
    status = await ada.send("POST", "/api/v1/statuses", json={"status": "tea?", "poll": poll})
    assert "%" not in (await page(stage, f"/@ada/{status.json['id']}")).text


async def test_a_quoted_status_is_shown_as_long_as_everybody_may_see_it(stage: Stage, ada: Person, bob: Person) -> None:
    quoted = await ada.publish("the quoted words", quote_approval_policy="public")
    status = await bob.publish("my comment", quoted_status_id=quoted["id"])
    path = f"/@bob/{status['id']}"
    assert "the quoted words" in (await page(stage, path)).text
    await ada.delete(f"/api/v1/statuses/{quoted['id']}")
    gone = (await page(stage, path)).text
    assert "the quoted words" not in gone
    assert "can't be shown" in gone


# -- to whom


@pytest.mark.parametrize("visibility", ["private", "direct"])
async def test_hidden_statuses_look_like_missing_ones_also_to_their_author(
    stage: Stage, ada: Person, visibility: str
) -> None:
    status = await ada.publish("secret", visibility=visibility)
    missing = await stage.anybody().get("/@ada/123")
    for path in (f"/@ada/{status['id']}", f"/@ada/{status['id']}/embed", f"/users/ada/statuses/{status['id']}"):
        for client in (stage.anybody(), ada):
            reply = await client.get(path)
            assert (reply.status, reply.body) == (404, missing.body)
    for path in ("/", "/@ada", "/@ada/with_replies", "/@ada.rss"):
        assert "secret" not in (await ada.get(path)).text


async def test_hidden_statuses_are_in_no_thread_quote_or_boost_and_not_pinned(
    stage: Stage, ada: Person, bob: Person
) -> None:
    root = await ada.publish("root", quote_approval_policy="public")
    await bob.publish("secret reply", in_reply_to_id=root["id"], visibility="private")
    pinned = await ada.publish("secret pin", visibility="private")
    await ada.post(f"/api/v1/statuses/{pinned['id']}/pin")
    quoting = await bob.publish("my comment", quoted_status_id=root["id"])
    boosted = await ada.publish("boosted")
    await bob.post(f"/api/v1/statuses/{boosted['id']}/reblog")
    public_until_now = [int(root["id"]), int(boosted["id"])]
    for path in (f"/@ada/{root['id']}", "/@ada"):
        assert "secret" not in (await page(stage, path)).text
    await stage.sql(
        "UPDATE statuses SET visibility = 'private', content = 'secret' WHERE id = ANY($1)", public_until_now
    )
    stage.http_context.statuses.clear()
    for path in (f"/@bob/{quoting['id']}", "/@bob", "/", "/@ada"):
        assert "secret" not in (await page(stage, path)).text, path


async def test_the_status_of_another_account_is_missing(stage: Stage, ada: Person, bob: Person) -> None:
    id = (await ada.publish("written by ada"))["id"]
    boost = (await bob.post(f"/api/v1/statuses/{id}/reblog")).json["id"]
    for path in (f"/@bob/{id}", f"/@bob/{id}/embed", f"/users/bob/statuses/{id}", f"/@ada/{boost}"):
        assert "written by ada" not in (await page(stage, path, 404)).text


@pytest.mark.parametrize("type", ["silence", "suspend"])
async def test_threads_are_without_accounts_that_staff_hid(stage: Stage, ada: Person, bob: Person, type: str) -> None:
    mod = await stage.person("mod", ("admin:write",), role="moderator")
    root = await ada.publish("the root")
    reply = await bob.publish("the reply", in_reply_to_id=root["id"])
    await ada.publish("the answer", in_reply_to_id=reply["id"])
    path = f"/@ada/{root['id']}"
    assert "the reply" in (await page(stage, path)).text
    await mod.post(f"/api/v1/admin/accounts/{bob.id}/action", {"type": type})
    shown = (await page(stage, path)).text
    assert ("the reply" in shown, "the answer" in shown) == (False, True)


async def test_accounts_that_are_gone_are_named_nowhere(stage: Stage, ada: Person, bob: Person) -> None:
    await stage.sql("UPDATE accounts SET moved_to_id = $2 WHERE id = $1", ada.account.id, bob.account.id)
    assert "has moved to" in (await page(stage, "/@ada")).text
    await stage.sql("UPDATE accounts SET suspended_at = now() WHERE id = $1", bob.account.id)
    assert "has moved to" not in (await page(stage, "/@ada")).text


async def test_unlisted_statuses_are_on_no_list_of_the_public(stage: Stage, ada: Person) -> None:
    status = await ada.publish("quiet #tea", visibility="unlisted")
    assert "quiet" in (await page(stage, f"/@ada/{status['id']}")).text
    for path in ("/", "/tags/tea", "/tags/tea.rss", "/@ada.rss"):
        assert "quiet" not in (await stage.anybody().get(path)).text


@pytest.mark.parametrize("column", ["suspended_at", "deleted_at"])
async def test_pages_of_an_account_that_is_gone_say_so(stage: Stage, ada: Person, column: str) -> None:
    id = (await ada.publish("was here"))["id"]
    await stage.sql(f"UPDATE accounts SET {column} = now() WHERE id = $1", ada.account.id)
    for path in ("/@ada", "/@ada/media", f"/@ada/{id}", f"/@ada/{id}/embed", "/users/ada"):
        gone = await page(stage, path, 410)
        assert "This is gone" in gone.text
        assert gone.all("a", href="/")
    assert (await stage.anybody().get("/@ada.rss")).status == 410


async def test_accounts_that_wait_for_approval_have_no_page(stage: Stage) -> None:
    await stage.person("eve", approved_at=None)
    await page(stage, "/@eve", 404)


async def test_a_deleted_status_is_missing_at_once(stage: Stage, ada: Person) -> None:
    status = await ada.publish("soon gone #tea")
    paths = (f"/@ada/{status['id']}", "/@ada", "/tags/tea", "/", "/@ada.rss")
    tags = {path: (await stage.anybody().get(path)).headers["ETag"] for path in paths}
    await ada.delete(f"/api/v1/statuses/{status['id']}")
    for path, tag in tags.items():
        reply = await stage.anybody().get(path, headers={"If-None-Match": tag})
        assert reply.status in (200, 404)
        assert "soon gone" not in reply.text


class TestWithoutPreviews:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return {"rate_limits": False, "public_preview": False}

    async def test_timelines_are_for_members_and_single_pages_are_open(self, stage: Stage, ada: Person) -> None:
        status = await ada.publish("inside #tea")
        for path in ("/tags/tea", "/tags/tea.rss"):
            reply = await stage.anybody().get(path)
            assert reply.status == 401
            assert "inside" not in reply.text
        front = await page(stage, "/")
        assert "inside" not in front.text
        assert "for its members" in front.text
        assert "inside" in (await page(stage, f"/@ada/{status['id']}")).text


class TestWithContact:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return {"rate_limits": False, "contact_account": "ada"}

    @pytest.mark.parametrize("column", ["suspended_at", "deleted_at"])
    async def test_a_contact_that_is_gone_is_not_named(self, stage: Stage, ada: Person, column: str) -> None:
        about = await page(stage, "/about")
        assert about.all("a", href="/@ada")
        await stage.sql(f"UPDATE accounts SET {column} = now() WHERE id = $1", ada.account.id)
        for path in ("/about", "/"):
            assert not (await page(stage, path)).all("a", href="/@ada"), path


class TestWithLimits:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return {"rate_limits": True}

    async def test_pages_are_counted(self, stage: Stage, ada: Person) -> None:
        browser = stage.anybody()
        codes = {(await browser.get("/@ada")).status for _ in range(301)}
        assert codes == {200, 429}
        assert (await browser.get("/style.css")).status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/@%3Cscript%3E", "/@a%2Fb", "/@ada%2F1", "/@%00", "/@ada%00", "/@%ED%A0%80", "/@%E2%80%AEada", "/@",
        "/@" + "a" * 5000, "/@ada@far.example", "/@ada/%3Cscript%3E", "/@ada/0", "/@ada/99999999999999999999",
        "/@ada/1/2/3",
        "/tags/%3Cscript%3E", "/tags/%00", "/tags/a%20b", "/tags/" + "a" * 300, "/users/%3Cscript%3E", "/terms",
        "/terms/2026-01-01", "/@nobody.rss", "/@.rss",
    ],
)  # fmt: skip
async def test_hostile_addresses_lead_to_the_page_of_what_is_missing(stage: Stage, ada: Person, path: str) -> None:
    reply = await stage.anybody().get(path, headers={"Accept": "text/html"})
    assert reply.status == 404
    assert "There is nothing here" in reply.text
    assert "<script" not in reply.text
    assert stage.failures == []


# -- escaping


async def test_hostile_text_stays_text_in_every_place(stage: Stage, ada: Person, bob: Person) -> None:
    await bob.change_profile(
        display_name=HOSTILE[:30], note=HOSTILE, fields_attributes={"0": {"name": HOSTILE[:30], "value": HOSTILE}}
    )  # fmt: skip
    medium = (await uploaded(bob, description=HOSTILE))["id"]
    pictured = await bob.write(f"{HOSTILE} #tea", media_ids=[medium])
    poll = {"options": [HOSTILE[:45], "b"], "expires_in": 600}
    sent = {"status": HOSTILE, "spoiler_text": HOSTILE, "poll": poll}
    asked = (await bob.send("POST", "/api/v1/statuses", json=sent)).json
    await ada.publish("@bob so", in_reply_to_id=asked["id"])
    await stage.sql("UPDATE applications SET name = $1", HOSTILE)
    paths = ("/", "/@bob", "/@bob/media", f"/@bob/{pictured['id']}", f"/@bob/{asked['id']}", "/tags/tea")
    for path in (*paths, f"/@bob/{asked['id']}/embed"):
        shown = await page(stage, path)
        assert shown.all("script") == [], path
        assert not any("onerror" in one or "style" in one for _, one in shown.elements), path
        assert all(one["src"].startswith("/") for one in shown.all("img")), path
        assert "alert(1)" in shown.text
    for path in ("/@bob.rss", "/tags/tea.rss"):
        assert (await feed(stage, path)).find("script") is None


def test_templates_show_nothing_as_html_that_is_not_said_to_be_safe() -> None:
    shown = [name for file in FOLDER.glob("*.html") for name in re.findall(r"\{\{([^{}]*)\|\s*safe", file.read_text())]
    assert len(shown) > 10
    # The picture is the QR code of the two-factor settings, which this server draws.
    assert [name for name in shown if not name.strip().endswith("_html") and name.strip() != "picture"] == []


# -- heads and headers


async def test_pages_describe_themselves_to_other_sites(stage: Stage, ada: Person) -> None:
    await ada.change_profile(note="I like tea", indexable="true")
    status = await ada.publish("hello world")
    profile, post = await page(stage, "/@ada"), await page(stage, f"/@ada/{status['id']}")
    assert (profile.meta("og:type"), profile.meta("og:description")) == ("profile", "I like tea")
    assert (profile.link("canonical"), profile.meta("fediverse:creator")) == (f"{BASE}/@ada", "@ada@localhost:3000")
    assert profile.link("alternate", type="application/rss+xml") == f"{BASE}/@ada.rss"
    assert (post.meta("og:type"), post.meta("og:title")) == ("article", "Ada: hello world")
    assert (post.meta("twitter:card"), post.link("canonical")) == ("summary", f"{BASE}/@ada/{status['id']}")
    embed = (await stage.anybody().get(post.link("alternate", type="application/json+oembed").removeprefix(BASE))).json
    assert embed["author_name"] == "Ada"


async def test_pages_are_indexed_as_their_authors_want(stage: Stage, ada: Person, bob: Person) -> None:
    await ada.change_profile(indexable="true")
    status = await ada.publish("hello #tea")
    quiet = await ada.publish("quiet", visibility="unlisted")
    for path, noindex in (
        ("/@ada", False), (f"/@ada/{status['id']}", False), (f"/@ada/{quiet['id']}", True), ("/@bob", True),
        ("/", False), ("/tags/tea", False), ("/about", False), (f"/@ada/{status['id']}/embed", True),
    ):  # fmt: skip
        assert (await page(stage, path)).noindex == noindex, path
    others = await bob.publish("me too #tea", quote_approval_policy="public")
    for path in ("/", "/tags/tea"):
        assert (await page(stage, path)).noindex, path
    quoting = await ada.publish("look", quoted_status_id=others["id"])
    assert (await page(stage, f"/@ada/{quoting['id']}")).noindex


async def test_pages_may_be_kept_if_the_browser_asks_first(stage: Stage, ada: Person) -> None:
    status = await ada.publish("hello #tea")
    for path in (
        "/",
        "/about",
        "/privacy",
        "/@ada",
        f"/@ada/{status['id']}",
        "/tags/tea",
        "/@ada.rss",
        "/tags/tea.rss",
    ):
        first = await stage.anybody().get(path)
        assert first.headers["Cache-Control"] == "no-cache"
        assert "Set-Cookie" not in first.headers
        again = await stage.anybody().get(path, headers={"If-None-Match": first.headers["ETag"]})
        assert (again.status, again.body, again.headers["ETag"]) == (304, b"", first.headers["ETag"]), path
        head = await stage.anybody().send("HEAD", path)
        assert (head.status, head.headers["ETag"]) == (200, first.headers["ETag"])
    await ada.put(f"/api/v1/statuses/{status['id']}", {"status": "changed #tea"})
    changed = await stage.anybody().get(path, headers={"If-None-Match": first.headers["ETag"]})
    assert "changed" in changed.text


async def test_pages_run_nothing_and_load_nothing_from_elsewhere(stage: Stage, ada: Person) -> None:
    status = await ada.publish("hello https://elsewhere.example/x.png")
    for path in ("/", "/about", "/privacy", "/@ada", f"/@ada/{status['id']}", "/@nobody"):
        reply = await stage.anybody().get(path)
        policy = reply.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "script" not in policy
        assert "frame-ancestors 'none'" in policy
        assert reply.headers["X-Frame-Options"] == "DENY"
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        assert reply.headers["Referrer-Policy"] == "no-referrer"
        shown = Page(reply)
        loaded = [one.get("src", "") for _, one in shown.elements] + [
            one["href"] for one in shown.all("link", rel="stylesheet")
        ]
        assert all(not address or address.startswith("/") for address in loaded)


async def test_other_sites_may_frame_the_embedded_status_alone(stage: Stage, ada: Person) -> None:
    status = await ada.publish("framed")
    reply = await stage.anybody().get(f"/@ada/{status['id']}/embed")
    assert "frame-ancestors *;" in reply.headers["Content-Security-Policy"]
    assert "X-Frame-Options" not in reply.headers
    assert "framed" in Page(reply).text


async def test_times_say_how_long_ago_and_have_the_whole_date(stage: Stage, ada: Person) -> None:
    status = await ada.publish("hello #tea")
    at = stage.http_context.clock.now() - timedelta(minutes=3, seconds=5)
    await stage.sql("UPDATE statuses SET created_at = $1", at)
    stage.http_context.statuses.clear()
    whole = f"{at.day} {at:%b %Y, %H:%M} UTC"
    for path in ("/", "/@ada", "/tags/tea"):
        shown = await page(stage, path)
        assert "3 minutes ago" in shown.text, path
        assert shown.all("time", datetime=f"{at:%Y-%m-%dT%H:%M:%SZ}", title=whole), path
    assert whole in (await page(stage, f"/@ada/{status['id']}")).text


@pytest.mark.parametrize(
    ("age", "written"),
    [
        (timedelta(0), "just now"), (timedelta(seconds=59), "just now"), (timedelta(seconds=-59), "just now"),
        (timedelta(minutes=1), "1 minute ago"), (timedelta(minutes=3, seconds=59), "3 minutes ago"),
        (timedelta(minutes=59, seconds=59), "59 minutes ago"), (timedelta(hours=1), "1 hour ago"),
        (timedelta(hours=23, minutes=59), "23 hours ago"), (timedelta(days=1), "1 day ago"),
        (timedelta(days=6, hours=23), "6 days ago"), (timedelta(days=7), "20 Nov 2026, 14:05"),
        (timedelta(days=400), "23 Oct 2025, 14:05"), (timedelta(hours=-2), "27 Nov 2026, 16:05"),
    ],
)  # fmt: skip
def test_a_time_says_how_long_ago_it_was(age: timedelta, written: str) -> None:
    shown = shown_time(NOW - age, NOW)
    assert shown.ago == written
    assert shown.full == f"{NOW - age:%-d %b %Y, %H:%M} UTC"
    assert datetime.fromisoformat(shown.iso) == NOW - age


# -- the server


async def test_the_front_page_says_what_the_server_is(stage: Stage, ada: Person) -> None:
    await ada.publish("the newest post")
    front = await page(stage, "/")
    for text in ("localhost:3000", "the newest post", "New posts"):
        assert text in front.text
    assert "/auth/sign_up" not in [one["href"] for one in front.all("a")]


async def test_the_operators_texts_are_on_pages(stage: Stage) -> None:
    write_operator_text(stage, "description.md", "We like **tea**.")
    write_operator_text(stage, "privacy.md", "# Our privacy\n\nNo logs. <script>alert(1)</script>")
    write_operator_text(stage, "terms/2026-01-01.md", "Be kind.")
    write_operator_text(stage, "rules.toml", '[[rules]]\nid = 1\ntext = "No <b>shouting</b>"\nhint = "Not even once"\n')
    for path, texts in (
        ("/about", ("We like", "No <b>shouting</b>", "Not even once")), ("/", ("No <b>shouting</b>",)),
        ("/privacy", ("Our privacy", "No logs")), ("/terms", ("Be kind.", "2026-01-01")),
        ("/terms/2026-01-01", ("Be kind.",)),
    ):  # fmt: skip
        shown = await page(stage, path)
        assert all(text in shown.text for text in texts), path
        assert len(shown.all("h1")) == 1, path
        assert shown.all("script") == []
        assert shown.all("a", href="/terms")


async def test_crawlers_and_browsers_find_their_files(stage: Stage) -> None:
    client = stage.anybody()
    robots = await client.get("/robots.txt")
    assert {"Disallow: /api/", "Allow: /api/oembed"} <= {*robots.text.splitlines()}
    assert (await client.get("/favicon.ico")).body[:4] == b"\0\0\1\0"
    manifest = (await client.get("/manifest.json")).json
    assert manifest["name"] == "Troupe"
    for icon in manifest["icons"]:
        assert (await client.get(icon["src"])).headers["Content-Type"] == icon["type"]
    style = (await page(stage, "/about")).link("stylesheet")
    assert "immutable" in (await client.get(style)).headers["Cache-Control"]
