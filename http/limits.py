"""Which rules count a request. There is no path without one: what nothing serves is counted too.

Calls of the API count for the account and the token that make them, or for the address. Everything else counts for
the address, by the first entry of `BY_PATH` that the path begins with. An endpoint may have further rules of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..storage.oauth import Token
from .access import rates
from .access.context import HttpContext
from .access.rates import Rule
from .answers.errors import TooMany
from .intake.paging import CURSORS
from .intake.request import Request
from .router import EndpointCall

API = ("/api/", "/oauth/userinfo")

BY_PATH: tuple[tuple[str, Rule], ...] = (
    ("/health", rates.HEALTH),
    ("/ready", rates.HEALTH),
    ("/.well-known/", rates.DISCOVERY),
    ("/nodeinfo/", rates.DISCOVERY),
    ("/media/", rates.FILES),
    ("/avatars/", rates.FILES),
    ("/headers/", rates.FILES),
    ("/thumbnail.png", rates.FILES),
    ("/oauth/style.css", rates.FILES),
    ("/oauth/token", rates.TOKENS),
    ("/oauth/revoke", rates.TOKENS),
    ("/", rates.PAGES),
)


def is_api(path: str) -> bool:
    """True if calls of the path count as the API's."""
    return path.startswith(API)


def rule_of(path: str) -> Rule:
    """The rule that counts the requests of an address outside of the API."""
    return next((rule for start, rule in BY_PATH if path.startswith(start)), rates.PAGES)


def count_call(call: EndpointCall, rules: Iterable[Rule] = ()) -> None:
    """Count a request, for the given rules as well. Raises TooMany.

    The call keeps the standing that the headers of the API's answers tell of.
    """
    context, request = call.context, call.request
    if not context.settings.rate_limits:
        return
    standing = context.rates.count_all(_charges(rules, call), context.clock.now())
    if is_api(request.path):
        call.standing = standing
    if standing is not None and standing.exceeded:
        raise TooMany(() if call.standing else standing.headers)


def count_file(call: EndpointCall, rules: Iterable[Rule]) -> None:
    """Count one file of a request that is counted already. Raises TooMany."""
    if not call.context.settings.rate_limits or call.viewer is None:
        return
    who = str(call.viewer.account_id)
    standing = call.context.rates.count_all([(rule, who) for rule in rules], call.context.clock.now())
    call.standing = rates.nearest(call.standing, standing)
    if standing is not None and standing.exceeded:
        raise TooMany


def count_for_address(context: HttpContext, request: Request, rule: Rule) -> None:
    """Count something for the address that asks for it. Raises TooMany."""
    _count(context, rule, _address(context, request))


def count_for_account(context: HttpContext, request: Request, token: Token | None, rule: Rule) -> None:
    """Count something for the account of a token, or for the address without one. Raises TooMany."""
    account = None if token is None else token.account_id
    _count(context, rule, _address(context, request) if account is None else str(account))


def _count(context: HttpContext, rule: Rule, subject: str) -> None:
    if not context.settings.rate_limits:
        return
    standing = context.rates.count(rule, subject, context.clock.now())
    if standing.exceeded:
        raise TooMany(standing.headers)


def _charges(rules: Iterable[Rule], call: EndpointCall) -> Iterator[tuple[Rule, str]]:
    address = _address(call.context, call.request)
    account = call.token.account_id if call.token else None
    who = address if account is None else str(account)
    if is_api(call.request.path):
        yield from _charges_of_api(call, who)
    else:
        yield rule_of(call.request.path), address
    for rule in rules:
        yield rule, address if rule.per_address else who


def _charges_of_api(call: EndpointCall, who: str) -> Iterator[tuple[Rule, str]]:
    if call.token is None or call.token.account_id is None:
        yield rates.PER_ADDRESS, who
    else:
        yield rates.PER_ACCOUNT, who
        yield rates.PER_TOKEN, str(call.token.id)
    if call.request.query_string and any(name in CURSORS for name, _ in call.request.query):
        yield rates.PAGING, who


def _address(context: HttpContext, request: Request) -> str:
    return rates.subject_of(request.address(context.settings.trusted_proxies))
