"""The signed-in user on a page of the settings, and the checks of forms.

The pages for staff use them too (`staff/member.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from ...actors.kernel import Address, Message
from ...storage.users import User
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..answers.errors import Forbidden, HttpError
from ..intake.parameters import Input, MaybeText, Text
from ..intake.request import Request
from ..oauth import sessions
from ..oauth.page_frames import frame_for, sign_in_from
from ..oauth.users import user_with
from ..pages.templates import PageFrame, page

OUTDATED = "This page was open for too long. Please go back, reload it and send it again."
WRONG_PASSWORD = "This is not your password."  # noqa: S105  # a sentence

R = TypeVar("R")


class SignInNeeded(HttpError):
    """Raised to redirect a browser without a sign-in to the sign-in page."""

    status = 302

    def __init__(self, request: Request) -> None:
        super().__init__("Please sign in.", headers=(("Location", sign_in_from(request)),))


class SettingsForm(Input):
    """The common fields of all forms of the settings. Most forms require the password again."""

    form_token: MaybeText = None
    password: Text = ""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A user, the secret of the browser's session, and the frame of the user's pages."""

    context: HttpContext
    request: Request
    user: User
    secret: str
    frame: PageFrame

    async def ask(self, message: Message[R]) -> R:
        """Send a message to the user's account actor, and return the reply."""
        address = Address("account", str(self.user.account_id))
        return await self.context.runtime.ask(address, message, origin=self.request.origin)

    async def has_password(self, password: str) -> bool:
        """True if this is the user's password. Wrong passwords count as failed sign-ins. Raises TooMany."""
        found = await user_with(self.context, self.request, self.user.username, password)
        return found is not None and found.account_id == self.user.account_id

    # `Any`: each template has its own variables.
    def page(self, template: str, *, status: int = 200, **facts: Any) -> Answer:
        """Return a page of the settings. `facts` are the variables of the template."""
        return page(
            template,
            self.frame,
            status=status,
            user=self.user,
            form_token=self.frame.form_token,
            **facts,
        )


async def signed_in(context: HttpContext, request: Request) -> SignedIn:
    """Return the signed-in user. Raises SignInNeeded."""
    secret = sessions.secret_of(request)
    user = await sessions.user_of(context, secret)
    if secret is None or user is None:
        raise SignInNeeded(request)
    return SignedIn(context, request, user, secret, await frame_for(context, request, user, secret))


async def sender_of(context: HttpContext, request: Request, form: SettingsForm) -> SignedIn:
    """Return the user who has sent a form of the settings. Raises SignInNeeded, and 403 for a wrong form token."""
    me = await signed_in(context, request)
    if not sessions.is_own_form(me.secret, form.form_token):
        raise Forbidden(OUTDATED)
    return me
