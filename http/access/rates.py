"""Rate limits, and the counts of requests for metrics. `cluster_rates.py` has the limits of several nodes.

Rate limits have fixed windows. Three headers describe the limit that is closest to exhaustion. The windows of a rule
begin at the same time for all subjects, so its counts are a dict that is dropped as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple, Protocol

from ...actors.configuration import RequestSettings
from ...actors.kernel.clock import Clock
from ...storage.engine.histogram import Histogram
from ...storage.oauth import Token
from ..answers.answer import Headers
from ..answers.errors import TooMany
from ..intake.paging import CURSORS
from ..intake.request import Request
from ..server.addresses import network_subject_of, subject_of

MINUTE = 60
HOUR = 60 * MINUTE
DAY = 24 * HOUR


# The most subjects of a rule, some 15 MB; with one more, all its counts begin again. A client with more addresses gains
# nothing by that. Without a bound the counts could take all memory.
MOST_SUBJECTS = 100_000


@dataclass(frozen=True, slots=True)
class RateRule:
    """At most `limit` requests in `seconds`, counted for each subject."""

    name: str
    limit: int
    seconds: int
    per_address: bool = False  # also for requests with a token


# All requests of the API
PER_ACCOUNT = RateRule("account", 1500, 5 * MINUTE)
PER_TOKEN = RateRule("token", 300, 5 * MINUTE)
PER_ADDRESS = RateRule("address", 300, 5 * MINUTE)
PAGING = RateRule("paging", 300, 15 * MINUTE)
# Requests outside of the API, per address. A page of a timeline shows up to two hundred pictures; an address may belong
# to a household, an office or a mobile network. Load balancers request the health about every second.
PAGES = RateRule("pages", 300, 5 * MINUTE, per_address=True)
TOKENS = RateRule("tokens", 100, 5 * MINUTE, per_address=True)
DISCOVERY = RateRule("discovery", 600, 5 * MINUTE, per_address=True)
# Other servers request each post that is announced to them, and the collections of each account.
DOCUMENTS = RateRule("documents", 1500, 5 * MINUTE, per_address=True)
FILES = RateRule("files", 6000, 5 * MINUTE, per_address=True)
HEALTH = RateRule("health", 3000, 5 * MINUTE, per_address=True)
# A browser sends a preflight before a call of another origin, once for each address.
PREFLIGHTS = RateRule("preflights", 3000, 5 * MINUTE, per_address=True)
# Deliveries of other servers: by the address that sends, and by the server that has signed. A server may have many
# addresses, and many servers may share an address.
DELIVERIES = RateRule("deliveries", 12000, 5 * MINUTE, per_address=True)
ACTIVITIES = RateRule("activities", 6000, 5 * MINUTE)
# Streaming, per account, or per address without an account. An app opens a stream again when it comes to the foreground
# or its network changes, and subscribes to a timeline for each column.
STREAMS = RateRule("streams", 300, 5 * MINUTE)
SUBSCRIPTIONS = RateRule("subscriptions", 600, 5 * MINUTE)
# A resumption reads up to a day of changes, in a turn of the timeline. Beyond the limit, a stream begins with `gap`.
RESUMPTIONS = RateRule("resumptions", 120, 5 * MINUTE)
# Certain calls, per account
STATUSES = RateRule("statuses", 300, 3 * HOUR)
DELETIONS = RateRule("deletions", 30, 30 * MINUTE)
MEDIA = RateRule("media", 30, 30 * MINUTE)
FOLLOWS = RateRule("follows", 400, DAY)
REPORTS = RateRule("reports", 400, DAY)
TRANSLATIONS = RateRule("translations", 100, 15 * MINUTE)
# Certain calls, per address
APPS = RateRule("apps", 5, 10 * MINUTE, per_address=True)
# Sign-ups: each call of an app, and each form of the sign-up page that has no mistakes.
NEW_ACCOUNTS = RateRule("accounts", 5, 30 * MINUTE, per_address=True)
# Per network, because a person may have many addresses.
NEW_ACCOUNTS_OF_NETWORK = RateRule("accounts of a network", 20, HOUR, per_address=True)
# Each form of the sign-up page, also with mistakes.
SIGN_UP_FORMS = RateRule("sign-ups", 25, 5 * MINUTE, per_address=True)
CONFIRMATIONS = RateRule("confirmations", 25, 5 * MINUTE, per_address=True)
IMPORTS = RateRule("imports", 25, HOUR, per_address=True)
PASSWORD_RESETS = RateRule("password resets", 25, 5 * MINUTE, per_address=True)
# Wrong passwords; `oauth/users.py` counts them
FAILED_SIGN_INS = RateRule("failed sign-ins", 25, 5 * MINUTE, per_address=True)
FAILED_SIGN_INS_LATELY = RateRule("failed sign-ins lately", 1, HOUR, per_address=True)
FAILED_SIGN_INS_OF_ACCOUNT = RateRule("failed sign-ins of an account", 25, HOUR)
# Wrong codes of two-factor authentication. Only people who know the password can send codes, and lock the user out.
FAILED_CODES = RateRule("failed codes of an account", 10, HOUR)
# Mails that a user requests, or that go to an address
CONFIRMATIONS_OF_USER = RateRule("confirmations of a user", 5, 30 * MINUTE)


API = ("/api/", "/oauth/userinfo")

BY_PATH: tuple[tuple[str, RateRule], ...] = (
    ("/health", HEALTH),
    ("/.well-known/", DISCOVERY),
    ("/nodeinfo/", DISCOVERY),
    ("/users/", DOCUMENTS),
    ("/actor", DOCUMENTS),
    ("/emojis/", DOCUMENTS),
    ("/media/", FILES),
    ("/media_proxy/", FILES),
    ("/avatars/", FILES),
    ("/headers/", FILES),
    ("/thumbnail.png", FILES),
    ("/style.css", FILES),
    ("/staff.css", FILES),
    ("/staff.js", FILES),
    ("/favicon.ico", FILES),
    ("/apple-touch-icon.png", FILES),
    ("/manifest.json", FILES),
    ("/robots.txt", FILES),
    ("/oauth/token", TOKENS),
    ("/oauth/revoke", TOKENS),
    ("/", PAGES),
)


def is_api(path: str) -> bool:
    """True if requests for the path count as requests of the API."""
    return path.startswith(API)


def rule_of(path: str) -> RateRule:
    """Return the rule that counts the requests of an address outside of the API."""
    if path.removesuffix("/").endswith("/inbox"):
        return DELIVERIES
    return next((rule for start, rule in BY_PATH if path.startswith(start)), PAGES)


class RateStatus(NamedTuple):
    """The count of a subject in a rule's current window. A tuple, because each request makes one or two."""

    limit: int
    remaining: int
    reset: int  # seconds since 1970

    @property
    def headers(self) -> Headers:
        return (
            ("X-RateLimit-Limit", str(self.limit)),
            ("X-RateLimit-Remaining", str(max(self.remaining, 0))),
            ("X-RateLimit-Reset", _instant_of(self.reset)),
        )

    @property
    def exceeded(self) -> bool:
        return self.remaining < 0


class Rates:
    """The counts of all rules, in memory only, as the durability table allows."""

    def __init__(self) -> None:
        self._windows: dict[str, tuple[int, dict[str, int]]] = {}

    def count(self, rule: RateRule, subject: str, now: datetime) -> RateStatus:
        """Count a request."""
        return self._count(rule, subject, int(now.timestamp()))

    def _count(self, rule: RateRule, subject: str, seconds: int) -> RateStatus:
        window = seconds // rule.seconds
        running, counts = self._windows.get(rule.name, _NO_WINDOW)
        if running != window or (len(counts) >= MOST_SUBJECTS and subject not in counts):
            counts = {}
            self._windows[rule.name] = (window, counts)
        counts[subject] = used = counts.get(subject, 0) + 1
        return RateStatus(rule.limit, rule.limit - used, (window + 1) * rule.seconds)

    def take_back(self, rule: RateRule, subject: str, standing: RateStatus) -> None:
        """Undo the count that had this status, unless its window is over."""
        running, counts = self._windows.get(rule.name, _NO_WINDOW)
        if (running + 1) * rule.seconds == standing.reset and counts.get(subject, 0) > 0:
            counts[subject] -= 1

    def count_all(self, charges: Iterable[tuple[RateRule, str]], now: datetime) -> RateStatus | None:
        """Count a request for several rules. Return the status closest to exhaustion."""
        seconds, found = int(now.timestamp()), None
        for rule, subject in charges:
            found = nearest(found, self._count(rule, subject, seconds))
        return found


# The window of a rule without counts. No current window has this number.
_NO_WINDOW: tuple[int, dict[str, int]] = (-1, {})


def nearest(first: RateStatus | None, second: RateStatus | None) -> RateStatus | None:
    """Return the status that is closer to exhaustion; the first if both are equal."""
    if first is None or second is None:
        return second if first is None else first
    return second if second.remaining < first.remaining else first


# The requests of some minutes share a few ends of windows, and `strftime` takes as long as counting.
@lru_cache(maxsize=64)
def _instant_of(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class CountedAttempt(NamedTuple):
    """An attempt that was counted. `status` is the status that the caller checks: of all nodes, if there are others."""

    rule: RateRule
    subject: str
    here: RateStatus
    stored: RateStatus | None = None  # None: it is counted by this node alone

    @property
    def status(self) -> RateStatus:
        return self.here if self.stored is None else min(self.here, self.stored, key=lambda status: status.remaining)


class StoredCounts(Protocol):
    """The attempts of all nodes of a cluster: `cluster_rates.py`."""

    async def count(self, rule: RateRule, subject: str, now: datetime) -> RateStatus: ...
    async def take_back(self, attempts: Sequence[CountedAttempt]) -> None: ...


class RateLimits:
    """Counts requests, files and acts by their rules, unless the settings turn that off.

    Every request is counted, also without an endpoint. Requests of the API count for the account and the token, or for
    the address. All others count for the address, by the first entry of `BY_PATH` that the path begins with. An
    endpoint may have further rules.

    Attempts to sign in or up are counted apart, because all nodes of a cluster count them together. In a cluster
    `of_nodes` counts everything else, and `stored` the attempts.
    """

    def __init__(
        self, rates: Rates, clock: Clock, settings: RequestSettings, of_nodes: Rates | None = None,
        stored: StoredCounts | None = None,
    ) -> None:  # fmt: skip
        self._rates = of_nodes or rates
        self._attempts = rates
        self._stored = stored
        self._clock = clock
        self.settings = settings  # the current settings

    def count_request(self, request: Request, token: Token | None, rules: Iterable[RateRule]) -> RateStatus | None:
        """Count a request by its path and by the given rules.

        Return the status closest to exhaustion, which the caller checks; None while requests are not counted.
        """
        if not self.settings.rate_limits:
            return None
        return self._rates.count_all(self._charges(request, token, rules), self._clock.now())

    def count_file(self, account_id: int, rules: Iterable[RateRule]) -> RateStatus | None:
        """Count a file of a request, by the given rules. Return the status as `count_request` does."""
        if not self.settings.rate_limits:
            return None
        return self._rates.count_all([(rule, str(account_id)) for rule in rules], self._clock.now())

    def count_for_address(self, request: Request, rule: RateRule) -> None:
        """Count an action for the address of a request. Raises TooMany."""
        self._count(rule, self._address(request))

    def count_for_host(self, host: str, rule: RateRule) -> None:
        """Count an action for another server. Raises TooMany."""
        self._count(rule, host)

    def count_for_account(self, request: Request, token: Token | None, rule: RateRule) -> None:
        """Count an action for the account of a token, or for the address without a token. Raises TooMany."""
        self.count_for_client(request.address(self.settings.trusted_proxies), token, rule)

    def count_for_client(self, address: str, token: Token | None, rule: RateRule) -> None:
        """Count an action as `count_for_account` does, when the request is over. Raises TooMany."""
        account = None if token is None else token.account_id
        self._count(rule, subject_of(address) if account is None else str(account))

    async def count_sign_up(self, request: Request) -> None:
        """Count a sign-up for the network of the client. Raises TooMany."""
        network = network_subject_of(request.address(self.settings.trusted_proxies))
        await self._admit(NEW_ACCOUNTS_OF_NETWORK, network)

    async def count_new_account(self, request: Request) -> None:
        """Count a sign-up for the address of the client. Raises TooMany."""
        await self._admit(NEW_ACCOUNTS, self._address(request))

    async def count_new_account_of_app(self, request: Request) -> None:
        """Count a sign-up that the rules of its endpoint have counted on this node, on all nodes. Raises TooMany."""
        if self._stored is not None and self.settings.rate_limits:
            status = await self._stored.count(NEW_ACCOUNTS, self._address(request), self._clock.now())
            if status.exceeded:
                raise TooMany  # the answer has headers of the endpoint's rules

    async def count_mail(self, email: str) -> None:
        """Count a mail for its recipient's address, whoever requests it. Raises TooMany."""
        await self._admit(CONFIRMATIONS_OF_USER, email.casefold())

    async def attempt(self, rule: RateRule, subject: str) -> CountedAttempt:
        """Count an attempt. The caller checks its status, and may take it back."""
        now = self._clock.now()
        here = self._attempts.count(rule, subject, now)
        if self._stored is None or here.exceeded:
            return CountedAttempt(rule, subject, here)
        return CountedAttempt(rule, subject, here, await self._stored.count(rule, subject, now))

    async def take_back(self, attempts: Sequence[CountedAttempt]) -> None:
        """Undo the counts of attempts, unless their windows are over."""
        for made in attempts:
            self._attempts.take_back(made.rule, made.subject, made.here)
        if self._stored is not None:
            await self._stored.take_back(attempts)

    async def _admit(self, rule: RateRule, subject: str) -> None:
        if self.settings.rate_limits:
            _check((await self.attempt(rule, subject)).status)

    def _count(self, rule: RateRule, subject: str) -> None:
        if self.settings.rate_limits:
            _check(self._rates.count(rule, subject, self._clock.now()))

    def _charges(self, request: Request, token: Token | None, rules: Iterable[RateRule]) -> list[tuple[RateRule, str]]:
        """Return the rules that count a request, each with its subject: an address, an account or a token."""
        account = None if token is None else token.account_id
        subject = self._address(request) if account is None else str(account)
        if not is_api(request.path):
            charges = [(rule_of(request.path), self._address(request))]
        elif token is None or account is None:
            charges = [(PER_ADDRESS, subject)]
        else:
            charges = [(PER_ACCOUNT, subject), (PER_TOKEN, str(token.id))]
        if request.query_string and is_api(request.path) and any(name in CURSORS for name, _ in request.query):
            charges.append((PAGING, subject))
        for rule in rules:
            charges.append((rule, self._address(request) if rule.per_address else subject))
        return charges

    def _address(self, request: Request) -> str:
        return subject_of(request.address(self.settings.trusted_proxies))


def _check(status: RateStatus) -> None:
    if status.exceeded:
        raise TooMany(status.headers)


# The route of requests that no endpoint answers.
NO_ROUTE = "none"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class RouteCount:
    """The requests of a method and route: the number for each status, and a histogram of seconds until the answer."""

    __slots__ = ("seconds", "statuses")

    def __init__(self) -> None:
        self.statuses: dict[int, int] = {}
        self.seconds = Histogram()

    def add(self, status: int, seconds: float) -> None:
        """Count a request, its status and its duration."""
        statuses = self.statuses
        statuses[status] = statuses.get(status, 0) + 1
        self.seconds.observe(seconds)


class RequestCounts:
    """The numbers of answered requests since the process started, for metrics.

    A route is the pattern of a path, such as `/api/v1/statuses/<id>`, so the number of routes has a bound. The first
    request for a route adds its `RouteCount`.
    """

    def __init__(self) -> None:
        self.routes: dict[tuple[str, str], RouteCount] = {}

    def of(self, method: str, route: str) -> RouteCount:
        if (found := self.routes.get((method, route))) is not None:
            return found
        # Clients may invent methods, and a metric must not have an entry for each.
        return self.routes.setdefault((method if method in METHODS else "other", route), RouteCount())
