"""A member of staff handles a report in Chromium with the keyboard alone; the pages fit narrow and wide windows."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from .. import plain_http
from .browser import DESK, FITS, PATIENCE, PHONE, POLL, Chrome, show, sign_in, text_of
from .server import PASSWORD, Person, Server

PAGES = (
    *("/admin", "/admin/reports", "/admin/accounts", "/admin/appeals", "/admin/acts", "/admin/settings"),
    *("/admin/announcements", "/admin/invites", "/admin/emoji", "/admin/domains", "/admin/tree", "/admin/actors"),
    *("/admin/log", "/admin/outbox", "/admin/dead_letters", "/admin/allowed_domains", "/admin/networks"),
    *("/admin/email_domains", "/admin/emails", "/admin/trends", "/admin/tags"),
    *("/admin/rules", "/admin/terms", "/admin/texts"),
)
# What can't be read: texts with less contrast than 4.5 to 1 (3 if they are large), and borders of fields and buttons
# with less than 3, each against the nearest opaque background. Hidden and disabled elements are left out.
FAINT = """
const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
const opaque = (colour) => colour.length === 3 || colour[3] === 1;
const part = (one) => (one /= 255) <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4;
const light = ([red, green, blue]) => 0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue);
const ratio = (one, other) => {
  const [dark, bright] = [light(one), light(other)].sort((a, b) => a - b);
  return (bright + 0.05) / (dark + 0.05);
};
const behind = (element) => {
  for (let one = element; one !== null; one = one.parentElement) {
    const colour = parse(getComputedStyle(one).backgroundColor);
    if (opaque(colour)) return colour;
  }
};
const faint = [];
for (const element of document.querySelectorAll("body *")) {
  const style = getComputedStyle(element);
  if (!element.checkVisibility() || element.disabled || element.closest(".hidden, option, svg")) continue;
  const says = (colour, ground, least, what) => {
    const got = ratio(parse(colour), ground);
    const name = `${element.tagName}.${element.className}`;
    if (got < least) faint.push(`${what} of ${name}: ${got.toFixed(2)} (${element.textContent.trim().slice(0, 30)})`);
  };
  const typed = element.matches("input, select, textarea");
  if (typed || [...element.childNodes].some((one) => one.nodeType === 3 && one.data.trim())) {
    const size = parseFloat(style.fontSize), bold = Number(style.fontWeight) >= 700;
    says(style.color, behind(element), size >= 24 || (bold && size >= 18.66) ? 3 : 4.5, "text");
  }
  if (typed && element.placeholder) {
    says(getComputedStyle(element, "::placeholder").color, behind(element), 4.5, "placeholder");
  }
  if (typed || element.matches("button, .button")) {
    const own = parse(style.backgroundColor), around = behind(element.parentElement);
    if (!opaque(own) || ratio(own, around) < 3) says(style.borderTopColor, around, 3, "border");
  }
}
return [...new Set(faint)];
"""
# The short words in cells of tables that stand in two lines or more.
BROKEN_WORDS = r"""
const found = [];
for (const cell of document.querySelectorAll("td, th")) {
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode;
    for (const word of node.data.matchAll(/(?<!\S)[\p{L}\p{N}_.:]{2,13}(?!\S)/gu)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const boxes = [...range.getClientRects()].filter((one) => one.width > 1);
      const lines = new Set(boxes.map((one) => Math.round(one.top)));
      if (lines.size > 1) found.push(word[0]);
    }
  }
}
return found;
"""
# Says whether the focus is on the element with these words or this name. Once it is, Tab leads no further.
STAY = """
const [wanted] = arguments, reached = () => {
  const one = document.activeElement;
  return (one.name || one.textContent.trim()) === wanted;
};
removeEventListener("keydown", window.stay, true);
window.stay = (event) => { if (event.key === "Tab" && reached()) event.preventDefault(); };
addEventListener("keydown", window.stay, true);
return reached();
"""
# Ends this.
GO_ON = "removeEventListener('keydown', window.stay, true)"
TABS = 10  # that are pressed in one go


@pytest.fixture(scope="module")
def owner(server: Server) -> str:
    (person,) = server.people("kowner", role="owner")
    return person.name


def enter(server: Server, browser: Chrome, name: str) -> None:
    """Sign in to the pages for staff."""
    browser.get(f"{server.url}/auth/sign_in?to=/admin")
    sign_in(browser, name, PASSWORD)


def tab_to(browser: Chrome, words: str, most: int = 80) -> None:
    """Press Tab until the focus is on an element with these words or this name."""
    browser.switch_to.active_element.send_keys(Keys.TAB)
    for _ in range(most // TABS):
        if browser.execute_script(STAY, words):
            browser.execute_script(GO_ON)
            return
        browser.switch_to.active_element.send_keys(Keys.TAB * TABS)
    raise AssertionError(f"Tab does not lead to {words!r}: {text_of(browser)}")


def follow(browser: Chrome, words: str) -> None:
    """Go to a link or a button with Tab, and press Enter."""
    tab_to(browser, words)
    before = browser.current_url, text_of(browser)
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    WebDriverWait(browser, PATIENCE, POLL).until(lambda _: (browser.current_url, text_of(browser)) != before)


def report(server: Server) -> str:
    """Have a post reported. Return the report's id."""
    bob, eve = server.people("kbob", "keve")
    post = plain_http.post(
        f"{server.url}/api/v1/statuses", headers=eve.headers, json={"status": "Buy pills"}, timeout=30
    )
    form = {"account_id": eve.id, "status_ids": [post.json()["id"]], "comment": "Spam", "category": "spam"}
    made = plain_http.post(f"{server.url}/api/v1/reports", headers=bob.headers, json=form, timeout=30)
    assert made.status_code == 200, made.text
    return made.json()["id"]


def test_a_report_is_handled_with_the_keyboard(server: Server, chrome: Chrome, owner: str) -> None:
    id = report(server)
    enter(server, chrome, owner)
    assert "open report" in text_of(chrome)
    WebDriverWait(chrome, PATIENCE, POLL).until(lambda _: "Live" in text_of(chrome))
    follow(chrome, "Reports")
    follow(chrome, id)
    follow(chrome, "Take it on")
    assert "The report is yours." in text_of(chrome)
    tab_to(chrome, "content")
    chrome.switch_to.active_element.send_keys("It is spam.")
    follow(chrome, "Add the note")
    assert "It is spam." in text_of(chrome)
    tab_to(chrome, "status_ids[]")
    chrome.switch_to.active_element.send_keys(Keys.SPACE)
    tab_to(chrome, "type")
    chrome.switch_to.active_element.send_keys("Delete the chosen")
    follow(chrome, "Act")
    assert "Nothing brings them back" in text_of(chrome)
    assert chrome.switch_to.active_element.get_attribute("name") == "password"
    chrome.switch_to.active_element.send_keys(PASSWORD)
    follow(chrome, "Do it")
    assert "Done. The audit log has it." in text_of(chrome)
    assert "resolved" in text_of(chrome)


def test_every_page_fits_can_be_read_and_asks_for_nothing_from_elsewhere(
    server: Server, chrome: Chrome, owner: str
) -> None:
    enter(server, chrome, owner)
    chrome.get_log("browser")
    faint: list[str] = []
    for path in PAGES:
        chrome.get(f"{server.url}{path}")
        for width, height, scheme in ((*PHONE, "dark"), (*DESK, "light")):
            show(chrome, width, height, scheme)
            assert chrome.execute_script(FITS), (path, width)
            faint += [f"{path}, {scheme}: {one}" for one in chrome.execute_script(FAINT)]
        loaded = chrome.execute_script("return performance.getEntriesByType('resource').map(one => one.name)")
        assert [one for one in loaded if not one.startswith(server.url)] == []
    said = [one["message"] for one in chrome.get_log("browser") if one["level"] == "SEVERE"]
    assert said == []
    assert faint == []


LONG = "Pneumonoultramicroscopicsilicovolcanoconiosis" * 4
WIDTHS = (390, 700, 961, 1100, 1153, 1280, 1600)


def fill(server: Server, owner: Person) -> list[str]:
    """Have something in each table. Return the addresses of pages that it adds."""
    report(server)
    (eve,) = server.people("keve")
    for path, form in (
        ("domain_blocks", {"domain": f"{'very-' * 10}long.example", "severity": "suspend", "public_comment": LONG,
                           "private_comment": "They send spam to many people every day", "reject_reports": True}),
        ("domain_allows", {"domain": "good.example"}),
        ("ip_blocks", {"ip": "2001:db8:1234:5678::/64", "severity": "no_access", "comment": "a bot net"}),
        ("email_domain_blocks", {"domain": "throwaway.example"}),
        ("canonical_email_blocks", {"email": "a@throwaway.example"}),
        (f"accounts/{eve.id}/action", {"type": "silence", "text": f"be kind {LONG}"}),
    ):  # fmt: skip
        made = plain_http.post(f"{server.url}/api/v1/admin/{path}", headers=owner.headers, json=form, timeout=30)
        assert made.status_code == 200, (path, made.text)
    return [
        f"/admin/accounts/{eve.id}",
        f"/admin/actor?address=account/{eve.id}",
        "/admin/figures",
        "/admin/log?level=error",
    ]


def test_tables_break_no_short_word_and_fit_at_every_width(server: Server, chrome: Chrome) -> None:
    (owner,) = server.people("kowner", role="owner")
    more = fill(server, owner)
    enter(server, chrome, owner.name)
    for path in (*PAGES, *more):
        chrome.get(f"{server.url}{path}")
        for width in WIDTHS:
            show(chrome, width, 900)
            assert chrome.execute_script(BROKEN_WORDS) == [], (path, width)
            assert chrome.execute_script(FITS), (path, width)


def test_the_open_page_is_in_view_on_a_phone_and_a_menu_leads_to_all_others(
    server: Server, chrome: Chrome, owner: str
) -> None:
    enter(server, chrome, owner)
    show(chrome, *PHONE)
    chrome.get(f"{server.url}/admin/tags")
    menu, nav = (chrome.find_element(By.CSS_SELECTOR, one) for one in (".staff-menu summary", ".staff-nav"))
    assert menu.text.startswith("Hashtags")
    assert chrome.execute_script("return arguments[0].getBoundingClientRect().bottom", menu) < PHONE[1] / 3
    assert not nav.is_displayed()
    tab_to(chrome, chrome.execute_script("return arguments[0].textContent.trim()", menu))
    chrome.switch_to.active_element.send_keys(Keys.ENTER)
    assert nav.is_displayed()
    assert nav.find_element(By.CSS_SELECTOR, "[aria-current=page]").text == "Hashtags"
    assert len(nav.find_elements(By.TAG_NAME, "a")) > 20
    assert chrome.execute_script(FITS)
    tab_to(chrome, "Dead letters")  # the links follow the menu
    chrome.switch_to.active_element.send_keys(Keys.ENTER)
    WebDriverWait(chrome, PATIENCE, POLL).until(lambda _: "/admin/dead_letters" in chrome.current_url)
    show(chrome, *DESK)
    assert chrome.find_element(By.CSS_SELECTOR, ".staff-nav").is_displayed()
    assert not chrome.find_element(By.CSS_SELECTOR, ".staff-menu").is_displayed()


def test_a_page_works_without_scripts(server: Server, window: Chrome, owner: str) -> None:
    enter(server, window, owner)
    assert "Needs attention" in text_of(window)
    assert "Pause" not in text_of(window)
