"""The page that share buttons of other sites open."""

import html
import re
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from ..clients import PASSWORD, Person, Reply, Stage
from .settling import Browser, form_token, is_signed_out, problems, signed_in

PAGE = "/share"


def text_in(page: Reply) -> str:
    return html.unescape(re.findall(r"<textarea[^>]*>\n(.*?)</textarea>", page.text, re.DOTALL)[0])


def chosen_in(page: Reply) -> str:
    return re.findall(r'<option value="(\w+)" selected>', page.text)[0]


def form_of(page: Reply) -> dict[str, str]:
    (key,) = re.findall(r'name="key" value="([^"]+)"', page.text)
    return {"form_token": form_token(page), "key": key, "status": text_in(page), "visibility": chosen_in(page)}


async def texts(person: Person) -> list[tuple[str, str]]:
    found = (await person.get(f"/api/v1/accounts/{person.id}/statuses")).json
    return [(status["content"], status["visibility"]) for status in found]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("?text=Read%20this", "Read this"),
        ("?title=A%20%3Cb%3Epage&url=https%3A%2F%2Fa.example%2F", "A <b>page https://a.example/"),
        ("?text=%0Aone%0A%0Atwo%0A", "one\n\ntwo"),
        ("", ""),
    ],
)
async def test_what_a_button_sends_can_be_changed_before_it_is_published(
    stage: Stage, ada: Person, query: str, text: str
) -> None:
    page = await (await signed_in(stage)).get(f"{PAGE}{query}")
    assert (page.status, text_in(page), chosen_in(page)) == (200, text, "public")
    assert await texts(ada) == []


@pytest.mark.parametrize(
    ("usual", "chosen"),
    [("public", "public"), ("unlisted", "unlisted"), ("private", "private"), ("direct", "private")],
)
async def test_a_post_is_for_no_more_people_than_other_posts_of_the_user(
    stage: Stage, ada: Person, usual: str, chosen: str
) -> None:
    await ada.change_profile(source={"privacy": usual})
    assert chosen_in(await (await signed_in(stage)).get(PAGE)) == chosen


async def test_a_phone_shares_by_the_installed_site(stage: Stage, ada: Person) -> None:
    """As its manifest says: browsers share with sites that are more than a tab."""
    manifest = (await stage.anybody().get("/manifest.json")).json
    target = manifest["share_target"]
    assert manifest["display"] != "browser"
    assert target["method"] == "GET"
    shared = {"title": "A title", "text": "what it says", "url": "https://one.example/"}
    query = urlencode({target["params"][name]: value for name, value in shared.items()})
    shown = await (await signed_in(stage)).get(f"{target['action']}?{query}")
    assert "A title what it says https://one.example/" in shown.text


async def test_a_second_press_of_the_button_publishes_nothing_more(stage: Stage, ada: Person) -> None:
    browser = await signed_in(stage)
    form = form_of(await browser.get(f"{PAGE}?text=tea"))
    pages = [await browser.post(PAGE, form | {"visibility": "unlisted"}) for _ in range(2)]
    assert [page.status for page in pages] == [200, 200]
    (path,) = re.findall(r'href="(/@ada/\d+)"', pages[1].text)
    assert "tea" in (await stage.anybody().get(path)).text
    assert await texts(ada) == [("<p>tea</p>", "unlisted")]


async def test_a_key_of_any_length_publishes_once_and_none_each_time(stage: Stage, ada: Person) -> None:
    browser = await signed_in(stage)
    form = form_of(await browser.get(PAGE)) | {"visibility": "public"}
    for key, text in (("k" * 9000, "one"), ("k" * 9000, "again"), ("", "two"), ("", "three")):
        assert (await browser.post(PAGE, form | {"key": key, "status": text})).status == 200
    assert [text for text, _ in await texts(ada)] == ["<p>three</p>", "<p>two</p>", "<p>one</p>"]


async def test_a_post_for_followers_has_no_page_to_lead_to(stage: Stage, ada: Person) -> None:
    browser = await signed_in(stage)
    await ada.change_profile(source={"privacy": "private"})
    page = await browser.post(PAGE, form_of(await browser.get(f"{PAGE}?text=tea")))
    assert (page.status, "/@ada/" in page.text) == (200, False)
    assert await texts(ada) == [("<p>tea</p>", "private")]


async def test_the_sign_in_leads_back_with_the_text(stage: Stage, ada: Person) -> None:
    browser = Browser(stage)
    answer = await browser.get(f"{PAGE}?text=a%20%26%20b&url=https://a.example/")
    assert is_signed_out(answer)
    back = parse_qs(urlsplit(answer.headers["Location"]).query)["to"][0]
    signed = await browser.send("/auth/sign_in", answer.headers["Location"], username="ada", password=PASSWORD, to=back)
    assert text_in(await browser.get(signed.headers["Location"])) == "a & b https://a.example/"


@pytest.mark.parametrize(
    ("text", "problem"),
    [(" ", "The text can't be blank."), ("x" * 501, "The text is too long (maximum is 500 characters).")],
)
async def test_what_can_be_no_post_is_shown_again(stage: Stage, ada: Person, text: str, problem: str) -> None:
    browser = await signed_in(stage)
    page = await browser.post(PAGE, form_of(await browser.get(PAGE)) | {"status": text})
    assert (page.status, problems(page), text_in(page)) == (422, {"status": problem}, text.strip())
    assert await texts(ada) == []


async def test_an_account_that_has_moved_publishes_nothing(stage: Stage, ada: Person, bob: Person) -> None:
    await stage.sql("UPDATE accounts SET moved_to_id = $2 WHERE id = $1", ada.account.id, bob.account.id)
    browser = await signed_in(stage)
    page = await browser.post(PAGE, form_of(await browser.get(f"{PAGE}?text=tea")))
    assert (page.status, await stage.rows("SELECT FROM statuses")) == (422, [])


async def test_a_form_of_another_site_publishes_nothing(stage: Stage, ada: Person) -> None:
    form = {"status": "tea", "visibility": "public"}
    assert is_signed_out(await Browser(stage).post(PAGE, form))
    assert (await (await signed_in(stage)).post(PAGE, form)).status == 403
    assert await texts(ada) == []
