"""Every registered endpoint asks of its caller what the API's contract says: who, and which scopes."""

from pathlib import Path

import pytest

from troupe.actors.rules import scopes
from troupe.http.api import absent
from troupe.http.router import Endpoint, all_endpoints

from ..accept import shape
from ..clients import Person, Stage

TABLE = Path(__file__).parent / "contract" / "scopes.txt"
# Calls of the API that are ours alone. Of pages, files and what other servers ask for, the contract says nothing:
# `endpoints.txt` has them.
OWN = frozenset(
    {
        ("GET", "/api/openapi.json"),
        # The reference server has only pages for these.
        ("GET", "/api/v1/admin/audit_log"),
        ("GET", "/api/v1/admin/custom_emojis"),
        ("POST", "/api/v1/admin/custom_emojis"),
        *((method, "/api/v1/admin/custom_emojis/<id>") for method in ("GET", "PUT", "PATCH", "DELETE")),
        ("GET", "/api/v1/admin/appeals"),
        ("POST", "/api/v1/admin/appeals/<id>/approve"),
        ("POST", "/api/v1/admin/appeals/<id>/reject"),
    }
)


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
# Declared to answer 404 to all clients.
ABSENT = [endpoint for endpoint in all_endpoints() if endpoint.function.__module__ == absent.__name__]
ENDPOINTS = [
    one
    for one in all_endpoints()
    if ((one.method, shape(one.path)) in CONTRACT or one.path.startswith("/api/"))
    and (one.method, one.path) not in OWN
    and one not in ABSENT
]


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: f"{endpoint.method} {endpoint.path}")
def test_an_endpoint_asks_for_what_the_contract_says(endpoint: Endpoint) -> None:
    wanted = CONTRACT.get((endpoint.method, shape(endpoint.path)))
    assert wanted is not None, "add it to contract/scopes.txt, or to OWN here if Mastodon has no such endpoint"
    assert (endpoint.auth, frozenset(endpoint.scopes)) == wanted


def test_what_is_absent_asks_for_nothing() -> None:
    assert all(endpoint.auth == "none" and not endpoint.scopes for endpoint in ABSENT)


async def test_a_path_of_the_contract_that_is_not_served_is_never_taken_for_an_id(stage: Stage, ada: Person) -> None:
    served = {(endpoint.method, shape(endpoint.path)) for endpoint in ENDPOINTS}
    asked = {(method, path) for method, path in CONTRACT if path.startswith("/api/")} - served
    assert ("GET", "/api/v1/annual_reports") in asked
    for method, path in sorted(asked):
        for client in (ada, stage.anybody()):
            answer = await client.send(method, path.replace("<>", "103"))
            assert (answer.status, answer.json) == (404, {"error": "Not Found"}), f"{method} {path}"


def test_the_contract_names_scopes_that_exist() -> None:
    assert frozenset().union(*(needed for _, needed in CONTRACT.values())) <= scopes.ALL
