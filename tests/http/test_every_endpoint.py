"""Rules for every endpoint, including new ones."""

from collections.abc import Iterator

from troupe.http.answers.answer import cors_methods
from troupe.http.router import Endpoint, all_endpoints

from ..clients import SCOPES, Person, Stage, address


def reads() -> Iterator[Endpoint]:
    return (endpoint for endpoint in all_endpoints() if endpoint.method == "GET")


async def test_head_is_answered_wherever_get_is(stage: Stage) -> None:
    owner = await stage.person("owner", (*SCOPES, "admin:read"), role="owner")
    status = await owner.publish()
    for endpoint in reads():
        path = address(endpoint, status["id"])
        got, headed = await owner.get(path), await owner.send("HEAD", path)
        assert headed.status == got.status, path
        assert headed.headers["Content-Type"] == got.headers["Content-Type"], path
        assert got.status in (200, 302, 400, 404), path


async def test_a_token_in_the_query_is_nowhere_in_an_answer(stage: Stage, ada: Person) -> None:
    """Proxies, browsers and logs keep links and addresses."""
    status = (await ada.publish("#tea"))["id"]
    await ada.publish("#tea")
    wrong = "wrong-token-0123456789"
    for endpoint in all_endpoints():
        for token in (str(ada.token), wrong):
            query = f"limit=1&access_token={token}&bearer_token={token}&redirect_uri=x:&state=y"
            path = f"{address(endpoint, status)}?{query}"
            answer = await stage.anybody().send(endpoint.method, path)
            assert token not in f"{answer.headers}{answer.body!r}", (endpoint.method, endpoint.path)
    answer = await stage.anybody().get(f"/api/v1/timelines/public?limit=1&access_token={ada.token}")
    assert "limit=1&max_id=" in answer.headers["Link"]
    assert stage.failures == []


async def test_browsers_of_other_origins_may_ask_first_wherever_they_may_call(stage: Stage) -> None:
    asked = {"Origin": "https://app.example", "Access-Control-Request-Headers": "authorization"}
    for endpoint in all_endpoints():
        answer = await stage.anybody().send("OPTIONS", address(endpoint, "103"), headers=asked)
        allowed = cors_methods(endpoint.path)
        if allowed is None:
            assert answer.status == 405, endpoint.path
            assert "Access-Control-Allow-Origin" not in answer.headers
        else:
            assert answer.status == 200, endpoint.path
            assert endpoint.method in answer.headers["Access-Control-Allow-Methods"]
            assert answer.headers["Access-Control-Allow-Headers"] == "authorization"


async def test_browsers_of_other_origins_may_read_all_that_is_public(stage: Stage, ada: Person) -> None:
    id = (await ada.publish("#tea"))["id"]
    origin = {"Origin": "https://app.example"}
    document = origin | {"Accept": "application/activity+json"}
    for path in (
        "/users/ada", f"/users/ada/statuses/{id}", f"/users/ada/statuses/{id}/activity", "/users/ada/outbox",
        "/users/ada/outbox?page=true", "/users/ada/followers", "/users/ada/following",
        "/users/ada/collections/featured",
        f"/users/ada/statuses/{id}/replies", "/@ada", f"/@ada/{id}", "/@ada.rss", "/tags/tea", "/tags/tea.rss",
        "/actor",
        "/.well-known/webfinger?resource=acct:ada@localhost:3000", "/.well-known/host-meta", "/.well-known/nodeinfo",
        "/nodeinfo/2.1", f"/api/oembed?url=http://localhost:3000/@ada/{id}", "/avatars/original/missing.png",
        "/users/nobody", "/media/nothing.png", "/manifest.json", "/api/v1/timelines/public",
    ):  # fmt: skip
        for headers in (origin, document):
            answer = await stage.anybody().get(path, headers=headers)
            assert answer.status < 500, path
            assert answer.headers.get("Access-Control-Allow-Origin") == "*", path
            assert "Access-Control-Allow-Credentials" not in answer.headers, path
            exposed = answer.headers.get("Access-Control-Expose-Headers", "")
            assert {"Link", "X-RateLimit-Remaining", "X-RateLimit-Reset"} <= set(exposed.split(", ")), path
        asked = origin | {"Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "accept, signature"}
        allowed = await stage.anybody().send("OPTIONS", path, headers=asked)
        assert (allowed.status, "GET" in allowed.headers["Access-Control-Allow-Methods"]) == (200, True), path
        assert allowed.headers["Access-Control-Allow-Headers"] == "accept, signature", path
    for path in ("/settings/profile", "/oauth/authorize", "/admin", "/inbox", "/users/ada/inbox"):
        assert "Access-Control-Allow-Origin" not in (await stage.anybody().get(path, headers=origin)).headers, path
