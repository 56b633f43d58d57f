"""The server's own document: it holds what there is, and requests made out of it are answered as it says."""

import re
from functools import cache
from typing import Any

import pytest
import requests
import schemathesis
import trio
from hypothesis import HealthCheck, Phase, given, settings
from jsonschema_rs import Draft202012Validator
from schemathesis.core.result import Ok

from troupe.http.api import absent
from troupe.http.openapi.document import document
from troupe.http.openapi.schemas import entities, schema_of
from troupe.http.router import all_endpoints

from ..accept import shape
from ..clients import BASE, Person, Reply, Stage

EXAMPLES = 2  # for each operation; hypothesis draws the same ones each time
# Files, and what other servers ask for.
UNTOLD = re.compile(
    r"/(health.*|style\.css|staff\.(css|js)|favicon\.ico|apple-touch-icon\.png|thumbnail\.png|manifest\.json|robots\.txt)"
    r"|/(media|media_proxy|avatars|headers|nodeinfo|\.well-known)/.*|/inbox|/users/<name>/inbox"
)


@cache
def described() -> dict[str, Any]:
    """The document. It takes long to make."""
    return document(all_endpoints(), BASE)


def paths() -> dict[str, dict[str, Any]]:
    return described()["paths"]


def test_every_endpoint_for_programs_is_told() -> None:
    missing = [
        (endpoint.method, endpoint.path)
        for endpoint in all_endpoints()
        if endpoint.returns is None
        and not endpoint.page
        and endpoint.documents == "none"
        and not UNTOLD.fullmatch(endpoint.path)
        and endpoint.function.__module__ != absent.__name__
    ]
    assert missing == []


def test_what_is_absent_is_not_told() -> None:
    untold = {endpoint.path for endpoint in all_endpoints() if endpoint.function.__module__ == absent.__name__}
    assert not {shape(path) for path in untold} & {shape(path.replace("{", "<").replace("}", ">")) for path in paths()}


def test_names_of_operations_are_their_own() -> None:
    names = [operation["operationId"] for methods in paths().values() for operation in methods.values()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", entities())
def test_every_object_has_a_schema_that_can_be_used(name: str) -> None:
    Draft202012Validator({"components": described()["components"], **schema_of(name)})


def test_nothing_is_named_that_is_not_there() -> None:
    named = set(re.findall(r"'#/components/schemas/([\w.]+)'", str(described())))
    assert named <= described()["components"]["schemas"].keys()


async def test_the_document_is_served(stage: Stage) -> None:
    answer = await stage.anybody().done("GET", "/api/openapi.json")
    assert answer["openapi"] == "3.1.0"
    assert answer["servers"] == [{"url": BASE}]


async def test_requests_made_of_the_document_are_answered_as_it_says(stage: Stage, ada: Person) -> None:
    """The client of the tests holds every answer against the schemas."""
    schema: Any = schemathesis.openapi.from_dict(described())  # the types of its operations are open
    operations: list[Any] = [result.ok() for result in schema.get_all_operations() if isinstance(result, Ok)]
    assert len(operations) == sum(map(len, paths().values()))
    # An update is one function under two methods.
    for operation in (operation for operation in operations if operation.method != "patch"):
        await trio.to_thread.run_sync(explore, operation, ada)
    assert stage.failures == []


def explore(operation: Any, person: Person) -> None:
    """A few requests to one operation. Generating is synchronous, so it has a thread of its own."""

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )
    @given(case=operation.as_strategy())
    def attempt(case: Any) -> None:
        made: Any = requests.Request(**case.as_transport_kwargs(BASE)).prepare()
        answer = trio.from_thread.run(sent, person, made)
        assert answer.status < 500, f"{made.method} {made.path_url} {made.body!r}"

    attempt()


async def sent(person: Person, made: Any) -> Reply:
    """A request of the `requests` library, by our client."""
    kind = made.headers.get("Content-Type")
    body = made.body.encode() if isinstance(made.body, str) else made.body or b""
    return await person.send(made.method, made.path_url, headers={"Content-Type": kind} if kind else {}, data=body)
