"""Web Push with a real server, a real client app, and a real service worker."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.support.wait import WebDriverWait

from .. import plain_http
from .browser import PATIENCE, Chrome, chromium
from .pushing import Mailbox, mailbox
from .server import Person, Server

ASK_WORKER = """
    const [what, given, done] = arguments;
    const channel = new MessageChannel();
    channel.port1.onmessage = event => done(event.data);
    navigator.serviceWorker.controller.postMessage([what, given], [channel.port2]);
"""

REGISTER = """
    const done = arguments[arguments.length - 1];
    window.told = [];
    navigator.serviceWorker.addEventListener('message', event => window.told.push(event.data));
    const ready = () => navigator.serviceWorker.controller ? done(true) : setTimeout(ready, 20);
    navigator.serviceWorker.register('/worker.js').then(ready, error => done(`${error}`));
"""


@pytest.fixture
def box() -> Iterator[Mailbox]:
    with mailbox() as one:
        yield one


@pytest.fixture
def pushing(own_server: Server) -> Server:
    own_server.settings["TROUPE_TEST_HOSTS"] = "localhost"
    own_server.start()
    return own_server


def written(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def subscribe(person: Person, endpoint: str, keys: dict[str, str]) -> Any:
    subscription = {"endpoint": endpoint, "keys": keys, "standard": True}
    wanted = {"subscription": subscription, "data": {"alerts": {"mention": True}}}
    made = plain_http.post(f"{person.url}/api/v1/push/subscription", json=wanted, headers=person.headers, timeout=30)
    assert made.status_code == 200, made.text
    return made.json()


def test_a_client_app_subscribes_and_reads_its_pushes_before_and_after_a_restart(pushing: Server, box: Mailbox) -> None:
    ada, bob = pushing.people("ada", "bob")
    private, public = ada.app.push_subscription_generate_keys()
    endpoint = f"{box.origin}/push/ada"
    made = ada.app.push_subscription_set(endpoint, public, mention_events=True, follow_events=True)
    keys: list[str] = []
    for count, text in enumerate(("before", "after"), 1):
        bob.app.status_post(f"@{ada.name} {text}")
        headers, body = box.receive("/push/ada", count)
        told = ada.app.push_subscription_decrypt_push(body, private, headers["encryption"], headers["crypto-key"])
        assert (told.title, told.body, told.access_token) == (
            f"{bob.name} mentioned you",
            f"@{ada.name} {text}",
            ada.token,
        )
        (latest, *_) = ada.app.notifications()
        assert str(told.notification_id) == str(latest.id)
        keys.append(headers["crypto-key"].partition("p256ecdsa=")[2])
        if text == "before":
            assert pushing.stop() == 0
            pushing.start()
    assert keys == [made.server_key] * 2, "the server's key survives"
    assert ada.app.push_subscription().server_key == made.server_key
    ada.app.push_subscription_delete()
    assert pushing.stop() == 0


def test_a_service_worker_reads_a_push(pushing: Server, box: Mailbox, tmp_path: Path) -> None:
    """As far as it goes without the outside: Chromium's own push service can't be reached, so that its last step, the
    event in the worker, is made by the debugger. Keys and decryption are the worker's own."""
    ada, bob = pushing.people("ada", "bob")
    with chromium(tmp_path / "profile") as chrome:
        registration = _open(chrome, box)
        keys = _ask(chrome, "subscribe")
        subscribe(ada, f"{box.origin}/push/ada", {name: written(bytes(key)) for name, key in keys.items()})
        bob.app.status_post(f"@{ada.name} tea? \N{TEACUP WITHOUT HANDLE}")
        headers, body = box.receive("/push/ada")
        assert headers["content-encoding"] == "aes128gcm"
        text = _ask(chrome, "decrypt", list(body))
        assert json.loads(text)["body"] == f"@{ada.name} tea? \N{TEACUP WITHOUT HANDLE}"
        push = {"origin": box.origin, "registrationId": registration, "data": text}
        chrome.execute_cdp_cmd("ServiceWorker.deliverPushMessage", push)
        WebDriverWait(chrome, PATIENCE).until(lambda _: chrome.execute_script("return window.told.length"))
        (told,) = chrome.execute_script("return window.told")
    assert (told["title"], told["notification_type"]) == (f"{bob.name} mentioned you", "mention")
    assert told["icon"].startswith(pushing.url)
    assert pushing.stop() == 0


def _open(chrome: Chrome, box: Mailbox) -> str:
    """Open the page, wait until its worker works, and return the registration's id."""
    chrome.set_script_timeout(PATIENCE)
    chrome.execute_cdp_cmd("ServiceWorker.enable", {})
    chrome.get(box.origin)
    assert chrome.execute_async_script(REGISTER) is True
    return "0"


def _ask(chrome: Chrome, what: str, given: object = None) -> Any:
    return chrome.execute_async_script(ASK_WORKER, what, given)
