"""The page that share buttons of other sites open, as in Mastodon. The user may change and publish the text."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from ...actors.commands.statuses import PublishStatus
from ...actors.kernel import Refused
from ...actors.rules import lengths, limits
from ...storage.statuses import Status
from ..access import rates
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..intake.parameters import Choice, Input, Prose, Text
from ..intake.request import Request
from ..router import api
from ..settings.signed_in import SettingsForm, SignedIn, sender_of, signed_in
from ..views.resolving import resolve_mentions

Visibility = Literal["public", "unlisted", "private"]
WORDS: dict[str, str] = {
    "public": "Everybody",
    "unlisted": "Everybody, but not in public timelines",
    "private": "Followers",
}
MOVED = "Your account has moved. Its new account can post."
LONGEST_KEY = 255  # characters that the column takes
BLANK = "The text can't be blank."
TOO_LONG = f"The text is too long (maximum is {limits.STATUS_CHARACTERS} characters)."


class ShareQuery(Input):
    """The parameters of a share button. Browsers that share a page send all three."""

    title: Prose = ""
    text: Prose = ""
    url: Prose = ""

    def joined(self) -> str:
        return " ".join(part for part in (self.title, self.text, self.url) if part)


class ShareForm(SettingsForm):
    status: Prose = ""
    visibility: Annotated[Visibility | None, Choice] = None
    # An idempotency key, so that a second click does not publish a second status.
    key: Text = ""

    def idempotency_key(self) -> str | None:
        """Return the key, as far as it can be stored; None if there is none: each form without a key publishes."""
        return f"share {self.key}"[:LONGEST_KEY] if self.key else None


@api.get("/share", page=True)
async def show(context: HttpContext, request: Request, shared: ShareQuery) -> Answer:
    """Show the text in a form."""
    me = await signed_in(context, request)
    default = me.user.default_privacy
    chosen = default if default in get_args(Visibility) else "private"
    return _page(me, shared.joined(), chosen, context.secret())


@api.post("/share", page=True, rates=(rates.STATUSES,))
async def publish(context: HttpContext, request: Request, posted: ShareForm) -> Answer:
    """Publish the text as a status."""
    me = await sender_of(context, request, posted)
    visibility = posted.visibility or "private"
    if problem := _problem(me, posted):
        return _page(me, posted.status, visibility, posted.key, problem)
    await resolve_mentions(context, posted.status, None)
    try:
        made = await me.ask(PublishStatus(posted.status, visibility, idempotency_key=posted.idempotency_key()))
    except Refused as refused:
        return _page(me, posted.status, visibility, posted.key, f"{refused.text}.")
    path = f"/@{me.user.username}/{made.id}" if isinstance(made, Status) and visibility != "private" else None
    return me.page("shared.html", path=path)


def _problem(me: SignedIn, posted: ShareForm) -> str | None:
    if me.user.moved_to_id is not None:
        return MOVED
    if not posted.status:
        return BLANK
    return TOO_LONG if lengths.is_too_long(posted.status, "") else None


def _page(me: SignedIn, status: str, chosen: str, key: str, problem: str | None = None) -> Answer:
    problems = {"status": problem} if problem else {}
    code = 422 if problem else 200
    return me.page("share.html", status=code, text=status, chosen=chosen, key=key, words=WORDS, problems=problems)
