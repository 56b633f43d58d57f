"""What the server says about itself."""

import re
from typing import Any

import pytest

from troupe.http.router import all_endpoints

from ..clients import Person, Stage


async def test_numbers_are_counted_now_and_then(stage: Stage) -> None:
    ada = await stage.person("ada")
    await ada.publish("hi")
    first = (await stage.anybody().get("/api/v1/instance")).json["stats"]
    assert first == {"user_count": 1, "status_count": 1, "domain_count": 0}
    await ada.publish("again")
    assert (await stage.anybody().get("/api/v1/instance")).json["stats"] == first


async def test_missing_pictures_are_pictures(stage: Stage) -> None:
    for path in ("/avatars/original/missing.png", "/headers/original/missing.png", "/thumbnail.png"):
        answer = await stage.anybody().get(path)
        assert answer.body.startswith(b"\x89PNG\r\n\x1a\n")
        assert answer.headers["Content-Type"] == "image/png"
        assert answer.headers["Cache-Control"] == "public, max-age=86400"


async def test_apps_of_other_origins_may_read_the_pictures_that_stand_for_missing_ones(stage: Stage) -> None:
    for path in ("/avatars/original/missing.png", "/headers/original/missing.png"):
        answer = await stage.anybody().get(path)
        assert answer.headers["Access-Control-Allow-Origin"] == "*"


async def test_people_who_come_by_browser_find_a_page(stage: Stage) -> None:
    for path in ("/", "/about"):
        page = await stage.anybody().get(path)
        assert "localhost:3000" in page.text
    style = await stage.anybody().get("/style.css")
    assert style.headers["Content-Type"].startswith("text/css")
    assert "prefers-color-scheme: dark" in style.text


async def test_each_language_has_a_name_and_can_be_that_of_a_status(stage: Stage, ada: Person) -> None:
    told = (await stage.anybody().get("/api/v1/instance/languages")).json
    names = {one["code"]: one["name"] for one in told}
    assert len(names) == len(told)
    assert {code: names[code] for code in ("de", "ckb", "nn", "zh-TW")} == {
        "de": "German",
        "ckb": "Central Kurdish",
        "nn": "Norwegian Nynorsk",
        "zh-TW": "Chinese (Taiwan)",
    }
    for code in ("de", "ckb", "zh-TW"):
        assert (await ada.publish(language=code))["language"] == code


# What a version of the API promises, as far as it shows in endpoints: method, path, and since when.
PROMISED = """
2 GET    /api/v2/notifications
2 GET    /api/v2/notifications/<>
2 POST   /api/v2/notifications/<>/dismiss
2 GET    /api/v2/notifications/<>/accounts
2 GET    /api/v2/notifications/unread_count
4 DELETE /api/v1/media/<>
5 POST   /api/v2/filters
7 GET    /api/v1/statuses/<>/quotes
7 POST   /api/v1/statuses/<>/quotes/<>/revoke
10 GET   /api/v1/collections/<>
"""


async def test_the_versions_promise_only_what_stands(stage: Stage, ada: Person) -> None:
    told = (await stage.anybody().get("/api/v2/instance")).json
    assert told["version"].startswith("4.5.0 (compatible; Troupe ")
    assert (await stage.anybody().get("/api/v1/instance")).json["version"] == told["version"]
    version = told["api_versions"]["mastodon"]
    served = {(one.method, re.sub(r"<\w+>", "<>", one.path)) for one in all_endpoints()}
    for line in PROMISED.strip().splitlines():
        since, method, path = line.split()
        assert version < int(since) or (method, path) in served, line
    answer = await ada.post("/api/v1/statuses", {"status": "quoting", "quoted_status_id": (await ada.publish())["id"]})
    assert version < 7 or answer.status == 200


class TestDescribedInLanguages:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return {"languages": "de, pt_br"}

    async def test_the_languages_are_the_operators(self, stage: Stage) -> None:
        for path in ("/api/v1/instance", "/api/v2/instance"):
            assert (await stage.anybody().get(path)).json["languages"] == ["de", "pt-BR"]


async def test_a_server_without_a_description_describes_itself_with_nothing(stage: Stage) -> None:
    told = (await stage.anybody().get("/api/v1/instance/extended_description")).json
    assert told == {"updated_at": None, "content": ""}


class TestDescribed:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return {"description": "Cats & dogs"}

    async def test_a_description_is_html(self, stage: Stage) -> None:
        told = (await stage.anybody().get("/api/v1/instance/extended_description")).json
        assert told["content"] == "<p>Cats &amp; dogs</p>"
