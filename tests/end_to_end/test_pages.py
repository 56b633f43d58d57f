"""The sign-in and consent pages as people meet them: in Chromium, on phones and desks, without JavaScript too."""

from itertools import product
from urllib.parse import urlencode, urlsplit

import pytest
from mastodon import Mastodon
from selenium.webdriver.common.by import By

from troupe.actors.rules import scopes

from .browser import DESK, FITS, PHONE, Chrome, Visitor, clear, press, query_of, show, sign_in, text_of
from .server import PASSWORD, Person, Server

OUT_OF_BAND = "urn:ietf:wg:oauth:2.0:oob"
CUSTOM_SCHEME = "com.example.app:/cb"


@pytest.fixture(scope="module")
def ada(server: Server) -> Person:
    return server.people("ada")[0]


@pytest.fixture
def window(chrome: Chrome) -> Chrome:
    """The shared browser, reset to its first state."""
    clear(chrome)
    return chrome


def asked(
    server: Server,
    redirect_uri: str = OUT_OF_BAND,
    scopes: str = "read write:statuses",
    name: str = "Elk & Friends",
    website: str | None = None,
    **more: str,
) -> str:
    """The address that a freshly registered app sends people to."""
    client_id, _ = Mastodon.create_app(
        name, scopes=scopes.split(), redirect_uris=redirect_uri, website=website, api_base_url=server.url
    )
    query = {"response_type": "code", "client_id": client_id, "redirect_uri": redirect_uri, "scope": scopes}
    return f"{server.url}/oauth/authorize?{urlencode(query | more)}"


def test_a_person_signs_in_reads_what_the_app_wants_and_gets_a_code(
    server: Server, ada: Person, window: Chrome
) -> None:
    window.get(asked(server))
    assert "Elk & Friends" in text_of(window)
    sign_in(window, ada.name, PASSWORD)
    assert f"@{ada.name}" in text_of(window)
    press(window, "Allow")
    code = query_of(window.current_url)["code"]
    assert urlsplit(window.current_url).path == "/oauth/authorize/native"
    assert window.find_element(By.ID, "code").text == code


def test_the_address_signs_in_as_well_as_the_name(server: Server, ada: Person, window: Chrome) -> None:
    window.get(asked(server))
    sign_in(window, f"{ada.name}@example.org", PASSWORD)
    assert f"@{ada.name}" in text_of(window)


def test_scopes_are_told_in_words_and_broad_ones_marked(server: Server, ada: Person, window: Chrome) -> None:
    window.get(asked(server, scopes="read write:statuses"))
    sign_in(window, ada.name, PASSWORD)
    coarse, _ = (line.text for line in window.find_elements(By.CSS_SELECTOR, ".scopes li"))
    assert "read" in coarse
    assert len(coarse.split()) > 3
    marked = [mark.find_element(By.XPATH, "./ancestor::li").text for mark in window.find_elements(By.TAG_NAME, "mark")]
    assert marked == [coarse]
    assert window.find_elements(By.CSS_SELECTOR, "[role=note]") == []


USUAL = "read write follow push"
MANY = " ".join(sorted(scopes.ALL))
LONG_NAME = "W" * 60
# How far the farthest edge of the buttons sticks out of the window.
OUTSIDE = """
    return Math.max(...[...document.querySelectorAll("form button")].flatMap(button => {
        const box = button.getBoundingClientRect(), root = document.documentElement;
        return [-box.top, -box.left, box.bottom - root.clientHeight, box.right - root.clientWidth];
    }))
"""
SCROLLS = "return document.documentElement.scrollHeight > document.documentElement.clientHeight"


@pytest.mark.parametrize(("wanted", "name"), [(USUAL, "Elk & Friends"), (USUAL, LONG_NAME), (MANY, LONG_NAME)])
def test_both_buttons_of_the_consent_page_are_in_view(
    server: Server, ada: Person, window: Chrome, wanted: str, name: str
) -> None:
    window.get(asked(server, scopes=wanted, name=name, website=f"https://{'w' * 1900}.example"))
    sign_in(window, ada.name, PASSWORD)
    for size, scheme in product(((500, 600), (360, 600), (1280, 900)), ("light", "dark")):
        show(window, *size, scheme)
        buttons = [button.text for button in window.find_elements(By.CSS_SELECTOR, "form button")]
        assert sorted(buttons) == ["Allow", "Deny"]
        assert window.execute_script(FITS), size
        for end in ("0", "document.body.scrollHeight"):
            window.execute_script(f"window.scrollTo(0, {end})")
            assert window.execute_script(OUTSIDE) <= 0, (size, scheme, end)


def test_the_consent_page_of_a_usual_app_needs_no_scrolling(server: Server, ada: Person, window: Chrome) -> None:
    show(window, 500, 600)
    window.get(asked(server, scopes=USUAL))
    sign_in(window, ada.name, PASSWORD)
    assert not window.execute_script(SCROLLS)


def test_another_user_can_sign_in_for_the_same_app(server: Server, ada: Person, window: Chrome) -> None:
    (bob,) = server.people("bob")
    window.get(asked(server, redirect_uri=f"{server.url}/about", state="s & t"))
    sign_in(window, ada.name, PASSWORD)
    press(window, "Not you?")
    sign_in(window, bob.name, PASSWORD)
    assert f"@{bob.name}" in text_of(window)
    press(window, "Allow")
    assert query_of(window.current_url)["state"] == "s & t"


def test_a_wrong_password_is_told_plainly_and_the_name_stays(server: Server, ada: Person, window: Chrome) -> None:
    window.get(asked(server))
    sign_in(window, ada.name, "a wrong one")
    assert window.find_element(By.CSS_SELECTOR, "[role=alert]").text == "That name and password do not belong together."
    assert window.find_element(By.NAME, "username").get_attribute("value") == ada.name
    sign_in(window, ada.name, PASSWORD)
    assert "Allow Elk & Friends?" in text_of(window)


def test_an_app_that_is_not_known_is_refused_on_a_page(server: Server, window: Chrome) -> None:
    window.get(f"{server.url}/oauth/authorize?response_type=code&client_id=none&redirect_uri={OUT_OF_BAND}")
    assert "not known here" in window.find_element(By.CSS_SELECTOR, "[role=alert]").text


def test_allowing_leads_back_to_a_web_app_with_its_state(server: Server, ada: Person, window: Chrome) -> None:
    window.get(asked(server, redirect_uri=f"{server.url}/about?from=troupe", state="s & t"))
    sign_in(window, ada.name, PASSWORD)
    press(window, "Allow")
    given = query_of(window.current_url)
    assert (given["from"], given["state"]) == ("troupe", "s & t")
    assert given["code"]


def test_denying_leads_back_with_the_refusal(server: Server, ada: Person, window: Chrome) -> None:
    window.get(asked(server, redirect_uri=f"{server.url}/about", state="s"))
    sign_in(window, ada.name, PASSWORD)
    press(window, "Deny")
    given = query_of(window.current_url)
    assert (given["error"], given["state"]) == ("access_denied", "s")
    assert "code" not in given


def test_an_app_of_a_phone_gets_its_code_by_its_own_scheme(server: Server, ada: Person) -> None:
    visitor = Visitor()
    visitor.visit(asked(server, redirect_uri=CUSTOM_SCHEME, state="s"))
    visitor.send(username=ada.name, password=PASSWORD)
    answer = visitor.send(decision="allow")
    assert answer.status_code == 302
    location = answer.headers["location"]
    assert location.startswith(f"{CUSTOM_SCHEME}?")
    assert query_of(location)["state"] == "s"
    assert query_of(location)["code"]


def test_who_allowed_an_app_is_not_asked_again_unless_the_app_insists(
    server: Server, ada: Person, window: Chrome
) -> None:
    url = asked(server, scopes="read")
    window.get(url)
    sign_in(window, ada.name, PASSWORD)
    window.get(url)
    assert "Allow Elk & Friends?" in text_of(window)
    window.get(f"{url}&force_login=true")
    assert window.find_elements(By.NAME, "password")


def test_all_of_it_works_without_javascript(server: Server, ada: Person, plain_browser: Chrome) -> None:
    clear(plain_browser)
    plain_browser.get("data:text/html,<script>document.title='on'</script>")
    assert plain_browser.title != "on"
    plain_browser.get(asked(server))
    sign_in(plain_browser, ada.name, PASSWORD)
    press(plain_browser, "Allow")
    assert plain_browser.find_element(By.ID, "code").text == query_of(plain_browser.current_url)["code"]


def test_no_page_is_wider_than_its_window(server: Server, ada: Person, window: Chrome) -> None:
    window.get(asked(server, scopes="read write follow push admin:read:accounts admin:write:email_domain_blocks"))
    steps = [lambda: sign_in(window, ada.name, "wrong"), lambda: sign_in(window, ada.name, PASSWORD)]
    steps.append(lambda: press(window, "Allow"))
    for step in [lambda: None, *steps]:
        step()
        for size in (DESK, PHONE):  # the next step is made on a phone
            show(window, *size, mobile=size == PHONE)
            assert window.execute_script(FITS), text_of(window)
