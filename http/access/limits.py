"""The rules that count a request. Every request is counted, also one that no endpoint answers.

Calls of the API count for the account and the token that make them, or for the address. Everything else counts for
the address, by the first entry of `BY_PATH` that the path begins with. An endpoint may have further rules of its own.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...storage.oauth import Token
from ..answers.errors import TooMany
from ..intake.paging import CURSORS
from ..intake.request import Request
from ..server.addresses import network_subject_of, subject_of
from . import rates
from .context import HttpContext
from .rates import RateRule, RateStatus

API = ("/api/", "/oauth/userinfo")

BY_PATH: tuple[tuple[str, RateRule], ...] = (
    ("/health", rates.HEALTH),
    ("/.well-known/", rates.DISCOVERY),
    ("/nodeinfo/", rates.DISCOVERY),
    ("/users/", rates.DOCUMENTS),
    ("/actor", rates.DOCUMENTS),
    ("/emojis/", rates.DOCUMENTS),
    ("/media/", rates.FILES),
    ("/media_proxy/", rates.FILES),
    ("/avatars/", rates.FILES),
    ("/headers/", rates.FILES),
    ("/thumbnail.png", rates.FILES),
    ("/style.css", rates.FILES),
    ("/staff.css", rates.FILES),
    ("/staff.js", rates.FILES),
    ("/favicon.ico", rates.FILES),
    ("/apple-touch-icon.png", rates.FILES),
    ("/manifest.json", rates.FILES),
    ("/robots.txt", rates.FILES),
    ("/oauth/token", rates.TOKENS),
    ("/oauth/revoke", rates.TOKENS),
    ("/", rates.PAGES),
)


def is_api(path: str) -> bool:
    """True if calls of the path count as the API's."""
    return path.startswith(API)


def rule_of(path: str) -> RateRule:
    """Return the rule that counts the requests of an address outside of the API."""
    if path.removesuffix("/").endswith("/inbox"):
        return rates.DELIVERIES
    return next((rule for start, rule in BY_PATH if path.startswith(start)), rates.PAGES)


def count_request(
    context: HttpContext, request: Request, token: Token | None, rules: Iterable[RateRule]
) -> RateStatus | None:
    """Count a request by its path and by the given rules.

    Return the status closest to exhaustion, which the caller checks; None while requests are not counted.
    """
    if not context.settings.rate_limits:
        return None
    return context.rates.count_all(_charges(context, request, token, rules), context.clock.now())


def count_file(context: HttpContext, account_id: int, rules: Iterable[RateRule]) -> RateStatus | None:
    """Count one file of a request that is counted already, in the same way."""
    if not context.settings.rate_limits:
        return None
    return context.rates.count_all([(rule, str(account_id)) for rule in rules], context.clock.now())


def count_for_address(context: HttpContext, request: Request, rule: RateRule) -> None:
    """Count an action for the address that asks for it. Raises TooMany."""
    _count(context, rule, _address(context, request))


def count_for_host(context: HttpContext, host: str, rule: RateRule) -> None:
    """Count an action for another server. Raises TooMany."""
    _count(context, rule, host)


def count_for_account(context: HttpContext, request: Request, token: Token | None, rule: RateRule) -> None:
    """Count an action for the account of a token, or for the address without one. Raises TooMany."""
    count_for_client(context, request.address(context.settings.trusted_proxies), token, rule)


def count_for_client(context: HttpContext, address: str, token: Token | None, rule: RateRule) -> None:
    """The same for the client with this address, whose request is over."""
    account = None if token is None else token.account_id
    _count(context, rule, subject_of(address) if account is None else str(account))


def count_sign_up(context: HttpContext, request: Request) -> None:
    """Count a sign-up for the network that it comes from. Raises TooMany."""
    network = network_subject_of(request.address(context.settings.trusted_proxies))
    _count(context, rates.ACCOUNTS_OF_NETWORK, network)


def count_mail(context: HttpContext, email: str) -> None:
    """Count a mail for its address, regardless of who asks for it. Raises TooMany."""
    _count(context, rates.CONFIRMATIONS_OF_USER, email.casefold())


def _count(context: HttpContext, rule: RateRule, subject: str) -> None:
    if not context.settings.rate_limits:
        return
    status = context.rates.count(rule, subject, context.clock.now())
    if status.exceeded:
        raise TooMany(status.headers)


def _charges(
    context: HttpContext, request: Request, token: Token | None, rules: Iterable[RateRule]
) -> list[tuple[RateRule, str]]:
    """Return the rules that count a request, each with its subject: an address, an account or a token."""
    account = None if token is None else token.account_id
    subject = _address(context, request) if account is None else str(account)
    if not is_api(request.path):
        charges = [(rule_of(request.path), _address(context, request))]
    elif token is None or account is None:
        charges = [(rates.PER_ADDRESS, subject)]
    else:
        charges = [(rates.PER_ACCOUNT, subject), (rates.PER_TOKEN, str(token.id))]
    if request.query_string and is_api(request.path) and any(name in CURSORS for name, _ in request.query):
        charges.append((rates.PAGING, subject))
    for rule in rules:
        charges.append((rule, _address(context, request) if rule.per_address else subject))
    return charges


def _address(context: HttpContext, request: Request) -> str:
    return subject_of(request.address(context.settings.trusted_proxies))
