"""Which rules count a request. There is no path without one: what nothing serves is counted too.

Calls of the API count for the account and the token that make them, or for the address. Everything else counts for
the address, by the first entry of `BY_PATH` that the path begins with. An endpoint may have further rules of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..storage.oauth import Token
from . import rates
from .errors import TooMany
from .house import House
from .paging import CURSORS
from .rates import Rule
from .request import Request
from .routing import Call

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


def count_call(call: Call, rules: Iterable[Rule] = ()) -> None:
    """Count a request, for the given rules as well. Raises TooMany.

    The call keeps the standing that the headers of the API's answers tell of.
    """
    house, request = call.house, call.request
    if not house.settings.rate_limits:
        return
    standing = house.rates.count_all(_charges(rules, call), house.clock.now())
    if is_api(request.path):
        call.standing = standing
    if standing is not None and standing.exceeded:
        raise TooMany(() if call.standing else standing.headers)


def count_file(call: Call, rules: Iterable[Rule]) -> None:
    """Count one file of a request that is counted already. Raises TooMany."""
    if not call.house.settings.rate_limits or call.viewer is None:
        return
    who = str(call.viewer.account_id)
    standing = call.house.rates.count_all([(rule, who) for rule in rules], call.house.clock.now())
    call.standing = rates.nearest(call.standing, standing)
    if standing is not None and standing.exceeded:
        raise TooMany


def count_for_address(house: House, request: Request, rule: Rule) -> None:
    """Count something for the address that asks for it. Raises TooMany."""
    _count(house, rule, _address(house, request))


def count_for_account(house: House, request: Request, token: Token | None, rule: Rule) -> None:
    """Count something for the account of a token, or for the address without one. Raises TooMany."""
    account = None if token is None else token.account_id
    _count(house, rule, _address(house, request) if account is None else str(account))


def _count(house: House, rule: Rule, subject: str) -> None:
    if not house.settings.rate_limits:
        return
    standing = house.rates.count(rule, subject, house.clock.now())
    if standing.exceeded:
        raise TooMany(standing.headers)


def _charges(rules: Iterable[Rule], call: Call) -> Iterator[tuple[Rule, str]]:
    address = _address(call.house, call.request)
    account = call.token.account_id if call.token else None
    who = address if account is None else str(account)
    if is_api(call.request.path):
        yield from _charges_of_api(call, who)
    else:
        yield rule_of(call.request.path), address
    for rule in rules:
        yield rule, address if rule.per_address else who


def _charges_of_api(call: Call, who: str) -> Iterator[tuple[Rule, str]]:
    if call.token is None or call.token.account_id is None:
        yield rates.PER_ADDRESS, who
    else:
        yield rates.PER_ACCOUNT, who
        yield rates.PER_TOKEN, str(call.token.id)
    if call.request.query_string and any(name in CURSORS for name, _ in call.request.query):
        yield rates.PAGING, who


def _address(house: House, request: Request) -> str:
    return rates.subject_of(request.address(house.settings.trusted_proxies))
