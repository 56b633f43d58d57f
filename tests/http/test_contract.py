"""Every registered endpoint asks of its caller what the API's contract says: who, and which scopes."""

import re
from pathlib import Path

import pytest

from troupe.actors.rules import scopes
from troupe.http.api import absent
from troupe.http.router import Endpoint, all_endpoints

from ..clients import Person, Stage

TABLE = Path(__file__).parent / "contract" / "scopes.txt"
# Ours alone: pages and pictures, the JSON form of a file that the contract has as XML, and the document of this API.
OWN = frozenset(
    {
        ("GET", "/"),
        ("GET", "/health/live"),
        ("GET", "/health/ready"),
        ("GET", "/about"),
        ("GET", "/api"),
        ("GET", "/style.css"),
        ("GET", "/privacy"),
        ("GET", "/terms"),
        ("GET", "/terms/<date>"),
        ("GET", "/@<name>"),
        ("GET", "/@<name>.rss"),
        ("GET", "/@<name>/with_replies"),
        ("GET", "/@<name>/media"),
        ("GET", "/@<name>/tagged/<tag>"),
        ("GET", "/@<name>/tagged/<tag>.rss"),
        ("GET", "/@<name>/<id>"),
        ("GET", "/@<name>/<id>/embed"),
        ("GET", "/authorize_interaction"),
        *(("GET", f"/{client}/@<name>{rest}") for client in ("web", "deck") for rest in ("", "/<id>")),
        *(("GET", f"{client}/statuses/<id>") for client in ("", "/web")),
        *(("GET", f"/@<name>/{part}") for part in ("featured", "followers", "following")),
        *(("GET", f"/@<name>/<id>/{part}") for part in ("favourites", "quotes", "reblogs")),
        ("GET", "/filters"),
        *((method, "/share") for method in ("GET", "POST")),
        ("GET", "/users/<name>.rss"),
        ("GET", "/about/more"),
        ("GET", "/privacy-policy"),
        ("GET", "/terms-of-service"),
        ("GET", "/terms-of-service/<date>"),
        ("GET", "/auth/edit"),
        ("GET", "/oauth/authorized_applications"),
        # What other servers ask for and deliver: signed, without tokens.
        ("GET", "/nodeinfo/2.1"),
        ("GET", "/actor"),
        ("GET", "/actor/outbox"),
        ("GET", "/emojis/<id>"),
        ("POST", "/inbox"),
        ("POST", "/users/<name>/inbox"),
        ("GET", "/users/<name>"),
        ("GET", "/users/<name>/statuses/<id>"),
        *(("GET", f"/users/<name>/statuses/<id>/{part}") for part in ("activity", "replies", "likes", "shares")),
        *(("GET", f"/users/<name>/{part}") for part in ("outbox", "followers", "following")),
        ("GET", "/users/<name>/followers_synchronization"),
        *(("GET", f"/users/<name>/collections/{part}") for part in ("featured", "tags")),
        ("GET", "/users/<name>/quote_authorizations/<id>"),
        ("GET", "/tags/<name>"),
        ("GET", "/tags/<name>.rss"),
        ("GET", "/favicon.ico"),
        ("GET", "/apple-touch-icon.png"),
        ("GET", "/manifest.json"),
        ("GET", "/robots.txt"),
        ("GET", "/thumbnail.png"),
        ("GET", "/avatars/original/missing.png"),
        ("GET", "/avatars/original/<name>"),
        ("GET", "/headers/original/missing.png"),
        ("GET", "/.well-known/host-meta.json"),
        ("GET", "/api/openapi.json"),
        ("GET", "/media/<name>"),
        ("GET", "/media_proxy/<kind>/<id>/<digest>"),
        ("GET", "/media_proxy/<kind>/<id>/<digest>/small"),
        ("GET", "/auth/sign_up"),
        ("POST", "/auth/sign_up"),
        ("GET", "/auth/confirmation/new"),
        ("POST", "/auth/confirmation/new"),
        ("GET", "/auth/confirmation/sent"),
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
# The pages on which people change their account, and those for staff.
OWN_AREAS = ("/admin", "/staff.", "/settings", "/disputes/", "/auth/sign_in", "/auth/password/", "/auth/email")


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
# Declared to answer 404 to all clients.
ABSENT = [endpoint for endpoint in all_endpoints() if endpoint.function.__module__ == absent.__name__]
ENDPOINTS = [
    one
    for one in all_endpoints()
    if (one.method, one.path) not in OWN and not one.path.startswith(OWN_AREAS) and one not in ABSENT
]


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: f"{endpoint.method} {endpoint.path}")
def test_an_endpoint_asks_for_what_the_contract_says(endpoint: Endpoint) -> None:
    assert (endpoint.auth, frozenset(endpoint.scopes)) == CONTRACT[endpoint.method, shape(endpoint.path)]


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
