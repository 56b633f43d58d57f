"""A node of a cluster that may have missed facts of other nodes answers nothing that depends on memory."""

from collections.abc import Awaitable, Callable

import pytest

from troupe.actors.facts.access import RevokedToken
from troupe.actors.kernel import NOWHERE
from troupe.http.answers.answer import Answer
from troupe.http.answers.errors import TRY_AGAIN
from troupe.http.router import Endpoint, EndpointCall, Router, all_endpoints
from troupe.storage.oauth import Token
from troupe.storage.secrets import hash_of

from ..clients import SCOPES, Person, Stage, address
from .separating import SeparableOthers

# The endpoints that answer nevertheless, by the reason.
WITHOUT_MEMORY = {
    "says only that the process answers": {"/health", "/health/live", "/api/v1/streaming/health"},
    "says that the server is not ready": {"/health/ready"},
    "is a file of the program": {
        "/style.css", "/staff.css", "/staff.js", "/favicon.ico", "/apple-touch-icon.png", "/thumbnail.png",
        "/robots.txt", "/avatars/original/missing.png", "/headers/original/missing.png",
    },
    "is drawn from its own path": {"/avatars/original/<name>"},
    "is a file of the media folder, by a name that can't be guessed": {"/media/<name>"},
    "is made from the configuration, and never changes while the server runs": {
        "/.well-known/host-meta", "/.well-known/host-meta.json", "/.well-known/nodeinfo",
        "/.well-known/oauth-authorization-server", "/api/openapi.json",
    },
}  # fmt: skip
JUDGED = {path for paths in WITHOUT_MEMORY.values() for path in paths}


@pytest.fixture
def other_nodes() -> SeparableOthers:
    return SeparableOthers()


async def test_every_endpoint_is_refused_unless_its_answer_depends_on_no_memory(
    stage: Stage, other_nodes: SeparableOthers
) -> None:
    owner = await stage.person("owner", (*SCOPES, "admin:read", "admin:write"), role="owner")
    status = await owner.publish()
    other_nodes.separate()
    for endpoint in all_endpoints():
        path = address(endpoint, status["id"])
        for method in ("GET", "HEAD") if endpoint.method == "GET" else (endpoint.method,):
            answer = await owner.send(method, path)
            told = (answer.status, answer.headers.get("Retry-After"))
            if endpoint.path in JUDGED - {"/health/ready"}:
                assert answer.status < 500, (method, path)
            else:
                assert told == (503, "3" if endpoint.path in JUDGED else "1"), (method, path)
            if told == (503, "1") and method != "HEAD" and not endpoint.page:
                assert answer.json == {"error": TRY_AGAIN}, path
    assert {endpoint.path for endpoint in all_endpoints() if endpoint.without_memory} == JUDGED
    assert await stage.rows("SELECT id FROM statuses") == [[int(status["id"])]]
    other_nodes.rejoin()
    assert (await owner.get(f"/api/v1/statuses/{status['id']}")).json["id"] == status["id"]
    assert stage.failures == []


async def test_the_server_is_not_ready(stage: Stage, other_nodes: SeparableOthers) -> None:
    client = stage.anybody()
    assert (await client.get("/health/ready")).status == 200
    other_nodes.separate()
    answer = await client.get("/health/ready")
    assert (answer.status, answer.json["details"]) == (503, {"obstacles": ["cluster"]})
    other_nodes.rejoin()
    assert (await client.get("/health/ready")).status == 200


async def test_a_token_that_another_node_has_revoked_is_of_no_use(
    stage: Stage, other_nodes: SeparableOthers, ada: Person
) -> None:
    path, hashed = "/api/v1/accounts/verify_credentials", hash_of(str(ada.token))
    assert (await ada.get(path)).status == 200
    await stage.http_context.database.transact(
        lambda db: db.execute("UPDATE access_tokens SET revoked_at = now() WHERE token_hash = $1", hashed)
    )
    assert (await ada.get(path)).status == 200, "the token is cached: only the fact or the guard can help"
    other_nodes.separate()
    assert (await ada.get(path)).status == 503
    await stage.http_context.facts.receive([RevokedToken(hashed)], NOWHERE)
    other_nodes.rejoin()
    assert (await ada.get(path)).status == 401


Interrupt = Callable[[SeparableOthers], None]


def separate_and_rejoin(other_nodes: SeparableOthers) -> None:
    other_nodes.separate()
    other_nodes.rejoin()


@pytest.fixture(params=[SeparableOthers.separate, separate_and_rejoin], ids=["for_good", "for_a_moment"])
def interrupted(
    request: pytest.FixtureRequest, other_nodes: SeparableOthers, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], None]:
    """Return a function that separates the server while it makes the next answers."""

    def interrupt() -> None:
        answer = Endpoint.answer

        async def answer_late(self: Endpoint, call: EndpointCall) -> Answer:
            made = await answer(self, call)
            request.param(other_nodes)
            return made

        monkeypatch.setattr(Endpoint, "answer", answer_late)

    return interrupt


@pytest.mark.parametrize("path", ["/api/v1/timelines/home", "/api/v1/statuses/<id>", "/@ada/<id>", "/users/ada/outbox"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_a_read_is_refused_if_the_server_was_separated_before_its_answer_was_made(
    ada: Person, other_nodes: SeparableOthers, interrupted: Callable[[], None], method: str, path: str
) -> None:
    path = path.replace("<id>", (await ada.publish())["id"])
    assert (await ada.send(method, path)).status == 200
    interrupted()
    answer = await ada.send(method, path)
    assert (answer.status, answer.headers["Retry-After"]) == (503, "1")


async def test_a_page_that_a_browser_has_is_not_confirmed_either(
    ada: Person, other_nodes: SeparableOthers, interrupted: Callable[[], None]
) -> None:
    tag = (await ada.get("/@ada")).headers["ETag"]
    assert (await ada.get("/@ada", headers={"If-None-Match": tag})).status == 304
    interrupted()
    assert (await ada.get("/@ada", headers={"If-None-Match": tag})).status == 503


async def test_a_write_that_has_begun_is_answered(
    stage: Stage, ada: Person, bob: Person, other_nodes: SeparableOthers, interrupted: Callable[[], None]
) -> None:
    """A client that got a 503 would repeat it. What its answer shows was not hidden when it began."""
    post = await bob.publish("tea")
    interrupted()
    favourited = await ada.post(f"/api/v1/statuses/{post['id']}/favourite")
    assert (favourited.status, favourited.json["favourited"], favourited.json["content"]) == (200, True, "<p>tea</p>")
    other_nodes.rejoin()
    published = await ada.publish("coffee")
    assert await stage.rows("SELECT id FROM statuses WHERE id = $1", int(published["id"])) != []


async def test_an_answer_that_depends_on_no_memory_is_sent_in_any_case(
    stage: Stage, other_nodes: SeparableOthers, interrupted: Callable[[], None]
) -> None:
    interrupted()
    assert (await stage.anybody().get("/health/live")).status == 200


async def refuse_token(token: Token) -> Answer:
    raise NotImplementedError


async def show(name: str) -> Answer:
    raise NotImplementedError


@pytest.mark.parametrize(
    ("path", "function", "more"),
    [
        ("/health/of_user", refuse_token, {}),
        ("/health/of_app", refuse_token, {"auth": "app"}),
        ("/@<name>/health", show, {}),  # closed with limited federation
    ],
)
def test_an_endpoint_with_a_token_cant_be_declared_as_one_without_memory(
    path: str, function: Callable[..., Awaitable[Answer]], more: dict[str, str]
) -> None:
    with pytest.raises(TypeError, match="depends on tokens"):
        Router().route("GET", path=path, without_memory=True, **more)(function)  # pyright: ignore[reportArgumentType]
