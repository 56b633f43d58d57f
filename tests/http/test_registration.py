"""Nobody signs up before there is mail to confirm an address by."""

import pytest

from .conftest import Person, Stage

FORM = {"username": "eve", "email": "eve@example.org", "password": "long enough", "agreement": "true", "locale": "en"}


@pytest.fixture
def options() -> dict[str, object]:
    return {"rate_limits": False, "registrations": "open"}


async def test_signing_up_is_refused(stage: Stage, ada: Person) -> None:
    answer = await stage.anybody(await stage.token(None)).post("/api/v1/accounts", FORM)
    assert (answer.status, answer.json) == (403, {"error": "This action is not allowed"})
    answer = await ada.post("/api/v1/accounts", FORM)
    assert (answer.status, answer.json["error"]) == (403, "This method requires an client credentials authentication")
    assert (await stage.anybody().post("/api/v1/accounts", FORM)).status == 401
