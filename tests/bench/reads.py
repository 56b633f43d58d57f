"""Pages that are asked for again and again, by wrk: all of them are warm."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from .answers import Check, entity, instance, page_of_notifications, page_of_statuses
from .bench import Bench, lasting
from .fill import FILTERS, Cast, token
from .filled import PAGE
from .load import press, request
from .samples import Row
from .wrk import wrk

CONNECTIONS = 8
WARM_UP = 50
HOME = "/api/v1/timelines/home"
VERIFY = "/api/v1/accounts/verify_credentials"


@dataclass(frozen=True, slots=True)
class Page:
    """A page, who asks for it, and what it must hold."""

    name: str
    path: str
    check: Check
    token: str | None = token(Cast.READER)

    @property
    def request(self) -> bytes:
        return request("GET", self.path, self.token)


def pages(bench: Bench) -> dict[str, Page]:
    """The pages that are measured."""
    newest = bench.filled.newest
    statuses = page_of_statuses(PAGE)
    found = {
        "home": Page("home timeline", HOME, statuses),
        "filtered home": Page(f"home, {FILTERS} filters", HOME, statuses, token(Cast.FILTERING)),
        "public": Page("public timeline", "/api/v1/timelines/public", statuses),
        "tag": Page("tag timeline", "/api/v1/timelines/tag/t3", statuses),
        "status": Page("one status", f"/api/v1/statuses/{newest}", entity(id=newest)),
        "verify": Page("verify_credentials", VERIFY, entity(username=f"person{Cast.READER}")),
        "notifications": Page(f"notifications, {PAGE}", f"/api/v1/notifications?limit={PAGE}",
                              page_of_notifications(PAGE)),
        "instance": Page("instance", "/api/v2/instance", instance, None),
    }  # fmt: skip
    if bench.filled.deep:
        found["deep"] = Page("deep home page", f"{HOME}?max_id={bench.filled.deep[-1]}", statuses)
    return found


def read(bench: Bench, page: Page) -> Row:
    """Ask for a page over eight connections."""
    return bench.row(
        page.name, lambda: wrk(bench.port, page.path, page.token, CONNECTIONS, bench.seconds), state="warm",
        before=lambda: _warm(bench, page),
    )  # fmt: skip


def read_ourselves(bench: Bench, page: Page) -> Row:
    """The same by our own generator, to see what the generator does to the figures."""
    again = itertools.repeat(page.request)
    return bench.row(
        f"{page.name}, asked by Python",
        lambda: press(bench.port, again, CONNECTIONS, lasting(bench.seconds)).outcome(),
        state="warm",
        before=lambda: _warm(bench, page),
    )


def _warm(bench: Bench, page: Page) -> None:
    """Check the answer, and have the server compute what it keeps."""
    page.check(bench.ask(page.request))
    press(bench.port, itertools.repeat(page.request), CONNECTIONS, lambda count, _: count >= WARM_UP).outcome()
    page.check(bench.ask(page.request))
