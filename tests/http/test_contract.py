"""Every registered endpoint asks of its caller what the API's contract says: who, and which scopes."""

import re
from pathlib import Path

import pytest

from troupe.http import scopes
from troupe.http.routing import Endpoint, api

TABLE = Path(__file__).parent / "contract" / "scopes.txt"
# Ours alone: pages and pictures, the JSON form of a file that the contract has as XML, and the document of this API.
OWN = frozenset(
    {
        ("GET", "/"),
        ("GET", "/about"),
        ("GET", "/oauth/style.css"),
        ("GET", "/thumbnail.png"),
        ("GET", "/avatars/original/missing.png"),
        ("GET", "/headers/original/missing.png"),
        ("GET", "/.well-known/host-meta.json"),
        ("GET", "/api/openapi.json"),
        ("GET", "/media/<name>"),
        ("GET", "/auth/sign_up"),
        ("POST", "/auth/sign_up"),
        ("GET", "/auth/confirmation/new"),
        ("POST", "/auth/confirmation/new"),
        ("GET", "/auth/confirmation/sent"),
    }
)
# What is gone answers 404 to everybody.
REMOVED = frozenset(
    {"/api/v1/search", "/api/v1/timelines/direct", "/api/v1/statuses/<>/card", "/api/v1/notifications/dismiss"}
)


def shape(path: str) -> str:
    """A path without the names of its segments."""
    return re.sub(r"<\w+>", "<>", path)


def contract() -> dict[tuple[str, str], tuple[str, frozenset[str]]]:
    """Who may call an endpoint, by its method and path. An update is PUT and PATCH alike."""
    found: dict[tuple[str, str], tuple[str, frozenset[str]]] = {}
    for line in TABLE.read_text("utf-8").splitlines():
        if line.startswith("#"):
            continue
        method, path, auth, *needed = line.split()
        for one in ("PUT", "PATCH") if method in ("PUT", "PATCH") else (method,):
            found[one, shape(path)] = (auth, frozenset(needed))
    return found


CONTRACT = contract()
ENDPOINTS = [e for e in api.endpoints if (e.method, e.path) not in OWN and shape(e.path) not in REMOVED]


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: f"{endpoint.method} {endpoint.path}")
def test_an_endpoint_asks_for_what_the_contract_says(endpoint: Endpoint) -> None:
    assert (endpoint.auth, frozenset(endpoint.scopes)) == CONTRACT[endpoint.method, shape(endpoint.path)]


def test_what_is_gone_asks_for_nothing() -> None:
    gone = [endpoint for endpoint in api.endpoints if shape(endpoint.path) in REMOVED]
    assert all(endpoint.auth == "none" and not endpoint.scopes for endpoint in gone)


def test_the_contract_names_scopes_that_exist() -> None:
    assert frozenset().union(*(needed for _, needed in CONTRACT.values())) <= scopes.ALL
