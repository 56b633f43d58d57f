"""A browser on the pages of the settings: it signs in, reads forms and sends them."""

import html
import re

from pyotp.totp import TOTP
from quart.datastructures import FileStorage

from troupe.actors.mail.templates import Letter

from ..clients import PASSWORD, Client, Reply, Stage

SIGN_IN = "/auth/sign_in"
TWO_FACTOR = "/settings/two_factor"


class Browser:
    """A browser without JavaScript. It keeps cookies, and is led on by no redirect."""

    def __init__(self, stage: Stage) -> None:
        self._client: Client = stage.anybody()

    async def get(self, path: str) -> Reply:
        return await self._client.get(path)

    async def send_as(self, method: str, path: str, headers: dict[str, str] | None = None) -> Reply:
        """Send a request without a body by any method."""
        return await self._client.send(method, path, headers)

    async def post(self, path: str, form: dict[str, str]) -> Reply:
        return await self._client.post(path, form)

    async def upload(self, path: str, form: dict[str, str], file: FileStorage) -> Reply:
        """Send a form with a file."""
        return await self.upload_as("file", path, form, file)

    async def upload_as(self, name: str, path: str, form: dict[str, str], file: FileStorage) -> Reply:
        """Send a form with a file in the field of this name."""
        return await self._client.send("POST", path, form=form, files={name: file})

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


def link_in(letter: Letter) -> str:
    """Return the link of a mail."""
    found = re.search(r"http://localhost:3000(/auth/\S+)", letter.body)
    assert found is not None, letter.body
    return found[1]


class Phone:
    """An authenticator app. Each code that it is asked for is of a later step than the one before."""

    def __init__(self, stage: Stage, secret: str) -> None:
        self._stage = stage
        self._totp = TOTP(secret)

    async def code(self) -> str:
        """Return a code that was not accepted yet: of the next step, after the last one was moved back."""
        await self._stage.sql("UPDATE two_factor SET last_step = 0")
        return self.present()

    def present(self) -> str:
        return self._totp.at(self._stage.http_context.clock.now())

    def of_step(self, step: int) -> str:
        return self._totp.generate_otp(step)


def secret_in(page: Reply) -> str:
    return re.findall(r'<code class="code" id="secret">(\w+)</code>', page.text)[0]


def recovery_codes_in(page: Reply) -> list[str]:
    return re.findall(r"<li><code>([a-z2-7-]{19})</code></li>", page.text)


async def turned_on(stage: Stage, browser: Browser) -> tuple[Phone, list[str]]:
    """Turn it on in a browser. Return the app, and the recovery codes."""
    page = await browser.send(f"{TWO_FACTOR}/new", TWO_FACTOR, password=PASSWORD)
    assert page.status == 200, page.text
    phone = Phone(stage, secret_in(page))
    form = {"form_token": form_token(page), "code": phone.present()}
    return phone, recovery_codes_in(await browser.post(f"{TWO_FACTOR}/confirm", form))
