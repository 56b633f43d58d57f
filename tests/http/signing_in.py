"""Signing in on the pages of the server, as a browser and an app do."""

import base64
import hashlib
import html
import re
from urllib.parse import parse_qs, urlencode, urlsplit

from troupe.storage.oauth import Application

from ..clients import PASSWORD, Client, Reply, Stage

SECRET = "application secret"
CALLBACK = "https://app.example/cb"
VERIFIER = "a-verifier-of-at-least-forty-three-characters-0"
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()


def asked(application: Application, **more: str) -> dict[str, str]:
    facts = {"client_id": application.client_id, "redirect_uri": CALLBACK, "response_type": "code", "scope": "read"}
    return facts | more


def authorize(request: dict[str, str]) -> str:
    return f"/oauth/authorize?{urlencode(request)}"


def hidden(page: Reply) -> dict[str, str]:
    found = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', page.text)
    return {name: html.unescape(value) for name, value in found}


async def sign_in(browser: Client, request: dict[str, str], login: str = "ada", password: str = PASSWORD) -> Reply:
    page = await browser.get(authorize(request))
    assert page.status == 200
    return await browser.post("/oauth/authorize", hidden(page) | {"username": login, "password": password})


async def consent_page(browser: Client, request: dict[str, str]) -> Reply:
    """Sign in and see what is asked for."""
    return await browser.get((await sign_in(browser, request)).headers["Location"])


async def consent(browser: Client, request: dict[str, str], decision: str = "allow") -> Reply:
    """Sign in and decide."""
    page = await consent_page(browser, request)
    return await browser.post("/oauth/authorize", hidden(page) | {"decision": decision})


def code_in(answer: Reply) -> str:
    return parse_qs(urlsplit(answer.headers["Location"]).query)["code"][0]


async def exchange(stage: Stage, application: Application, code: str, **more: str) -> Reply:
    form = {
        "grant_type": "authorization_code",
        "client_id": application.client_id,
        "client_secret": SECRET,
        "code": code,
        "redirect_uri": CALLBACK,
    }
    return await stage.anybody().post("/oauth/token", form | more)
