"""Translations of statuses, by a LibreTranslate of the tests' own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import orjson
import pytest
import trio
import trio.testing

from troupe.actors.translation import translations as module
from troupe.actors.translation.translations import with_own_codes

from ..clients import PATIENCE, Person, Stage
from ..outgoing.peer import answer
from ..translation.service import TranslationService, translation_service
from ..waiting import until
from .uploading import uploaded

KEY = "key-of-the-operator"
UNREACHABLE = "Remote data could not be fetched"
QUOTA = "The server-wide usage quota for the translation service has been exceeded."
TOO_MANY = "There have been too many requests to the translation service recently."
LANGUAGES = "/api/v1/instance/translation_languages"


@pytest.fixture
async def service() -> AsyncIterator[TranslationService]:
    async with translation_service() as one:
        yield one


@pytest.fixture
async def options(service: TranslationService) -> dict[str, Any]:
    url = f"http://127.0.0.1:{service.peer.port}"
    return {"rate_limits": False, "translation_url": url, "translation_key": KEY}


def path(status: Any) -> str:
    return f"/api/v1/statuses/{status['id']}/translate"


async def published(person: Person, **fields: Any) -> Any:
    """A new status in English."""
    return await person.done("POST", "/api/v1/statuses", json={"language": "en"} | fields)


async def translated(person: Person, status: Any, lang: str = "de") -> Any:
    return await person.done("POST", path(status), {"lang": lang})


async def refused(person: Person, status: Any, lang: str = "de") -> tuple[int, str]:
    reply = await person.post(path(status), {"lang": lang})
    return reply.status, reply.json["error"]


# What is translated


async def test_all_texts_of_a_status_are_translated_by_one_request(
    ada: Person, bob: Person, service: TranslationService
) -> None:
    poll = {"options": ["Tea & milk", "Cake"], "expires_in": 600}
    status = await published(ada, status="Tea?\n\n<b> :tea: @bob", spoiler_text="A < B", poll=poll)
    assert await translated(bob, status) == {
        "content": f"[de] {status['content']}",
        "spoiler_text": "[de] A < B",
        "language": "de",
        "poll": {"id": status["poll"]["id"], "options": [{"title": "[de] Tea & milk"}, {"title": "[de] Cake"}]},
        "media_attachments": [],
        "detected_source_language": "en",
        "provider": "LibreTranslate",
    }
    (asked,) = service.asked
    assert (asked["source"], asked["target"], asked["format"], asked["api_key"]) == ("en", "de", "html", KEY)
    assert '<span translate="no">:tea:</span>' in asked["q"][0]
    assert asked["q"][1:] == ["A &lt; B", "Tea &amp; milk", "Cake"]


async def test_descriptions_of_media_are_translated(ada: Person, bob: Person, service: TranslationService) -> None:
    files = [(await uploaded(ada, description=text))["id"] for text in ("", "A cat\non a mat")]
    status = await published(ada, media_ids=files)
    answered = await translated(bob, status)
    assert answered["content"] == answered["spoiler_text"] == ""
    assert answered["media_attachments"] == [{"id": files[1], "description": "[de] A cat\non a mat"}]
    assert [asked["q"] for asked in service.asked] == [["A cat<br>on a mat"]]


async def test_the_language_of_a_status_is_detected_if_it_has_none(
    stage: Stage, ada: Person, bob: Person, service: TranslationService
) -> None:
    status = await ada.publish("Du thé")
    await stage.sql("UPDATE statuses SET language = NULL")
    stage.http_context.statuses.clear()
    assert (await translated(bob, status, "en"))["detected_source_language"] == "fr"
    assert service.asked[0]["source"] == "auto"


async def test_without_a_wish_it_is_the_language_of_the_viewers_locale(
    stage: Stage, ada: Person, service: TranslationService
) -> None:
    eve, tom = await stage.person("eve", locale="fr-CA"), await stage.person("tom")
    english, german = await ada.publish("Tea", language="en"), await ada.publish("Tee", language="de")
    assert (await eve.post(path(english))).json["language"] == "fr"
    assert (await tom.post(path(german))).json["language"] == "en"


async def test_a_boost_is_translated_as_the_status_that_it_shows(
    ada: Person, bob: Person, service: TranslationService
) -> None:
    status = await ada.publish("Tea", language="en")
    boost = (await bob.post(f"/api/v1/statuses/{status['id']}/reblog")).json
    assert (await translated(bob, boost))["content"] == "[de] <p>Tea</p>"


@pytest.mark.parametrize("lang", ["en", "es", "auto", "x" * 1000])
async def test_other_pairs_of_languages_are_refused(
    ada: Person, bob: Person, service: TranslationService, lang: str
) -> None:
    status = await ada.publish("Tea", language="en")
    assert await refused(bob, status, lang) == (403, "This action is not allowed")
    assert service.asked == []


async def test_a_status_without_text_or_in_an_unknown_language_is_refused(
    ada: Person, bob: Person, service: TranslationService
) -> None:
    silent = await published(ada, media_ids=[(await uploaded(ada))["id"]])
    for status in (silent, await ada.publish("Tee", language="nds")):
        assert await refused(bob, status) == (403, "This action is not allowed")
    assert service.asked == []


@pytest.mark.parametrize(("lang", "code"), [("de-AT", "de"), ("DE", "de"), ("zh-TW", "zh-Hant"), ("zh", "zh-Hant")])
async def test_the_services_code_of_a_language_is_found(
    ada: Person, bob: Person, service: TranslationService, lang: str, code: str
) -> None:
    status = await ada.publish("Tea", language="en")
    assert (await translated(bob, status, lang))["language"] == code


# Who may have it translated


async def test_the_text_of_statuses_for_some_readers_stays_here(
    ada: Person, bob: Person, service: TranslationService
) -> None:
    for visibility in ("private", "direct"):
        status = await ada.publish("Tea", language="en", visibility=visibility)
        assert await refused(ada, status) == (403, "This action is not allowed")
        assert await refused(bob, status) == (404, "Record not found")
    assert service.asked == []
    assert await translated(bob, await ada.publish("Tea", language="en", visibility="unlisted"))


async def test_a_token_of_a_user_with_the_scope_is_needed(stage: Stage, ada: Person) -> None:
    status = await ada.publish("Tea", language="en")
    assert (await stage.anybody().post(path(status))).status == 401
    assert (await stage.anybody(await stage.token(None)).post(path(status))).status == 422
    assert (await stage.anybody(await stage.token(ada.account, ("write",))).post(path(status))).status == 403


# The cache


async def test_a_translation_is_made_once_for_all_viewers(
    ada: Person, bob: Person, service: TranslationService
) -> None:
    status = await ada.publish("Tea", language="en")
    first = await translated(bob, status)
    assert await translated(ada, status, "de-AT") == first
    assert len(service.asked) == service.listed == 1
    await translated(ada, status, "fr")
    assert len(service.asked) == 2


async def test_viewers_who_ask_at_once_share_a_translation(
    ada: Person, bob: Person, service: TranslationService
) -> None:
    status, service.held = await ada.publish("Tea", language="en"), trio.Event()
    async with trio.open_nursery() as nursery:
        for _ in range(module.AT_ONCE + 3):
            nursery.start_soon(translated, bob, status)
        await service.arrived.wait()
        await trio.testing.wait_all_tasks_blocked(0.01)
        service.held.set()
    assert len(service.asked) == module.AT_ONCE


async def test_an_edited_status_is_translated_anew(ada: Person, bob: Person, service: TranslationService) -> None:
    status = await ada.publish("Tea", language="en")
    await translated(bob, status)
    assert (await ada.put(f"/api/v1/statuses/{status['id']}", {"status": "Cake", "language": "en"})).status == 200
    assert "Cake" in (await translated(bob, status))["content"]
    assert len(service.asked) == 2


async def test_a_translation_of_what_a_status_was_is_not_kept(
    ada: Person, bob: Person, service: TranslationService
) -> None:
    status, service.held = await ada.publish("Tea", language="en"), trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(translated, bob, status)
        await service.arrived.wait()
        await ada.put(f"/api/v1/statuses/{status['id']}", {"status": "Cake", "language": "en"})
        service.held.set()
    assert "Cake" in (await translated(bob, status))["content"]


async def test_a_deleted_status_is_not_translated_and_its_translation_gone(
    stage: Stage, ada: Person, bob: Person
) -> None:
    status = await ada.publish("Tea", language="en")
    await translated(bob, status)
    kept = stage.http_context.translations._cached  # pyright: ignore[reportPrivateUsage]  # nothing else shows the cache
    assert int(status["id"]) in kept
    await ada.delete(f"/api/v1/statuses/{status['id']}")
    assert await refused(bob, status) == (404, "Record not found")
    assert len(kept) == 0


# Answers of a service that can't be trusted


HOSTILE = (
    '<p onclick="x()">Tee</p><script>alert(1)</script><img src=x onerror=alert(1)><iframe src="//e.example"></iframe>'
    '<a href="javascript:alert(1)">a</a><style>p{}</style>'
)


async def test_an_answer_is_made_safe(ada: Person, bob: Person, service: TranslationService) -> None:
    service.translated = lambda texts, target: [HOSTILE] * len(texts)
    poll = {"options": ["a", "b"], "expires_in": 600}
    answered = await translated(bob, await published(ada, status="Tea", spoiler_text="x", poll=poll))
    assert answered["content"] == "<p>Tee</p>a"
    assert answered["spoiler_text"] == "Tee a"
    assert [option["title"] for option in answered["poll"]["options"]] == ["Tee a"] * 2


async def test_long_answers_are_cut(ada: Person, bob: Person, service: TranslationService) -> None:
    service.translated = lambda texts, target: ["x" * 200_000] * len(texts)
    answered = await translated(bob, await ada.publish("Tea", spoiler_text="x", language="en"))
    assert (len(answered["content"]), len(answered["spoiler_text"])) == (131_072, 5000)


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (answer(500, b"secret of the service"), UNREACHABLE),
        (answer(404), UNREACHABLE),
        (answer(400, b'{"error": "too long"}'), UNREACHABLE),
        (answer(301, b"", Location="http://127.0.0.1:1/"), UNREACHABLE),
        (answer(403, b'{"error": "Invalid API key"}'), QUOTA),
        (answer(429, b'{"error": "Slowdown"}'), TOO_MANY),
        (answer(200, b"no JSON"), UNREACHABLE),
        (answer(200, b"[]"), UNREACHABLE),
        (answer(200, b'{"translatedText": "one text"}'), UNREACHABLE),
        (answer(200, b'{"translatedText": ["a\\ud800"]}'), UNREACHABLE),
        (answer(200, b'{"translatedText": ["\xff"]}'), UNREACHABLE),
        (answer(200, b'{"translatedText": []}'), UNREACHABLE),
        (answer(200, b'{"translatedText": ["a", "b"]}'), UNREACHABLE),
        (answer(200, orjson.dumps({"translatedText": ["x" * 600_000]})), UNREACHABLE),
        (b"SSH-2.0\r\n\r\n", UNREACHABLE),
    ],
)
async def test_a_service_that_fails_is_a_503_and_nothing_is_kept(
    stage: Stage, ada: Person, bob: Person, service: TranslationService, reply: bytes, text: str
) -> None:
    status, service.fails = await ada.publish("Tea", language="en"), reply
    assert await refused(bob, status) == (503, text)
    (record,) = stage.told("translation.failed")
    assert KEY not in str(record)
    assert "secret" not in str(record)
    assert stage.failures == []
    service.fails = b""
    assert (await translated(bob, status))["content"].endswith("<p>Tea</p>")


async def test_a_detected_language_that_is_none_is_not_shown(
    stage: Stage, ada: Person, bob: Person, service: TranslationService
) -> None:
    status, service.detects = await ada.publish("Tea"), "<script>"
    await stage.sql("UPDATE statuses SET language = NULL")
    stage.http_context.statuses.clear()
    assert await refused(bob, status) == (503, UNREACHABLE)


# A slow service, and many requests


async def test_a_slow_service_is_waited_for_no_longer_than_the_limit(
    stage: Stage, ada: Person, bob: Person, service: TranslationService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The viewer's limit and not the longer one of a request, which is logged."""
    status, service.held = await ada.publish("Tea", language="en"), trio.Event()
    await bob.get(LANGUAGES)
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    with trio.fail_after(PATIENCE):
        assert await refused(bob, status) == (503, UNREACHABLE)
    assert len(service.asked) == 1
    assert stage.told("translation.failed") == []


async def test_requests_that_find_no_place_are_refused_and_others_are_not_held_up(
    ada: Person, bob: Person, service: TranslationService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_WAITING", 2)
    statuses = [await ada.publish(f"Tea {number}", language="en") for number in range(module.AT_ONCE + 3)]
    await bob.get(LANGUAGES)
    service.held = trio.Event()
    with trio.fail_after(PATIENCE):
        async with trio.open_nursery() as nursery:
            for status in statuses[:-1]:
                nursery.start_soon(partial(translated, bob, status))
            await until(lambda: len(service.asked) == module.AT_ONCE)
            await trio.testing.wait_all_tasks_blocked(0.01)
            assert await refused(bob, statuses[-1]) == (503, TOO_MANY)
            assert (await bob.get("/api/v1/timelines/public")).status == 200
            assert len(service.asked) == module.AT_ONCE
            service.held.set()
    assert len(service.asked) == module.AT_ONCE + 2


async def test_a_service_that_keeps_failing_is_left_alone(
    ada: Person, bob: Person, service: TranslationService
) -> None:
    status, service.fails = await ada.publish("Tea", language="en"), answer(403)
    assert {await refused(bob, status) for _ in range(8)} == {(503, QUOTA)}
    assert len(service.asked) == 5


async def test_texts_that_the_service_refuses_do_not_prevent_others(
    ada: Person, bob: Person, service: TranslationService
) -> None:
    status, service.fails = await ada.publish("Tea", language="en"), answer(400)
    assert {await refused(bob, status) for _ in range(8)} == {(503, UNREACHABLE)}
    service.fails = b""
    assert await translated(bob, status)


# What the server says of it


CHINESE = ["zh", "zh-CN", "zh-HK", "zh-Hant", "zh-TW", "zh-YUE"]


def test_languages_are_offered_by_the_codes_of_statuses_too() -> None:
    """Clients look the language of a status up. LibreTranslate says pb and zt, others zh-Hans."""
    offered = with_own_codes({"en": ["de", "pb", "zt"], "pt": ["en"], "pb": ["pt"], "zh-Hans": ["en"], "zt": []})
    assert offered["en"] == ["de", "pb", "pt-BR", "zh-HK", "zh-TW", "zt"]
    assert offered["pt-BR"] == offered["pb"] == ["pt", "pt-BR", "pt-PT"]
    assert offered["pt-PT"] == offered["zh"] == offered["zh-CN"] == ["en"]
    assert offered["zh-TW"] == []
    assert with_own_codes({}) == {}


async def test_the_languages_are_those_of_the_service(stage: Stage, service: TranslationService) -> None:
    for _ in range(2):
        assert (await stage.anybody().get(LANGUAGES)).json == {
            "en": ["de", "fr", *CHINESE], "de": ["en"], "fr": ["en"],
            "und": ["de", "en", "fr", *CHINESE],
        }  # fmt: skip
    assert service.listed == 1
    assert (await stage.anybody().get("/api/v2/instance")).json["configuration"]["translation"] == {"enabled": True}


class TestWithoutService:
    """Of a server without `translation_url`."""

    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return {"rate_limits": False}

    async def test_nothing_is_translated(self, stage: Stage, ada: Person) -> None:
        assert await refused(ada, await ada.publish("Tea", language="en")) == (404, "Record not found")
        assert (await ada.get(LANGUAGES)).json == {}
        assert (await ada.get("/api/v2/instance")).json["configuration"]["translation"] == {"enabled": False}


class TestWithLimits:
    """Of a server that counts requests."""

    @pytest.fixture
    async def options(self, service: TranslationService) -> dict[str, Any]:
        return {"translation_url": f"http://localhost:{service.peer.port}/"}

    async def test_one_viewers_translations_are_counted(
        self, stage: Stage, ada: Person, bob: Person, service: TranslationService
    ) -> None:
        status = await ada.publish("Tea", language="en")
        replies = [(await bob.post(path(status), {"lang": "de"})).status for _ in range(101)]
        assert replies == [200] * 100 + [429]
        assert await translated(ada, status)
        assert [one.get("api_key") for one in service.asked] == [None]
