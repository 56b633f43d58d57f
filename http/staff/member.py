"""The member of staff on a page under `/admin`, and the checks of forms.

Every page requires the permission of the matching endpoint in the API. People without it get a 404.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Concatenate, ParamSpec, TypeVar

from ...actors.broadcast.broadcast import account_address
from ...actors.kernel import Message, Refused
from ...actors.rules.roles import Permission, may
from ...actors.staff.acts import OwnServer, Staff, StaffAct, run_act
from ...storage import two_factor
from ...storage.engine.database import Connection
from ...storage.users import User
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..answers.errors import HttpError, NotFound
from ..intake.request import Request
from ..pages.templates import live_page
from ..settings.signed_in import SettingsForm, SignedIn, sender_of, signed_in
from ..settings.two_factor import CodeForm, problems_of
from .navigation import sections_for

P = ParamSpec("P")
R = TypeVar("R")
# The beginning of the API's errors for invalid input. Pages show errors without it.
PREFIX = "Validation failed: "
# Beginnings of the API's errors, and their replacement on pages.
WORDS = {
    "Ip ": "The network ",
    "Canonical email hash has already been taken": "This address is blocked already",
}


class Unconfirmed(Exception):
    """Raised to show the page that requires the password."""

    def __init__(self, page: Answer) -> None:
        super().__init__()
        self.page = page


class StaffForm(SettingsForm):
    """The common fields of all forms for staff."""


class DangerousForm(CodeForm):
    """The fields of a form for a destructive action. Without a password the answer is a page that requires it."""


@dataclass(frozen=True, slots=True)
class Question:
    """The texts of the page that requires the password, and the path to which it leads back."""

    title: str
    warning: str
    button: str
    back: str


@dataclass(frozen=True, slots=True)
class StaffMember:
    """A user whose role has the permission of the page."""

    signed_in: SignedIn

    @property
    def context(self) -> HttpContext:
        return self.signed_in.context

    @property
    def request(self) -> Request:
        return self.signed_in.request

    @property
    def user(self) -> User:
        return self.signed_in.user

    @property
    def staff(self) -> Staff:
        """The member as the audit log names it."""
        return Staff(self.user.account_id, self.user.username)

    async def act(
        self, do: Callable[Concatenate[StaffAct, P], Awaitable[R | Refused]], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Execute an action that needs no actor: on texts, dead letters and the outbox. Raises Refused."""
        return await run_act(self.context.database, self._begin, do, *args, **kwargs)

    def _begin(self, db: Connection) -> StaffAct:
        context = self.context
        server = OwnServer(context.settings.base_url, context.settings.limited_federation)
        return StaffAct(db, self.staff, context.ids, context.clock.now(), server)

    def may(self, permission: Permission) -> bool:
        return may(self.user.role, permission)

    def _may(self, name: str) -> bool:
        """`may` for templates, which have the names of permissions."""
        return self.may(Permission[name])

    async def ask(self, message: Message[R], account_id: int | None = None) -> R:
        """Send a command to an account's actor, by default the member's own, and return the reply. Raises Refused."""
        if account_id is None:
            return await self.signed_in.ask(message)
        return await self.context.runtime.ask(account_address(account_id), message, origin=self.request.origin)

    def page(self, template: str, *, problem: str | None = None, trouble: str | None = None, **facts: object) -> Answer:
        """Return a page for staff. It shows an error of a form (`problem`), or of the server (`trouble`)."""
        return live_page(
            f"staff/{template}",
            self.signed_in.frame,
            status=422 if problem or facts.get("problems") else 200,
            problem=problem or trouble,
            user=self.user,
            sections=sections_for(self.user.role, self.request.path),
            may=self._may,
            form_token=self.signed_in.frame.form_token,
            **facts,
        )

    async def confirm(
        self, posted: DangerousForm, question: Question, repeated: Sequence[tuple[str, str]] = ()
    ) -> None:
        """Check that the form has the member's password, and a code if two-factor authentication is on.

        Otherwise raise Unconfirmed, with the page that requires them. Its form is sent to the path of this request, and
        has the fields `repeated`.
        """
        problems: dict[str, str] = {}
        if posted.password:
            problems = await problems_of(self.signed_in, posted)
            if not problems:
                return
        asking = self.page(
            "confirm.html",
            question=question,
            repeated=repeated,
            action=self.request.path,
            problems=problems,
            needs_code=await self.context.database.read(two_factor.is_enabled, self.user.account_id),
        )
        raise Unconfirmed(asking)


async def staff_member(context: HttpContext, request: Request, permission: Permission) -> StaffMember:
    """Return the signed-in member of staff. Raises SignInNeeded, and NotFound without the permission."""
    return _allowed(await signed_in(context, request), permission)


def admitting(permission: Permission) -> Callable[[HttpContext, Request], Awaitable[StaffMember]]:
    """Return the `admit` of endpoints that require a permission."""

    async def admit(context: HttpContext, request: Request) -> StaffMember:
        return await staff_member(context, request, permission)

    return admit


async def staff_sender(
    context: HttpContext, request: Request, form: SettingsForm, permission: Permission
) -> StaffMember:
    """Return the member of staff who has sent a form. Also raises 403 for a wrong form token.

    The endpoint has `admitting` too: without the permission a wrong token is a 404 as well.
    """
    return _allowed(await sender_of(context, request, form), permission)


def _allowed(found: SignedIn, permission: Permission) -> StaffMember:
    # Users whose account has moved may only sign in and end the move, as in the API.
    if found.user.inactive or not may(found.user.role, permission):
        raise NotFound("Not Found")
    return StaffMember(found)


def sentence_of(refused: Refused | HttpError) -> str:
    """Return a refusal as a sentence for a page. Raises NotFound for a 404."""
    if refused.status == 404:
        raise NotFound
    text = refused.text.removeprefix(PREFIX)
    for beginning, words in WORDS.items():
        if text.startswith(beginning):
            text = words + text.removeprefix(beginning)
    return text if text.endswith((".", "!")) else f"{text}."
