"""The public pages in Chromium: on phones and desks, in the light and in the dark, as everybody sees them first."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product
from typing import Any

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from troupe.storage import preview_cards
from troupe.storage.engine.connect import transact_once
from troupe.storage.engine.database import Connection
from troupe.storage.engine.embedded import embedded
from troupe.storage.preview_cards import CardFacts

from .. import plain_http
from ..http.uploading import animation, film, picture
from .browser import DESK, FITS, PATIENCE, PHONE, POLL, Chrome, press, show, show_as_usual, sign_in, text_of
from .server import PASSWORD, Person, Server

LONG = "Pneumonoultramicroscopicsilicovolcanoconiosis" * 8
ARABIC = "صباح الخير! هذا نص طويل باللغة العربية عن الشاي والقطارات، مع كلمة English في الوسط."
# What a page must have for people who don't see it: one heading of the first level, one main part, a language, a title,
# a description of each picture, words in each link, and no id twice.
COMPLAINTS = """
    const all = selector => [...document.querySelectorAll(selector)], found = [];
    if (all("h1").length != 1) found.push(all("h1").length + " h1");
    if (all("main").length != 1) found.push("no main");
    if (!document.documentElement.lang || !document.title) found.push("no language or title");
    found.push(...all("img:not([alt])").map(one => "no alt: " + one.src));
    found.push(...all("a").filter(one => !one.textContent.trim() && !one.querySelector("img[alt]:not([alt=''])"))
        .map(one => "an empty link: " + one.href));
    const ids = all("[id]").map(one => one.id);
    if (new Set(ids).size != ids.length) found.push("an id twice");
    return found;
"""
# Texts whose colour is too near to that of the ground (WCAG 2.2, 1.4.3).
FAINT = """
    const parts = colour => colour.match(/[\\d.]+/g).map(Number);
    const light = ([r, g, b]) => [r, g, b].map(part => part / 255)
        .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
    const ground = one => {
        for (; one; one = one.parentElement) {
            const colour = parts(getComputedStyle(one).backgroundColor);
            if (colour.length == 3 || colour[3] == 1) return colour;
        }
        return [255, 255, 255];
    };
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
    while (texts.nextNode()) {
        const one = texts.currentNode.parentElement;
        const box = one.getBoundingClientRect();
        if (!texts.currentNode.data.trim() || box.width <= 1) continue;  // not shown, or for screen readers alone
        const [low, high] = [light(parts(getComputedStyle(one).color)), light(ground(one))].sort((a, b) => a - b);
        if ((high + 0.05) / (low + 0.05) < 4.5) found.push(texts.currentNode.data.trim());
    }
    return found;
"""
# The pages that are refusals, with their statuses.
REFUSED = {"missing": "404", "terms": "404", "old link": "404", "unconfirmed": "404", "unknown app": "400"}
BROKEN = "return [...document.images].filter(one => one.complete && !one.naturalWidth).map(one => one.src)"


@pytest.fixture(scope="module")
def paths(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A page of each kind, with everything that can be on one."""
    picture = tmp_path_factory.mktemp("emoji") / "owl.gif"
    picture.write_bytes(animation())
    assert server.troupe("emoji", "add", "owl", picture).returncode == 0
    ada, bob = server.people("ada", "bob")
    profile = {
        "display_name": "W" * 30,
        "note": f"{LONG} #tea",
        "fields_attributes": {"0": {"name": "a", "value": LONG[:255]}},
    }
    send(ada, "/api/v1/accounts/update_credentials", "PATCH", **profile)
    send(bob, "/api/v1/accounts/update_credentials", "PATCH", display_name="ليلى :owl: العمري", note=ARABIC)
    media = [upload(ada) for _ in range(6)]
    pictures = write(ada, "many pictures", media_ids=media[:4])
    for form in ({"sensitive": True, "media_ids": media[4:5]}, {"spoiler_text": "the end", "media_ids": media[5:]}):
        write(ada, "hidden at first", **form)
    poll = write(ada, "which?", poll={"options": ["W" * 50, "an :owl:"], "expires_in": 600})
    linking = write_with_card(server, ada)
    last = root = write(bob, f"{ARABIC} #tea", language="ar")
    for number in range(8):
        last = write((ada, bob)[number % 2], f"{LONG} {number}", in_reply_to_id=last["id"])
    send(ada, f"/api/v1/statuses/{root['id']}/reblog")
    send(ada, f"/api/v1/statuses/{pictures['id']}/pin")
    yield {
        "front": "/", "about": "/about", "api": "/api", "privacy": "/privacy", "tag": "/tags/tea",
        "missing": "/@nobody",
        "profile": f"/@{ada.name}", "right to left": f"/@{bob.name}", "media": f"/@{ada.name}/media",
        "thread": f"/@{bob.name}/{root['id']}", "poll": f"/@{ada.name}/{poll['id']}",
        "card": f"/@{ada.name}/{linking['id']}",
        "follow from here": f"/authorize_interaction?uri=https://far.example/@{'very_long_name' * 8}",
        "embedded": f"/@{ada.name}/{pictures['id']}/embed", "terms": "/terms", "sign in": "/auth/sign_in",
        "forgotten": "/auth/password/new", "sent": "/auth/password/sent", "old link": "/auth/email?token=x",
        "new mail": "/auth/confirmation/new", "unconfirmed": "/auth/confirmation?confirmation_token=x",
        "code": f"/oauth/authorize/native?code={'x' * 43}",
        "unknown app": "/oauth/authorize?client_id=x&redirect_uri=y",
    }  # fmt: skip
    assert server.troupe("emoji", "remove", "owl", "--yes").returncode == 0


def send(person: Person, path: str, method: str = "POST", **form: Any) -> Any:
    reply = plain_http.request(method, person.url + path, json=form, headers=person.headers, timeout=30)
    assert reply.status_code == 200, reply.text
    return reply.json()


def write(person: Person, text: str, **more: Any) -> Any:
    return send(person, "/api/v1/statuses", status=text, **more)


def write_with_card(server: Server, author: Person) -> Any:
    """A status with the card of a page. The server reads the card when the status is edited."""
    url = "https://tea.example/"
    status, form = write(author, f"see {url}"), {"status": f"an :owl: drinks tea, see {url}"}
    address = send(author, f"/api/v1/media/{upload(author)}", "GET")["url"]
    facts = CardFacts(
        title=LONG, provider_name=LONG[:200], description=f"{LONG} ".upper() * 2,
        image_file=address.partition("/media/")[2], image_description="a pattern",
    )  # fmt: skip

    async def attach(db: Connection) -> None:
        id = int(status["id"])
        stored = await preview_cards.store(db, id, url, facts, datetime.now(UTC))
        await preview_cards.attach(db, id, stored.id, id)

    with embedded(server.data) as postgres:
        transact_once(postgres.dsn, attach)
    return send(author, f"/api/v1/statuses/{status['id']}", "PUT", **form)


def upload(person: Person) -> str:
    """A picture: the one of an account that has none, from the server itself."""
    drawn = plain_http.get(f"{person.url}/avatars/original/abcd.png").content
    reply = plain_http.post(
        f"{person.url}/api/v2/media", files={"file": ("a.png", drawn, "image/png")}, data={"description": "a pattern"},
        headers=person.headers, timeout=60,
    )  # fmt: skip
    assert reply.status_code == 200, reply.text
    return reply.json()["id"]


def asked_for(chrome: Chrome) -> list[str]:
    """The addresses that the browser has asked for since the last call, without those of its own first page."""
    messages = (json.loads(entry["message"])["message"] for entry in chrome.get_log("performance"))
    sent = [one["params"] for one in messages if one["method"] == "Network.requestWillBeSent"]
    return [one["request"]["url"] for one in sent if one["documentURL"].startswith("http")]


@pytest.mark.parametrize(
    "name",
    [
        "front",
        "about",
        "api",
        "privacy",
        "tag",
        "missing",
        "profile",
        "right to left",
        "media",
        "thread",
        "poll",
        "card",
        "follow from here",
        "embedded",
        "terms",
        "sign in",
        "forgotten",
        "sent",
        "old link",
        "new mail",
        "unconfirmed",
        "code",
        "unknown app",
    ],
)
def test_pages_are_whole_in_every_window(server: Server, paths: dict[str, str], chrome: Chrome, name: str) -> None:
    asked_for(chrome)
    chrome.get(server.url + paths[name])
    for size, scheme in product((PHONE, DESK), ("light", "dark")):
        show(chrome, *size, scheme)
        assert chrome.execute_script(FITS), (size, scheme)
        assert chrome.execute_script(COMPLAINTS) == []
        assert chrome.execute_script(FAINT) == [], (size, scheme)
        assert chrome.execute_script(BROKEN) == []
    show_as_usual(chrome)
    # The console has refusals of the content security policy and failed requests too. A missing page is one.
    said = [entry["message"] for entry in chrome.get_log("browser")]
    assert [one for one in said if name not in REFUSED or REFUSED[name] not in one] == []
    assert [url for url in asked_for(chrome) if not url.startswith(f"{server.url}/")] == []


# How much of its card's width each medium takes, in percent, and how many rows they make.
SHARES = """
    const box = document.querySelector(".whole .media"), media = [...box.querySelectorAll("img, video, audio")];
    const inner = box.parentElement.clientWidth - 2 * parseFloat(getComputedStyle(box.parentElement).paddingLeft);
    const boxes = media.map(one => one.getBoundingClientRect());
    return [boxes.map(one => Math.round(100 * one.width / inner)), new Set(boxes.map(one => Math.round(one.top))).size];
"""


def test_media_fill_their_card(server: Server, chrome: Chrome) -> None:
    """What stands in a row alone takes all of it."""
    (ada,) = server.people("ada")
    wide, tall, tiny = picture(900, 500), picture(300, 700), picture(40, 30)
    a_film = upload_file(ada, film(sound=True), "a.mp4", "video/mp4")
    a_sound = upload_file(ada, film(sound=True, pictures=False), "a.ogg", "audio/ogg")
    for media, shares in (
        ([wide], [100]), ([tall], [100]), ([tiny], [100]), ([wide, tall], [50, 50]),
        ([wide, tall, tiny], [50, 50, 100]), ([wide] * 4, [50] * 4), (a_film, [100]), (a_sound, [100]),
    ):  # fmt: skip
        ids = [media] if isinstance(media, str) else [upload_file(ada, one, "a.png", "image/png") for one in media]
        status = write(ada, "media", media_ids=ids)
        chrome.get(f"{server.url}/@{ada.name}/{status['id']}")
        for size in (PHONE, DESK):
            show(chrome, *size)
            found, rows = chrome.execute_script(SHARES)
            assert all(abs(share - wanted) <= 1 for share, wanted in zip(found, shares, strict=True)), (shares, found)
            assert rows == (len(shares) + 1) // 2
    show_as_usual(chrome)


def upload_file(person: Person, data: bytes, name: str, kind: str) -> str:
    """A medium of this server. Waits until it is made."""
    files, form = {"file": (name, data, kind)}, {"description": "a test"}
    made = plain_http.post(f"{person.url}/api/v1/media", files=files, data=form, headers=person.headers, timeout=60)
    assert made.status_code == 200, made.text
    return made.json()["id"]


def test_a_reader_signs_in_from_a_page_comes_back_to_it_and_signs_out(
    server: Server, paths: dict[str, str], window: Chrome
) -> None:
    (ada,) = server.people("ada")
    at = server.url + paths["thread"]
    window.get(at)
    window.find_element(By.LINK_TEXT, "Sign in").click()
    sign_in(window, ada.name, PASSWORD)
    assert window.current_url == at
    for words, path in ((f"@{ada.name}", f"/@{ada.name}"), ("Settings", "/settings")):
        window.find_element(By.LINK_TEXT, words).click()
        assert window.current_url == server.url + path
    window.find_element(By.CSS_SELECTOR, "header .brand").click()
    assert window.current_url == f"{server.url}/"
    for size, scheme in product((PHONE, DESK), ("light", "dark")):
        show(window, *size, scheme)
        assert window.execute_script(FITS), (size, scheme)
        assert window.execute_script(FAINT) == [], (size, scheme)
    show_as_usual(window)
    press(window, "Sign out")
    window.get(at)
    assert window.find_elements(By.LINK_TEXT, "Sign in")


def test_cards_and_emoji_are_seen(server: Server, paths: dict[str, str], chrome: Chrome) -> None:
    chrome.get(server.url + paths["card"])
    for selector, side in ((".linked img", 100), (".emoji", 16)):
        image = chrome.find_element(By.CSS_SELECTOR, selector)
        assert chrome.execute_script("return arguments[0].getBoundingClientRect().width", image) >= side
        assert chrome.execute_script("return arguments[0].naturalWidth", image) > 0


def test_another_site_shows_a_post_in_a_frame(server: Server, paths: dict[str, str], chrome: Chrome) -> None:
    url = server.url + paths["embedded"].removesuffix("/embed")
    html = plain_http.get(f"{server.url}/api/oembed", params={"url": url}).json()["html"]
    chrome.get(server.url.replace("localhost", "127.0.0.1") + "/robots.txt")  # another origin, to the browser
    chrome.execute_script("document.body.innerHTML = arguments[0]", html)
    chrome.switch_to.frame(chrome.find_element(By.TAG_NAME, "iframe"))
    seen = "return document.readyState == 'complete' && !!document.querySelector('article')"
    WebDriverWait(chrome, PATIENCE, POLL).until(lambda _: chrome.execute_script(seen))
    assert "many pictures" in text_of(chrome)
    assert chrome.execute_script(BROKEN) == []
    assert chrome.execute_script("return document.querySelector('.face').naturalWidth") > 0
    chrome.switch_to.default_content()


def test_media_that_are_hidden_at_first_can_be_unfolded(server: Server, paths: dict[str, str], chrome: Chrome) -> None:
    chrome.get(server.url + paths["media"])
    for veil in chrome.find_elements(By.TAG_NAME, "details"):
        picture = veil.find_element(By.TAG_NAME, "img")
        assert not picture.is_displayed()
        veil.find_element(By.TAG_NAME, "summary").click()
        assert picture.is_displayed()


def test_a_visitor_walks_from_the_front_page_to_a_thread_and_its_author(
    server: Server, paths: dict[str, str], chrome: Chrome
) -> None:
    chrome.get(server.url)
    chrome.find_element(By.LINK_TEXT, "#tea").click()
    assert chrome.current_url.endswith("/tags/tea")
    chrome.find_element(By.CSS_SELECTOR, "article .when").click()
    assert "Replies" in text_of(chrome)
    chrome.find_element(By.CSS_SELECTOR, "article.whole .author").click()
    assert chrome.current_url == server.url + paths["right to left"]
    chrome.find_element(By.LINK_TEXT, "About this server").click()
    assert chrome.find_element(By.TAG_NAME, "h1").text == "About Troupe"


def test_the_first_page_of_a_new_server_says_how_to_sign_in(own_server: Server, chrome: Chrome) -> None:
    own_server.start()
    chrome.get(own_server.url)
    assert f"localhost:{own_server.port}" in text_of(chrome)
    assert "There are no posts to see here" in text_of(chrome)
