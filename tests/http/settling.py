"""A browser on the pages of the settings: it signs in, reads forms and sends them."""

import html
import re

from ..clients import PASSWORD, Client, Reply, Stage

SIGN_IN = "/auth/sign_in"


class Browser:
    """A browser without JavaScript. It keeps cookies, and is led on by no redirect."""

    def __init__(self, stage: Stage) -> None:
        self._client: Client = stage.anybody()

    async def get(self, path: str) -> Reply:
        return await self._client.get(path)

    async def post(self, path: str, form: dict[str, str]) -> Reply:
        return await self._client.post(path, form)

    async def send(self, path: str, at: str | None = None, /, **typed: str) -> Reply:
        """Open the page `at`, or `path`, and send its form to `path`."""
        return await self.post(path, {"form_token": form_token(await self.get(at or path))} | typed)

    async def sign_in(self, name: str = "ada", password: str = PASSWORD) -> Reply:
        return await self.send(SIGN_IN, username=name, password=password)


async def signed_in(stage: Stage, name: str = "ada", password: str = PASSWORD) -> Browser:
    """Return a browser in which the user is signed in."""
    browser = Browser(stage)
    answer = await browser.sign_in(name, password)
    assert (answer.status, answer.headers["Location"]) == (302, "/settings"), answer.text
    return browser


def form_token(page: Reply) -> str:
    return re.findall(r'name="form_token" value="([^"]*)"', page.text)[0]


def problems(page: Reply) -> dict[str, str]:
    found = re.findall(r'<p class="problem" role="alert" id="(\w+)-problem">([^<]*)</p>', page.text)
    return {name: html.unescape(text) for name, text in found}


def is_signed_out(answer: Reply) -> bool:
    """True if a page of the settings leads to the sign-in page."""
    return answer.status == 302 and answer.headers["Location"].startswith(SIGN_IN)
