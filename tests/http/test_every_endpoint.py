"""Rules for every endpoint, including new ones."""

from collections.abc import Iterator

from troupe.http.answers.headers import cors_methods
from troupe.http.endpoints import all_endpoints
from troupe.http.router import Endpoint

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
